"""Symbol index of source files."""

from coder.index.definition import Definition, definitions, enclosing, named

__all__ = ["Definition", "definitions", "enclosing", "named"]
