"""Runs the project's own tests and says what they prove."""
