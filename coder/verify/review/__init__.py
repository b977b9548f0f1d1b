"""Checks of a change itself: tampering, overfitting, public API, doctests, linters, issue scripts."""
