"""Detection of tests that a change has cut in two by inserting a new test in the middle."""

import ast
import warnings
from collections.abc import Iterator

from coder.python.parsing import parse_module


def find_truncated_tests(before: str, after: str, path: str) -> list[str]:
    """Return `path:line: what happened` for each test whose last statements a newly added test took over."""
    if not path.endswith(".py"):
        return []
    old_tests, new_tests = dict(_tests(before)), dict(_tests(after))
    added = {name: body for name, body in new_tests.items() if name not in old_tests}
    findings = []
    for name, body in old_tests.items():
        remaining = new_tests.get(name, body)
        lost_statements = _dump_statements(body)[len(remaining) :]
        if lost_statements and _dump_statements(body)[: len(remaining)] == _dump_statements(remaining):
            taker = next(
                (
                    other
                    for other, other_body in added.items()
                    if _dump_statements(other_body)[-len(lost_statements) :] == lost_statements
                ),
                "",
            )
            findings += (
                [f"{path}:{added[taker][0].lineno - 1}: {taker} takes away the end of {name}"]
                if taker
                else []
            )
    return findings


def _tests(text: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield (qualified name, body) of each test function; nothing if the text does not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield from _tests_in(parse_module(text).body, "")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return


def _tests_in(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests_in(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield f"{prefix}{node.name}", node.body


def _dump_statements(body: list[ast.stmt]) -> list[str]:
    return [ast.dump(statement) for statement in body]
