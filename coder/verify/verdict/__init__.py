"""Verdicts on changes: red on the base, green on the change, nothing broken, and the evidence."""
