"""Thread-safe access to Python's parser.

CPython 3.11 counts the depth of all trees in one place, so two trees built at the same time may fail.
"""

import ast
import re
import threading

PARSER_LOCK = threading.Lock()
"""Hold this lock while a library parses."""


_TYPE_PARAMETERS = re.compile(
    r"^(?P<start>[ \t]*(?:async[ \t]+def|def|class)[ \t]+\w+)\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]", re.MULTILINE
)
_TYPE_ALIAS = re.compile(
    r"^(?P<indent>[ \t]*)type[ \t]+(?P<name>\w+)(?:\[[^\n=]*\])?(?=[ \t]*=)", re.MULTILINE
)


def parse_module(text: str, filename: str = "<unknown>") -> ast.Module:
    """Parse a module; type parameters that this Python does not know (PEP 695) are left out.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with PARSER_LOCK:
        try:
            return ast.parse(text, filename=filename)
        except SyntaxError:
            older = _TYPE_ALIAS.sub(r"\g<indent>\g<name>", _TYPE_PARAMETERS.sub(r"\g<start>", text))
            if older == text:
                raise
        return ast.parse(older, filename=filename)


def parse_expression(text: str) -> ast.expr:
    """Parse an expression.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with PARSER_LOCK:
        return ast.parse(text, mode="eval").body
