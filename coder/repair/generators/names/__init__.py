"""Generators of edits to names, attributes and imports."""
