"""Where sessions are kept: the log as JSON lines, large outputs by their hash."""
