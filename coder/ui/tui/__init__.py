"""The terminal application: one more follower of the log, with a prompt."""
