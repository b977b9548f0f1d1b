"""Generators of edits to string literals, formats and regular expressions."""
