"""Thread-safe access to Python's parser.

CPython 3.11 counts the depth of all trees in one place, so two trees built at the same time may fail.
"""

import ast
import threading

one_at_a_time = threading.Lock()
"""Hold this lock while a library parses."""


def parsed(text: str, filename: str = "<unknown>") -> ast.Module:
    """Parse a module.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with one_at_a_time:
        return ast.parse(text, filename=filename)


def expression(text: str) -> ast.expr:
    """Parse an expression.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with one_at_a_time:
        return ast.parse(text, mode="eval").body
