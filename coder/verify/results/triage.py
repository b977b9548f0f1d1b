"""Triage of red tests by class of failure, without a model."""

import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from coder.core.paths import is_test_path
from coder.core.verdict import Cause, Failure, TestReport, TestResult
from coder.verify.project.system_packages import install_hint
from coder.verify.results.failure_reasons import (
    ASSERTIONS,
    FIXTURES,
    NEVER_ENDING,
    environment_problem,
    failure_headline,
    frames_in_tree,
)
from coder.verify.runners.node.packages import read_manifest

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(?P<name>\w+)'")
OUTPUT_LINES = 3
"""Last lines of a command's output that are shown where it found no test."""
_MISSING_NODE = re.compile(
    r"\w+: (?:Cannot find (?:module|package)|Failed to resolve import) [\"'](?P<name>(?:@[\w.-]+/)?\w[\w.-]*)"
)
MANIFESTS = ("package.json", "*/package.json", "*/*/package.json")
DEPENDENCIES = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
CLOSE = 0.85
"""Similarity ratio (difflib, 0 to 1) from which a module name counts as a misspelling of another."""


def classify_failure(result: TestResult, *, before: TestResult | None) -> tuple[Cause, str]:
    """Return the class of a red result and half a sentence on why.

    `before` is the result of the same test on the untouched base. The environment counts as the cause only if
    the base failed for the same lack: what the change brings about is its own fault.
    """
    failure = result.failure or Failure(type="", message="")
    lack = environment_problem(failure)
    if (
        lack
        and before is not None
        and before.failure is not None
        and environment_problem(before.failure) == lack
    ):
        return "environment", lack
    if failure.type in ("Timeout", NEVER_ENDING) or failure.message.startswith("Timeout "):
        return "time-out", "it did not end in its time"
    if result.when == "collect":
        return "collection", f"its file cannot be collected: {failure_headline(failure)}"
    frames = frames_in_tree(failure)
    if result.when != "call" or any(frame.function in FIXTURES for frame in frames[:1]):
        return "test error", f"a fixture fails: {failure_headline(failure)}"
    if failure.type not in ASSERTIONS and frames and is_test_path(frames[-1].path):
        return (
            "test error",
            f"the test itself raises at {frames[-1].path}:{frames[-1].line}: {failure_headline(failure)}",
        )
    return "logic", failure_headline(failure)


def with_cause(result: TestResult, *, before: TestResult | None) -> TestResult:
    """Return the result with its class added, if it is red and has none."""
    return (
        result.model_copy(update={"cause": classify_failure(result, before=before)[0]})
        if result.red and result.cause is None
        else result
    )


def missing_module(result: TestResult) -> str:
    """Return the module of Python or Node.js that a red test could not import, if that is why."""
    headline = f"{result.failure.type}: {result.failure.message}" if result.failure else ""
    match = _MISSING.match(headline) or _MISSING_NODE.match(headline)
    return match["name"] if match else ""


def needed_packages(results: Sequence[TestResult], tree: Path) -> tuple[str, ...]:
    """Return the missing modules that explain all of these red results; empty if one fails otherwise.

    A name that equals or resembles a module of the tree or of the standard library counts as a misspelling,
    and so does a package of Node.js that no package.json of the tree declares.
    """
    names = tuple(dict.fromkeys(map(missing_module, results)))
    of_python = {
        missing_module(result)
        for result in results
        if result.failure and result.failure.type == "ModuleNotFoundError"
    }
    if not all(names) or (of_python and _is_any_misspelt(of_python, tree)):
        return ()
    of_node = {*names} - of_python
    return names if not of_node or of_node <= _declared_packages(tree) else ()


def _is_any_misspelt(names: Iterable[str], tree: Path) -> bool:
    known_modules = (
        {path.stem for path in tree.rglob("*.py")}
        | {path.parent.name for path in tree.rglob("__init__.py")}
        | sys.stdlib_module_names
    )
    return any(get_close_matches(name, known_modules, n=1, cutoff=CLOSE) for name in names)


def _declared_packages(tree: Path) -> set[str]:
    """Return the packages that the project's package.json, and those of its workspaces, depend on."""
    files = (file for pattern in MANIFESTS for file in tree.glob(pattern))
    manifests = [read_manifest(file.parent) for file in files if "node_modules" not in file.parts]
    tables = (manifest.get(key) for manifest in manifests for key in DEPENDENCIES)
    return {name for table in tables if isinstance(table, dict) for name in table}


def environment_problem_of_all(before: TestReport) -> str:
    """Return what the machine lacks, if every test fails for that reason; empty if any test got further."""
    lacks = [environment_problem(result.failure) if result.failure else "" for result in before.failures]
    is_only_cause = (
        bool(lacks)
        and all(lacks)
        and all(result.red or result.outcome == "skipped" for result in before.results)
    )
    if not is_only_cause:
        return ""
    remedy = install_hint("\n".join(result.failure.message for result in before.failures if result.failure))
    return ", ".join(dict.fromkeys(lacks)) + (f". {remedy}" if remedy else "")


def describe_missing_tests(before: TestReport, after: TestReport) -> str:
    """Return, as a sentence, that no test ran on the change; empty if one did, or if none had to."""
    if any(result.when != "collect" for result in after.results):
        return ""
    has_base = bool(before.collected) or any(result.when != "collect" for result in before.results)
    where = "on the change" if has_base else "neither on the base nor on the change"
    if after.failures:
        first = after.failures[0]
        reason = f" ({failure_headline(first.failure)})" if first.failure else ""
        more = f", nor {len(after.failures) - 1} more" if len(after.failures) > 1 else ""
        return f"No test ran, {where}: {first.id} cannot be collected{more}{reason}."
    if after.problem is None or after.problem.kind != "no_tests":
        return ""
    lines = [line.strip(" =") for line in after.output.splitlines() if line.strip(" =")]
    tail = " | ".join(lines[-OUTPUT_LINES:])
    printed = f"`{after.command}` printed: {tail}" if tail else f"`{after.command}` printed nothing"
    return f"No test was found, {where}: name the command with --test, or add a test. {printed}"
