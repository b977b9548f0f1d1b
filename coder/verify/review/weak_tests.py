"""Weak new tests: assertions about something other than behaviour."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from coder.core.paths import test_file_of
from coder.core.verdict import TestReport, TestResult
from coder.verify.results.comparison import shorten_test_id
from coder.verify.review.tampering import Function, dotted_name, parse_or_empty

SHOWN = 3
TYPES = ("isinstance", "issubclass", "type")
_APPROXIMATE = re.compile(r"(?i)toleran|approx|about|round|within|nearly")
WIDE_TOLERANCE = 0.01
"""Relative tolerance from which on a comparison of numbers is wide."""


def weak_test_findings(
    files: Mapping[str, str],
    targets: Sequence[TestResult],
    before: TestReport,
    *,
    changed: Collection[str],
    issue: str,
) -> list[str]:
    """Describe what new tests among the targets assert instead of behaviour, half a sentence each.

    `files` are their texts by path, `changed` the names of functions, classes and variables that the change
    defines or edits. Assertions about what the issue mentions are allowed.
    """
    findings: list[str] = []
    for result in targets:
        if before.has_test(result.id):
            continue
        name = result.id.rpartition("::")[2].partition("[")[0]
        tree = parse_or_empty(files.get(test_file_of(result.id), ""))
        for function in ast.walk(tree):
            if isinstance(function, Function) and function.name == name:
                findings += [
                    f"{shorten_test_id(result.id)} {what}"
                    for what in dict.fromkeys(_weaknesses(function, changed, issue))
                ]
    return list(dict.fromkeys(findings))[:SHOWN]


def _weaknesses(function: ast.AST, changed: Collection[str], issue: str) -> Iterator[str]:
    nodes = list(ast.walk(function))
    checks = [node for node in nodes if isinstance(node, ast.Assert)]
    has_other_checks = any(
        isinstance(node, ast.Call) and _last_name(node.func).startswith(("assert", "raises"))
        for node in nodes
    )
    if checks and not has_other_checks and all(_is_type_check(check.test, issue) for check in checks):
        yield "asserts only the type of a result"
    for node in nodes:
        yield from _presence_findings(node, issue)
        yield from _double_findings(node, changed)
        yield from _tolerance_findings(node, issue)
        if (
            isinstance(node, ast.Try)
            and _contains_assert(node.body)
            and any(map(_is_swallowing, node.handlers))
        ):
            yield "swallows errors of the code that it asserts about"


def _presence_findings(node: ast.AST, issue: str) -> Iterator[str]:
    match node:
        case ast.Attribute(attr="__version__") if "version" not in issue.lower():
            yield "asks for the version"
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str() as name), _]) if (
            name not in issue
        ):
            yield f"asks whether there is a {name}"


def _double_findings(node: ast.AST, changed: Collection[str]) -> Iterator[str]:
    """Yield a finding for each changed name that a test replaces by a double."""
    match node:
        case ast.Call(func=function, args=[ast.Constant(value=str() as path), *_]) if dotted_name(
            function
        ).endswith("patch"):
            name = path.rpartition(".")[2]
        case ast.Call(func=function, args=[_, ast.Constant(value=str() as name), *_]) if dotted_name(
            function
        ).endswith(("patch.object", "setattr")):
            pass
        case _:
            return
    if name in changed:
        yield f"replaces what the change defines ({name})"


def _tolerance_findings(node: ast.AST, issue: str) -> Iterator[str]:
    match node:
        case ast.Call(func=function, keywords=words) if dotted_name(function).endswith("approx"):
            limits = {word.arg: word.value.value for word in words if isinstance(word.value, ast.Constant)}
            wide = [
                name
                for name, least in (("rel", WIDE_TOLERANCE), ("abs", 1))
                if _to_float(limits.get(name)) >= least
            ]
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="abs")),
            ops=[ast.Lt() | ast.LtE()],
            comparators=[ast.Constant(value=limit)],
        ):
            wide = ["abs"] if _to_float(limit) >= 1 else []
        case _:
            return
    if wide and not _APPROXIMATE.search(issue):
        yield "compares with a wide tolerance"


def _to_float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _last_name(function: ast.expr) -> str:
    return dotted_name(function).rpartition(".")[2]


def _is_type_check(claim: ast.expr, issue: str) -> bool:
    match claim:
        case ast.Call(func=ast.Name(id=name), args=[_, kind]) if name in TYPES:
            return dotted_name(kind).rpartition(".")[2] not in issue
        case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[kind]):
            return dotted_name(kind).rpartition(".")[2] not in issue
        case _:
            return False


def _contains_assert(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Assert) for statement in body for node in ast.walk(statement))


def _is_swallowing(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler neither raises, nor fails, nor asserts."""
    nodes = [node for statement in handler.body for node in ast.walk(statement)]
    return not any(
        isinstance(node, ast.Raise | ast.Assert)
        or (isinstance(node, ast.Call) and dotted_name(node.func).rpartition(".")[2] in ("fail", "skip"))
        for node in nodes
    )


def changed_definitions(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the names of functions, classes and module variables whose definitions differ.

    Texts are by path.
    """
    names: set[str] = set()
    for path, text in new.items():
        before, after = _definitions(parse_or_empty(old.get(path, ""))), _definitions(parse_or_empty(text))
        names |= {name for name, dump in after.items() if before.get(name) != dump}
    return frozenset(names)


def _definitions(tree: ast.Module) -> dict[str, str]:
    definitions: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            definitions[node.name] = ast.dump(node)
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            definitions |= {
                target.id: ast.dump(statement.value)
                for target in statement.targets
                if isinstance(target, ast.Name)
            }
    return definitions
