"""What a source file defines."""

from coder.tools.symbols.definition import Definition, definitions, enclosing, named

__all__ = ["Definition", "definitions", "enclosing", "named"]
