"""Counts lines, words and characters."""
