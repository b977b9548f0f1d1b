"""Generators of edits within expressions."""
