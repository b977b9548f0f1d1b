"""Terminal application: a follower of the event log with a prompt."""
