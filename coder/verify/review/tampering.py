"""Test integrity: existing tests that a change removes or weakens, from their sources."""

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from coder.python import source

MUTING = (
    "skip",
    "skipif",
    "skipIf",
    "skipUnless",
    "xfail",
    "expectedFailure",
    "SkipTest",
    "skipTest",
    "importorskip",
)
MOCKS = ("Mock", "MagicMock", "AsyncMock", "patch", "setattr", "setitem", "mocker", "create_autospec")
EXITS = ("sys.exit", "os._exit", "pytest.exit", "exit", "quit", "_exit")
BROAD = ("Exception", "BaseException")
EXPECTATION_CALLS = (
    "raises",
    "warns",
    "assertRaises",
    "assertRaisesRegex",
    "assertWarns",
    "assertWarnsRegex",
)
MODULE_WIDE_SETTINGS = ("pytestmark", "collect_ignore", "collect_ignore_glob", "__test__")

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Check(NamedTuple):
    """An assertion of a test."""

    text: str
    strength: int
    """4: states a value, 3: a property of it, 2: that it exists, 0: nothing."""
    times: int = 1
    """Number of cases that it runs in, by parametrization and loops over literals."""


class ParsedTest(NamedTuple):
    """A test function with its checks."""

    function: Function
    cases: int
    """Number of its cases, as far as the file tells; 1 where it does not."""
    checks: tuple[Check, ...]
    """Its checks, counted once for each round of a loop over literals."""


def weakened_tests(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Describe how tests of `old` (source by path) became weaker in `new`, half a sentence each.

    New tests are not compared.
    """
    findings: list[str] = []
    for path, text in old.items():
        before, after = parse_or_empty(text), parse_or_empty(new.get(path, ""))
        new_tests = read_tests(after)
        findings += [f"{path}: {finding}" for finding in _changed_settings(before, after)]
        for name, test in read_tests(before).items():
            if name in new_tests and ast.dump(test.function) != ast.dump(new_tests[name].function):
                findings += [
                    f"{path}: {name} {finding}" for finding in find_weakenings([test], [new_tests[name]])
                ]
    return findings


def removed_tests(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return ids of tests of `old` that no file of `new` contains under the same function name."""
    new_names = {
        name.rpartition(".")[2] for text in new.values() for name in read_tests(parse_or_empty(text))
    }
    return [
        f"{path}::{name.replace('.', '::')}"
        for path, text in old.items()
        for name in read_tests(parse_or_empty(text))
        if name.rpartition(".")[2] not in new_names
    ]


def parse_or_empty(text: str) -> ast.Module:
    """Return the syntax tree; an empty one if the text does not parse."""
    try:
        return source.parse_module(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


def dotted_name(node: ast.expr) -> str:
    """Return the dotted name of a function or expression, as far as it consists of names."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{dotted_name(value)}.{name}".lstrip(".")
        case ast.Call(func=function):
            return dotted_name(function)
        case _:
            return ""


def read_tests(module: ast.Module) -> dict[str, ParsedTest]:
    """Return the test functions of a file by qualified name."""
    tests: dict[str, ParsedTest] = {}
    for node in module.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for function in inner:
            if isinstance(function, Function) and function.name.startswith("test"):
                name = f"{owner}{function.name}"
                tests[name] = ParsedTest(
                    function, _count_cases(function, module), tuple(_find_checks(function, 1))
                )
    return tests


def _changed_settings(before: ast.Module, after: ast.Module) -> Iterator[str]:
    """Yield new or changed assignments that silence tests of a file or class."""
    old, new = (Counter(_settings(tree)) for tree in (before, after))
    for name, _ in new - old:
        yield f"{name} is set anew, which decides what is run"


def _settings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id in MODULE_WIDE_SETTINGS:
                    yield target.id, ast.dump(node.value)


def find_weakenings(before: Sequence[ParsedTest], after: Sequence[ParsedTest]) -> Iterator[str]:
    """Yield how tests are weaker than those in whose place they are, half a sentence each.

    If there are several, any assertion of one may stand for one of another.
    """
    for count, finding in (
        (partial(_mention_count, names=MUTING), "is skipped or expected to fail now"),
        (partial(_mention_count, names=MOCKS), "puts mocks in the place of real parts now"),
        (_exit_count, "ends the process now"),
        (_swallowed_check_count, "swallows its own assertions now"),
    ):
        if max(count(test.function) for test in after) > max(count(test.function) for test in before):
            yield finding
    old, new = (
        [check._replace(times=check.times * test.cases) for test in tests for check in test.checks]
        for tests in (before, after)
    )
    yield from compare_checks(old, new, counts_repetitions=len(before) + len(after) > 2)


def compare_checks(
    before: Sequence[Check], after: Sequence[Check], *, counts_repetitions: bool = False
) -> Iterator[str]:
    """Yield how the checks of a test became weaker, half a sentence each.

    A check that is on both sides counts once wherever it is written, unless the cases that it runs in make
    up for others (`counts_repetitions`).
    """
    old, new = ({check.text for check in checks} for checks in (before, after))
    lost = list((_count(before, new, counts_repetitions) - _count(after, old, counts_repetitions)).elements())
    gained = list(
        (_count(after, old, counts_repetitions) - _count(before, new, counts_repetitions)).elements()
    )
    if len(gained) < len(lost):
        yield f"checks less than before ({_with_count(len(lost) - len(gained), 'check')} fewer)"
    elif any(weak < strong for strong, weak in zip(_strengths(lost), _strengths(gained), strict=False)):
        yield "checks more loosely than before"


def _count(checks: Sequence[Check], others: Collection[str], counts_repetitions: bool) -> Counter[Check]:
    counts: Counter[Check] = Counter()
    for check in checks:
        is_repeated = counts_repetitions or check.text not in others
        counts[check._replace(times=1)] += check.times if is_repeated else 1
    return counts


def _strengths(checks: Sequence[Check]) -> list[int]:
    return sorted((check.strength for check in checks), reverse=True)


def _find_checks(node: ast.AST, times: int) -> Iterator[Check]:
    """Yield each check below a node, which runs as many times as given."""
    if check := read_check(node):
        yield check._replace(times=times)
    inner = times
    if isinstance(node, ast.For) and isinstance(node.iter, ast.List | ast.Tuple | ast.Set):
        inner *= max(1, len(node.iter.elts))
    for child in ast.iter_child_nodes(node):
        yield from _find_checks(child, inner)


def _count_cases(test: Function, module: ast.Module) -> int:
    """Return in how many cases a test runs, as far as lists in the file tell; 1 where they do not."""
    lists = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    count = 1
    for decorator in test.decorator_list:
        if not isinstance(decorator, ast.Call) or not dotted_name(decorator).endswith("parametrize"):
            continue
        cases = next(
            (word.value for word in decorator.keywords if word.arg == "argvalues"),
            decorator.args[1] if len(decorator.args) > 1 else None,
        )
        cases = lists.get(cases.id, cases) if isinstance(cases, ast.Name) else cases
        if isinstance(cases, ast.List | ast.Tuple | ast.Set):
            count *= max(1, len(cases.elts))
    return count


def read_check(node: ast.AST) -> Check | None:
    """Return the check of a test that a node is; None if it is none."""
    match node:
        case ast.Assert(test=claim):
            return Check(ast.dump(claim), _strength(claim))
        case ast.Call(func=function) if (
            name := dotted_name(function).rpartition(".")[2]
        ) in EXPECTATION_CALLS:
            broad = any(dotted_name(argument).rpartition(".")[2] in BROAD for argument in node.args[:1])
            has_pattern = any(
                word.arg in ("match", "expected_regex") for word in node.keywords
            ) or name.endswith("Regex")
            return Check(ast.dump(node), (1 if broad else 3) + has_pattern)
        case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("assert"):
            is_value = name in ("assertEqual", "assertIs", "assertEquals") or "called_once_with" in name
            return Check(ast.dump(node), 4 if is_value else 3)
        case _:
            return None


def _strength(claim: ast.expr) -> int:
    match claim:
        case ast.Constant():
            return 0
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return 2
        case ast.Compare(ops=ops) if all(isinstance(operator, ast.Eq | ast.Is) for operator in ops):
            return 4
        case ast.BoolOp(op=ast.Or(), values=values):
            return min(map(_strength, values)) - 1
        case ast.BoolOp(values=values):
            return max(map(_strength, values))
        case ast.Compare() | ast.UnaryOp() | ast.Call():
            return 3
        case _:
            return 2


def _mention_count(test: Function, names: tuple[str, ...]) -> int:
    """Count decorators, calls and raised exceptions of a test that use one of these names."""
    nodes = [*test.decorator_list, *(node.func for node in ast.walk(test) if isinstance(node, ast.Call))]
    raised = [node.exc for node in ast.walk(test) if isinstance(node, ast.Raise) and node.exc is not None]
    return len({id(node) for node in (*nodes, *raised) if set(dotted_name(node).split(".")) & set(names)})


def _exit_count(test: Function) -> int:
    return sum(isinstance(node, ast.Call) and dotted_name(node.func) in EXITS for node in ast.walk(test))


def _swallowed_check_count(test: Function) -> int:
    """Count the `try` statements with an assertion whose handler swallows AssertionError."""
    return sum(
        any(isinstance(inner, ast.Assert) for statement in node.body for inner in ast.walk(statement))
        for node in ast.walk(test)
        if isinstance(node, ast.Try)
        and any(
            catches_all(handler, "AssertionError") and is_silent(handler.body) for handler in node.handlers
        )
    )


def catches_all(handler: ast.ExceptHandler, *more: str) -> bool:
    """Tell whether a handler catches every error, or one of those named."""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or dotted_name(kind).rpartition(".")[2] in (*BROAD, *more) for kind in types)


def is_silent(body: list[ast.stmt]) -> bool:
    """Tell whether a handler ignores the exception: it neither raises nor reports nor uses it."""
    return all(
        isinstance(statement, ast.Pass | ast.Continue | ast.Break)
        or (
            isinstance(statement, ast.Return)
            and (statement.value is None or isinstance(statement.value, ast.Constant))
        )
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def _with_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
