"""Checks of new tests: assertions about something else than what the code does."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from coder.core.values.paths import file_of
from coder.core.values.verdict import TestReport, TestResult
from coder.verify.results.comparison import short
from coder.verify.review.tampering import Function, called, parsed

SHOWN = 3
TYPES = ("isinstance", "issubclass", "type")
_NEARLY = re.compile(r"(?i)toleran|approx|about|round|within|nearly")
LOOSE = 0.01
"""Relative tolerance from which on a comparison of numbers is wide."""


def weak_tests(
    files: Mapping[str, str],
    targets: Sequence[TestResult],
    before: TestReport,
    *,
    changed: Collection[str],
    issue: str,
) -> list[str]:
    """Return what new tests among the targets assert instead of behaviour, half a sentence each.

    `files` are their texts by path, `changed` the names of functions, classes and variables that the change defines or edits. What the
    issue speaks of may be asserted.
    """
    found: list[str] = []
    for result in targets:
        if before.of(result.id) is not None:
            continue
        name = result.id.rpartition("::")[2].partition("[")[0]
        tree = parsed(files.get(file_of(result.id), ""))
        for function in ast.walk(tree):
            if isinstance(function, Function) and function.name == name:
                found += [
                    f"{short(result.id)} {what}"
                    for what in dict.fromkeys(_weaknesses(function, changed, issue))
                ]
    return list(dict.fromkeys(found))[:SHOWN]


def _weaknesses(function: ast.AST, changed: Collection[str], issue: str) -> Iterator[str]:
    nodes = list(ast.walk(function))
    checks = [node for node in nodes if isinstance(node, ast.Assert)]
    others = any(
        isinstance(node, ast.Call) and _last(node.func).startswith(("assert", "raises")) for node in nodes
    )
    if checks and not others and all(_is_of_type(check.test, issue) for check in checks):
        yield "asserts only the type of a result"
    for node in nodes:
        yield from _of_presence(node, issue)
        yield from _of_doubles(node, changed)
        yield from _of_tolerance(node, issue)
        if isinstance(node, ast.Try) and _asserts(node.body) and any(map(_swallows, node.handlers)):
            yield "swallows errors of the code that it asserts about"


def _of_presence(node: ast.AST, issue: str) -> Iterator[str]:
    match node:
        case ast.Attribute(attr="__version__") if "version" not in issue.lower():
            yield "asks for the version"
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str() as name), _]) if (
            name not in issue
        ):
            yield f"asks whether there is a {name}"


def _of_doubles(node: ast.AST, changed: Collection[str]) -> Iterator[str]:
    """Yield the changed names that a test puts something else in the place of."""
    match node:
        case ast.Call(func=function, args=[ast.Constant(value=str() as path), *_]) if called(
            function
        ).endswith("patch"):
            name = path.rpartition(".")[2]
        case ast.Call(func=function, args=[_, ast.Constant(value=str() as name), *_]) if called(
            function
        ).endswith(("patch.object", "setattr")):
            pass
        case _:
            return
    if name in changed:
        yield f"replaces what the change defines ({name})"


def _of_tolerance(node: ast.AST, issue: str) -> Iterator[str]:
    match node:
        case ast.Call(func=function, keywords=words) if called(function).endswith("approx"):
            limits = {word.arg: word.value.value for word in words if isinstance(word.value, ast.Constant)}
            wide = [
                name for name, least in (("rel", LOOSE), ("abs", 1)) if _number(limits.get(name)) >= least
            ]
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="abs")),
            ops=[ast.Lt() | ast.LtE()],
            comparators=[ast.Constant(value=limit)],
        ):
            wide = ["abs"] if _number(limit) >= 1 else []
        case _:
            return
    if wide and not _NEARLY.search(issue):
        yield "compares with a wide tolerance"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _last(function: ast.expr) -> str:
    return called(function).rpartition(".")[2]


def _is_of_type(claim: ast.expr, issue: str) -> bool:
    match claim:
        case ast.Call(func=ast.Name(id=name), args=[_, kind]) if name in TYPES:
            return called(kind).rpartition(".")[2] not in issue
        case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[kind]):
            return called(kind).rpartition(".")[2] not in issue
        case _:
            return False


def _asserts(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Assert) for statement in body for node in ast.walk(statement))


def _swallows(handler: ast.ExceptHandler) -> bool:
    """Does a handler neither raise, nor fail, nor assert?"""
    nodes = [node for statement in handler.body for node in ast.walk(statement)]
    return not any(
        isinstance(node, ast.Raise | ast.Assert)
        or (isinstance(node, ast.Call) and called(node.func).rpartition(".")[2] in ("fail", "skip"))
        for node in nodes
    )


def definitions_changed(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the names of functions, classes and module variables that are not the same in both texts by path."""
    names: set[str] = set()
    for path, text in new.items():
        was, now = _definitions(parsed(old.get(path, ""))), _definitions(parsed(text))
        names |= {name for name, dumped in now.items() if was.get(name) != dumped}
    return frozenset(names)


def _definitions(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            found[node.name] = ast.dump(node)
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            found |= {
                target.id: ast.dump(statement.value)
                for target in statement.targets
                if isinstance(target, ast.Name)
            }
    return found
