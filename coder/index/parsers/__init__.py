"""Extraction of definitions, imports and identifiers, one parser for each family of languages."""
