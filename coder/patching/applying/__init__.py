"""Applying of matched hunks to files: all of them or none."""
