"""Template-based program repair without a model: fault localization, candidate edits, search and ranking."""
