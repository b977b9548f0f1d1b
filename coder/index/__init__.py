"""Symbol index of source files."""

from coder.index.parsers import Definition, definitions, enclosing_definitions, find_cases, match_definitions

__all__ = ["Definition", "definitions", "enclosing_definitions", "find_cases", "match_definitions"]
