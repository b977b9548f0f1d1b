"""Text files of which nobody remembers the encoding."""

from readtext.reading import decode, read

__all__ = ["decode", "read"]
