"""coder: a terminal coding assistant whose fixes come with proof."""

__version__ = "0.1.0"
