"""Thread-safe access to Python's parser.

CPython 3.11 counts the depth of all trees in one place, so two trees built at the same time may fail.
"""

import ast
import threading

PARSER_LOCK = threading.Lock()
"""Hold this lock while a library parses."""


def parse_module(text: str, filename: str = "<unknown>") -> ast.Module:
    """Parse a module.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with PARSER_LOCK:
        return ast.parse(text, filename=filename)


def parse_expression(text: str) -> ast.expr:
    """Parse an expression.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with PARSER_LOCK:
        return ast.parse(text, mode="eval").body
