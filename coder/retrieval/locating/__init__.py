"""Where an issue's code stands: clues taken from its text, and the files and definitions that they point to."""
