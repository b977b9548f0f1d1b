"""Limits of a session: budget, request rate, and detection of loops."""
