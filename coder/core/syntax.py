"""Python's parser for several threads: CPython 3.11 counts the depth of all trees in one place, so two built at once may fail."""

import ast
import threading

_ONE_AT_A_TIME = threading.Lock()


def parsed(text: str, filename: str = "<unknown>") -> ast.Module:
    """The tree of a module.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with _ONE_AT_A_TIME:
        return ast.parse(text, filename=filename)
