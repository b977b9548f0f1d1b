"""Delivery of a result: minimization, review, commit message, outcome and report."""
