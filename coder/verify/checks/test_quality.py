"""Tests that prove little: vacuous, loose or contradicted by what was observed."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from coder.core.paths import test_file_of
from coder.core.text import join_first
from coder.core.verdict import BodyExecution, TestReport, TestResult
from coder.python.source import Function, parse_or_empty
from coder.verify.report import shorten_test_id
from coder.verify.test_edits import dotted_name

SHOWN = 3
ASSERTION_CALLS = ("raises", "warns", "deprecated_call", "fail")
"""Calls that assert, besides those whose names begin with `assert`."""
PRESENCE_CALLS = {"hasattr", "callable", "getsource", "getsourcelines", "getdoc", "getcomments"}
"""Calls that state that a name exists, or how its source is written."""
READING_CALLS = {"read_text", "read_bytes", "open"}
"""Calls that do so if they read source code."""
RUNNER_FILES = frozenset(
    {
        *("Makefile", "GNUmakefile", "makefile", "justfile", "Justfile", "Taskfile.yml", "Rakefile"),
        *("coder.toml", "package.json", "tox.ini", "noxfile.py", "manage.py", ".rspec"),
        *("spec_helper.rb", "rails_helper.rb", "go.mod", "go.work", "Cargo.toml", "build.rs"),
        *("rust-toolchain", "rust-toolchain.toml", "pom.xml", "mvnw", "gradlew", "gradle.properties"),
        *("CMakeLists.txt", "CMakePresets.json", "CTestConfig.cmake", "CTestCustom.cmake"),
        *("Directory.Build.props", "Directory.Build.targets"),
    }
)
"""Files that decide how tests run and what is reported, for commands other than Python's own runners."""
RUNNER_FILE = re.compile(
    r"(?:jest|vitest|vite|ava)\.(?:config|preset|workspace)\.\w+|karma\.conf\.\w+|\.mocharc\.\w+"
    r"|(?:build|settings|init)\.gradle(?:\.kts)?|phpunit(?:\.dist)?\.xml(?:\.dist)?"
    r"|.+\.(?:csproj|fsproj|vbproj|runsettings)"
    r"|(?:ts|js)config(?:\..+)?\.json|\.(?:babelrc|swcrc)(?:\.\w+)?|(?:build|bundle|compile|transpile)\.[cm]?[jt]s"
    r"|(?:babel|esbuild|rollup|rspack|swc|tsdown|tsup|webpack)\.config(?:\.\w+)+"
)
"""The same, of which there are several names; also configurations of compilers that run before tests."""
RUNNER_DIRECTORIES = frozenset({".cargo", ".mvn"})
"""Directories that hold nothing but configuration of build tools."""
RUNNER_SCRIPTS = frozenset({"manage.py", "runtests.py"})
"""Scripts that start Django's test runner."""


def new_harness_access(on_base: Collection[str], on_change: Collection[str]) -> Iterator[str]:
    """Yield what only the change does to the machinery that observes its tests, half a sentence."""
    if added := sorted({*on_change} - {*on_base}):
        yield f"the change reaches into the test process ({join_first(added, SHOWN)})"


def contradicting_observation(green: TestResult, red: TestResult | None) -> str:
    """Return how the observed run of a test contradicts its green result; empty if it does not.

    `red` is the same test on the base: a function observed there must be observed on the change as well.
    """
    was_observed = red is not None and red.body is not None and red.body.started > 0
    if green.body is None:
        return "its function could be seen on the base and not on the change" if was_observed else ""
    if green.body.started > 0 and green.body.ended == 0:
        return "its function was seen to raise"
    return "its function never ran" if was_observed and green.body.started == 0 else ""


def asserts_nothing(text: str, body: BodyExecution | None) -> bool:
    """Tell whether a test function contains assertions in the file `text`, but executed none of them."""
    if body is None:
        return False
    checks = _assertions_of(text, body)
    return bool(checks) and not any(line in _head_lines(check) for line in body.lines for check in checks)


def asserts_only_presence(text: str, body: BodyExecution) -> bool:
    """Tell whether every assertion of a test function only checks for a name or for source text.

    `body` is the observed run of the function in the file `text`.
    """
    checks = _assertions_of(text, body)
    return bool(checks) and all(
        isinstance(check, ast.Assert) and _is_presence_check(check.test) for check in checks
    )


def _is_presence_check(claim: ast.expr) -> bool:
    nodes = list(ast.walk(claim))
    calls = {dotted_name(node.func).rpartition(".")[2] for node in nodes if isinstance(node, ast.Call)}
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in nodes
        if isinstance(node, ast.Attribute | ast.Name)
    }
    literals = [
        node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    mentions_source = "__file__" in names or any(literal.endswith(".py") for literal in literals)
    return (
        bool(calls & PRESENCE_CALLS)
        or "__doc__" in names
        or (mentions_source and bool(calls & READING_CALLS))
    )


def _assertions_of(text: str, body: BodyExecution) -> list[ast.AST]:
    """Return the assertions of the function that contains the executed lines."""
    for node in ast.walk(parse_or_empty(text)) if body.lines else ():
        if isinstance(node, Function) and node.lineno <= body.lines[0] <= (node.end_lineno or 0):
            return [descendant for descendant in ast.walk(node) if _is_assertion(descendant)]
    return []


def vacuous_tests(files: Mapping[str, str], greens: Sequence[TestResult], before: TestReport) -> list[str]:
    """Describe green tests that passed without asserting anything about behaviour, half a sentence each.

    `files` are their texts by path. Tests that exist on the base are exempt from the second check, for
    presence only.
    """
    findings = []
    for result in greens:
        text = files.get(test_file_of(result.id), "")
        if asserts_nothing(text, result.body):
            findings.append(f"{shorten_test_id(result.id)} passes without executing any of its assertions")
        elif not before.has_test(result.id) and result.body and asserts_only_presence(text, result.body):
            findings.append(
                f"{shorten_test_id(result.id)} asserts only that something is there, not what it does"
            )
    return findings[:SHOWN]


def changed_runner_files(command: str, changed: Sequence[str], *, is_indirect: bool) -> list[str]:
    """Return the changed files that decide how the command runs tests.

    The command names them; if its results are known `is_indirect`ly, those in a fixed list count too. Under
    our recorder only scripts that start the runner can affect the results.
    """
    words = {word.strip("'\"./") for word in command.split()}
    named = [path for path in changed if path.lstrip("./") in words]
    if not is_indirect:
        return [path for path in named if path.rpartition("/")[2] in RUNNER_SCRIPTS]
    return [path for path in changed if path in named or _configures_runner(path)]


def _configures_runner(path: str) -> bool:
    *folders, name = path.split("/")
    is_inside = not RUNNER_DIRECTORIES.isdisjoint(folders)
    return is_inside or name in RUNNER_FILES or RUNNER_FILE.fullmatch(name) is not None


def _is_assertion(node: ast.AST) -> bool:
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
    name = dotted_name(call.func).rpartition(".")[2]
    return name.startswith("assert") or name in ASSERTION_CALLS


def _head_lines(node: ast.AST) -> range:
    """Return the lines of a statement, for a block those of its head."""
    start = int(getattr(node, "lineno", 0))
    if isinstance(node, ast.With | ast.AsyncWith):
        return range(start, (node.items[-1].context_expr.end_lineno or start) + 1)
    return range(start, int(getattr(node, "end_lineno", 0)) + 1)


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
        isinstance(node, ast.Call)
        and dotted_name(node.func).rpartition(".")[2].startswith(("assert", "raises"))
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
            and any(isinstance(part, ast.Assert) for statement in node.body for part in ast.walk(statement))
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


def _is_type_check(claim: ast.expr, issue: str) -> bool:
    match claim:
        case ast.Call(func=ast.Name(id=name), args=[_, kind]) if name in TYPES:
            return dotted_name(kind).rpartition(".")[2] not in issue
        case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[kind]):
            return dotted_name(kind).rpartition(".")[2] not in issue
        case _:
            return False


def _is_swallowing(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler neither raises, nor fails, nor asserts."""
    nodes = [node for statement in handler.body for node in ast.walk(statement)]
    return not any(
        isinstance(node, ast.Raise | ast.Assert)
        or (isinstance(node, ast.Call) and dotted_name(node.func).rpartition(".")[2] in ("fail", "skip"))
        for node in nodes
    )
