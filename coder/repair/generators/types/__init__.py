"""Generators of edits to types, conversions and collection members."""
