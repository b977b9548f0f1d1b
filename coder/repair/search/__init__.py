"""Search over candidate edits: generation order, pairs, repeated edits, selection."""
