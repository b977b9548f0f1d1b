"""Verdicts: red before, green after, nothing broken, and the evidence for it."""
