"""Warm test processes: a test server, hot swapping of edits, and trials of candidates."""
