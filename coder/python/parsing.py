"""Thread-safe access to Python's parser.

CPython 3.11 counts the depth of all trees in one place, so two trees built at the same time may fail.
"""

import ast
import re
import threading

PARSER_LOCK = threading.Lock()
"""Hold this lock while a library parses."""
_TYPE_PARAMETERS = re.compile(
    r"^(?P<kept>[ \t]*(?:async[ \t]+def|def|class)[ \t]+\w+)\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]", re.MULTILINE
)
_TYPE_ALIAS = re.compile(r"^(?P<kept>[ \t]*)type[ \t]+(?P<name>\w+)(?:\[[^\n=]*\])?(?=[ \t]*=)", re.MULTILINE)


def parse_module(text: str, filename: str = "<unknown>") -> ast.Module:
    """Parse a module; type parameters that this Python does not know (PEP 695) are read as spaces.

    All positions are those of the text.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with PARSER_LOCK:
        try:
            return ast.parse(text, filename=filename)
        except SyntaxError:
            older = _TYPE_ALIAS.sub(_pad, _TYPE_PARAMETERS.sub(_pad, text))
            if older == text:
                raise
        return ast.parse(older, filename=filename)


def _pad(match: re.Match[str]) -> str:
    """Return what is kept of a match, in its length."""
    return "".join(match.groups()).ljust(len(match[0]))


def parse_expression(text: str) -> ast.expr:
    """Parse an expression.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with PARSER_LOCK:
        return ast.parse(text, mode="eval").body
