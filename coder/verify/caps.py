"""Conditions that keep a verdict from being PROVEN, seen in the runs themselves."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from coder.core.paths import file_of
from coder.core.verdict import Body, TestResult
from coder.verify.comparison import short
from coder.verify.tampering import called, parsed

SHOWN = 3
CHECKING = ("raises", "warns", "deprecated_call", "fail")
"""Calls that assert, beside all whose names begin with `assert`."""
RUNNER_FILES = frozenset(
    {
        *("Makefile", "GNUmakefile", "makefile", "package.json", "tox.ini", "noxfile.py", "justfile", "Justfile", "Taskfile.yml"),
        *("jest.config.js", "jest.config.ts", "vitest.config.ts", "vitest.config.js", ".mocharc.js", ".mocharc.json", ".mocharc.yml"),
        *("karma.conf.js", "ava.config.js", "build.gradle", "pom.xml", "Rakefile", ".rspec", "phpunit.xml", "CMakeLists.txt", "manage.py"),
    }
)
"""What decides how tests are run, and what a report says, where a command is not one of Python's own runners."""


def newly_reached(on_base: Collection[str], on_change: Collection[str]) -> Iterator[str]:
    """Yield what the change alone does to the machinery that observes its tests, half a sentence."""
    if new := sorted({*on_change} - {*on_base}):
        more = f" and {len(new) - SHOWN} more" if len(new) > SHOWN else ""
        yield f"the change reaches into the test process ({', '.join(new[:SHOWN])}{more})"


def contradiction(green: TestResult, red: TestResult | None) -> str:
    """Return how a test that is said to have passed was seen to go, where that is something else; empty where it agrees.

    `red` is the same test on the base: a function that was seen there has to be seen on the change as well.
    """
    seen_before = red is not None and red.body is not None and red.body.started > 0
    if green.body is None:
        return "its function could be seen on the base and not on the change" if seen_before else ""
    if green.body.started > 0 and green.body.ended == 0:
        return "its function was seen to raise"
    return "its function never ran" if seen_before and green.body.started == 0 else ""


def asserts_nothing(text: str, body: Body | None) -> bool:
    """Does the test function of which `body` is known hold assertions in the file `text`, and was none of them executed?"""
    if body is None or not body.lines:
        return False
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= body.lines[0] <= (node.end_lineno or 0):
            places = [_lines(item) for item in ast.walk(node) if _asserts(item)]
            if places:
                return not any(line in place for line in body.lines for place in places)
    return False


def without_assertions(files: Mapping[str, str], greens: Sequence[TestResult]) -> list[str]:
    """Return the green tests that passed without asserting anything, half a sentence each; `files` are their texts by path."""
    idle = [result.id for result in greens if asserts_nothing(files.get(file_of(result.id), ""), result.body)]
    return [f"{short(test)} passes without executing any of its assertions" for test in idle[:SHOWN]]


def runner_files(command: str, changed: Sequence[str]) -> list[str]:
    """Return those of the changed files that decide how the command runs tests: of its own table of files, or named in it."""
    words = {word.strip("'\"./") for word in command.split()}
    return [path for path in changed if path.rpartition("/")[2] in RUNNER_FILES or path.lstrip("./") in words]


def _asserts(node: ast.AST) -> bool:
    match node:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=ast.Call() as call)):
            return _is_check(call)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return any(isinstance(item.context_expr, ast.Call) and _is_check(item.context_expr) for item in items)
        case _:
            return False


def _is_check(call: ast.Call) -> bool:
    name = called(call.func).rpartition(".")[2]
    return name.startswith("assert") or name in CHECKING


def _lines(node: ast.AST) -> range:
    """The lines of a statement, of a block those of its head."""
    start = int(getattr(node, "lineno", 0))
    if isinstance(node, ast.With | ast.AsyncWith):
        return range(start, (node.items[-1].context_expr.end_lineno or start) + 1)
    return range(start, int(getattr(node, "end_lineno", 0)) + 1)
