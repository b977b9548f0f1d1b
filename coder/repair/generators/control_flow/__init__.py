"""Generators of edits to guards, branches, loops and exceptions."""
