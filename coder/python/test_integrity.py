"""Finds tests that a change has cut in two: a new test was put into the middle of one and took its end away."""

import ast
import warnings
from collections.abc import Iterator

from coder.python.parsing import parsed


def tests_cut(before: str, after: str, path: str) -> list[str]:
    """`path:line: what happened` for each test of a Python file that lost its last statements to a new test."""
    if not path.endswith(".py"):
        return []
    was, now = dict(_tests(before)), dict(_tests(after))
    new = {name: body for name, body in now.items() if name not in was}
    found = []
    for name, body in was.items():
        kept = now.get(name, body)
        lost = _dumps(body)[len(kept) :]
        if lost and _dumps(body)[: len(kept)] == _dumps(kept):
            taker = next((other for other, taken in new.items() if _dumps(taken)[-len(lost) :] == lost), "")
            found += (
                [f"{path}:{new[taker][0].lineno - 1}: {taker} takes away the end of {name}"] if taker else []
            )
    return found


def _tests(text: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    """(qualified name, body) of each test function; nothing where the text does not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield from _tests_in(parsed(text).body, "")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return


def _tests_in(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    for item in body:
        if isinstance(item, ast.ClassDef):
            yield from _tests_in(item.body, f"{prefix}{item.name}.")
        elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name.startswith("test"):
            yield f"{prefix}{item.name}", item.body


def _dumps(body: list[ast.stmt]) -> list[str]:
    return [ast.dump(statement) for statement in body]
