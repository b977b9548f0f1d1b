"""Localization of an issue's code: clues from its text, and the files and definitions that match them."""
