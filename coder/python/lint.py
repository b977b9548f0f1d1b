"""Static checks of changed Python files: syntax errors and undefined names."""

import ast
import warnings
from collections import Counter
from collections.abc import Iterator

from coder.python.source import PARSER_LOCK, dump_node, parse_module


def find_syntax_error(text: str, path: str) -> str:
    """Return `path:line: message` and the line of a syntax error.

    Empty if the text parses or is not Python.
    """
    if not path.endswith((".py", ".pyi")):
        return ""
    try:
        _parse_and_compile(text, path)
    except SyntaxError as error:
        line = (error.text or "").rstrip("\n")
        return f"{path}:{error.lineno or 1}: {error.msg}" + (
            f"\n{error.lineno or 1:>5}| {line[:200]}" if line.strip() else ""
        )
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{path}:1: it cannot be parsed ({error})"
    return ""


def find_undefined_names(before: str, after: str, path: str) -> list[str]:
    """Return `path:line: undefined name 'x'` for each name that the change made undefined."""
    if not path.endswith(".py"):
        return []
    known_counts = Counter(text for _, text in _undefined_names_in(before, path))
    findings = []
    for line, text in _undefined_names_in(after, path):
        if known_counts[text] > 0:
            known_counts[text] -= 1
        else:
            findings.append(f"{path}:{line}: {text}")
    return findings


def _undefined_names_in(text: str, path: str) -> list[tuple[int, str]]:
    from pyflakes import messages  # type: ignore[import-untyped]  # pyflakes ships no types
    from pyflakes.checker import Checker  # type: ignore[import-untyped]  # as above

    try:
        tree = _parse_and_compile(text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    message_types = (messages.UndefinedName, messages.UndefinedLocal, messages.UndefinedExport)
    with PARSER_LOCK:  # pyflakes parses string annotations itself
        all_messages = Checker(tree, filename=path).messages
    undefined = [message for message in all_messages if isinstance(message, message_types)]
    return sorted((message.lineno, message.message % message.message_args) for message in undefined)


def _parse_and_compile(text: str, path: str) -> ast.Module:
    """Return the syntax tree after compiling the text too.

    Only the compiler finds a `return` outside of a function.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parse_module(text, path)
        compile(text, path, "exec", dont_inherit=True)
    return tree


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
    return [dump_node(statement) for statement in body]
