"""Python's parser for several threads: CPython 3.11 counts the depth of all trees in one place, so two built at once may fail."""

import ast
import threading

one_at_a_time = threading.Lock()
"""To be held by whoever has a library parse."""


def parsed(text: str, filename: str = "<unknown>") -> ast.Module:
    """The tree of a module.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with one_at_a_time:
        return ast.parse(text, filename=filename)


def expression(text: str) -> ast.expr:
    """The tree of an expression.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with one_at_a_time:
        return ast.parse(text, mode="eval").body
