"""A log of work in plain text, and reports on it."""
