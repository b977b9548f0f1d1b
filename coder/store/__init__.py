"""Storage of sessions: the log as JSON lines, large outputs by their hash."""
