"""Conditions that keep a verdict from being PROVEN, seen in the runs themselves."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from coder.core.values.paths import file_of
from coder.core.values.verdict import Body, TestReport, TestResult
from coder.verify.results.comparison import short
from coder.verify.review.tampering import called, parsed

SHOWN = 3
CHECKING = ("raises", "warns", "deprecated_call", "fail")
"""Calls that assert, beside all whose names begin with `assert`."""
PRESENCE = {"hasattr", "callable", "getsource", "getsourcelines", "getdoc", "getcomments"}
"""Calls that say that something is there, or what it is written like."""
READING = {"read_text", "read_bytes", "open"}
"""Calls that do so where what they read is source."""
RUNNER_FILES = frozenset(
    {
        *(
            "Makefile",
            "GNUmakefile",
            "makefile",
            "package.json",
            "tox.ini",
            "noxfile.py",
            "justfile",
            "Justfile",
            "Taskfile.yml",
        ),
        *(
            "jest.config.js",
            "jest.config.ts",
            "vitest.config.ts",
            "vitest.config.js",
            ".mocharc.js",
            ".mocharc.json",
            ".mocharc.yml",
        ),
        *(
            "karma.conf.js",
            "ava.config.js",
            "build.gradle",
            "pom.xml",
            "Rakefile",
            ".rspec",
            "phpunit.xml",
            "CMakeLists.txt",
            "manage.py",
        ),
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
    if body is None:
        return False
    checks = _checks(text, body)
    return bool(checks) and not any(line in _lines(check) for line in body.lines for check in checks)


def asks_for_presence(text: str, body: Body) -> bool:
    """Does every assertion of the test function of which `body` is known ask for a name or for source text alone?"""
    checks = _checks(text, body)
    return bool(checks) and all(
        isinstance(check, ast.Assert) and _is_of_presence(check.test) for check in checks
    )


def _is_of_presence(claim: ast.expr) -> bool:
    nodes = list(ast.walk(claim))
    calls = {called(node.func).rpartition(".")[2] for node in nodes if isinstance(node, ast.Call)}
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in nodes
        if isinstance(node, ast.Attribute | ast.Name)
    }
    literals = [
        node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    of_source = "__file__" in names or any(literal.endswith(".py") for literal in literals)
    return bool(calls & PRESENCE) or "__doc__" in names or (of_source and bool(calls & READING))


def _checks(text: str, body: Body) -> list[ast.AST]:
    """The assertions of the function that holds the lines executed."""
    for node in ast.walk(parsed(text)) if body.lines else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= body.lines[0] <= (
            node.end_lineno or 0
        ):
            return [item for item in ast.walk(node) if _asserts(item)]
    return []


def vacuous(files: Mapping[str, str], greens: Sequence[TestResult], before: TestReport) -> list[str]:
    """Return the green tests that passed without asserting anything that the code does, half a sentence each.

    `files` are their texts by path. A test that the base had already may ask whatever it asks.
    """
    found = []
    for result in greens:
        text = files.get(file_of(result.id), "")
        if asserts_nothing(text, result.body):
            found.append(f"{short(result.id)} passes without executing any of its assertions")
        elif before.of(result.id) is None and result.body and asks_for_presence(text, result.body):
            found.append(f"{short(result.id)} asserts only that something is there, not what it does")
    return found[:SHOWN]


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
            return any(
                isinstance(item.context_expr, ast.Call) and _is_check(item.context_expr) for item in items
            )
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
