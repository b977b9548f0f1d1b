"""Generators of edits that add, move, copy or change statements."""
