"""Checks of a change in languages other than Python, on syntax trees: weakened tests, special cases."""
