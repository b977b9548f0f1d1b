"""Matching of hunks against the lines of a file."""
