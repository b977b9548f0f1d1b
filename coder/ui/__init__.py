"""Front ends: each one follower of the event log."""
