"""User interfaces, each a follower of the event log."""
