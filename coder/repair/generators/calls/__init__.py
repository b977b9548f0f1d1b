"""Generators of edits to calls and signatures."""
