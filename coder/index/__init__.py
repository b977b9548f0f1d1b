"""Symbol index of source files."""

from coder.index.parsers import Definition, definitions, enclosing_definitions, match_definitions

__all__ = ["Definition", "definitions", "enclosing_definitions", "match_definitions"]
