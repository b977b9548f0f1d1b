"""What can be said about changed Python without running it: does it parse, and which names does nothing define?"""

import ast
import warnings
from collections import Counter

from coder.python.parsing import one_at_a_time, parsed


def syntax_error(text: str, path: str) -> str:
    """`path:line: what is wrong` and the line, or an empty string where the text parses or is no Python."""
    if not path.endswith((".py", ".pyi")):
        return ""
    try:
        _compiled(text, path)
    except SyntaxError as error:
        line = (error.text or "").rstrip("\n")
        return f"{path}:{error.lineno or 1}: {error.msg}" + (
            f"\n{error.lineno or 1:>5}| {line[:200]}" if line.strip() else ""
        )
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{path}:1: it cannot be parsed ({error})"
    return ""


def undefined_names(before: str, after: str, path: str) -> list[str]:
    """`path:line: undefined name 'x'` for each name that is undefined after the change and was not before."""
    if not path.endswith(".py"):
        return []
    known = Counter(text for _, text in _undefined(before, path))
    found = []
    for line, text in _undefined(after, path):
        if known[text] > 0:
            known[text] -= 1
        else:
            found.append(f"{path}:{line}: {text}")
    return found


def _undefined(text: str, path: str) -> list[tuple[int, str]]:
    from pyflakes import messages  # type: ignore[import-untyped]  # it has no types
    from pyflakes.checker import Checker  # type: ignore[import-untyped]  # the same

    try:
        tree = _compiled(text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    wanted = (messages.UndefinedName, messages.UndefinedLocal, messages.UndefinedExport)
    with one_at_a_time:  # it parses annotations that are written as strings
        messages_of_all = Checker(tree, filename=path).messages
    found = [message for message in messages_of_all if isinstance(message, wanted)]
    return sorted((message.lineno, message.message % message.message_args) for message in found)


def _compiled(text: str, path: str) -> ast.Module:
    """The tree, after the compiler has seen it too: it alone finds a `return` outside of a function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parsed(text, path)
        compile(text, path, "exec", dont_inherit=True)
    return tree
