"""Triage of red tests by class of failure, without a model."""

import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from coder.core.values.paths import is_test_path
from coder.core.values.verdict import Cause, Failure, TestReport, TestResult
from coder.verify.project.system_packages import install_hint
from coder.verify.results.failure_reasons import (
    ASSERTIONS,
    FIXTURES,
    NEVER_ENDING,
    environment_problem,
    failure_headline,
    frames_in_tree,
)

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(?P<name>\w+)'")
OUTPUT_LINES = 3
"""Last lines of a command's output that are shown where it found no test."""
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


def needed_packages(results: Sequence[TestResult], tree: Path) -> tuple[str, ...]:
    """Return the missing modules that explain all of these red results; empty if one fails otherwise.

    A name that equals or resembles a module of the tree or of the standard library counts as a misspelling.
    """
    failures = [result.failure for result in results if result.failure]
    names = [
        match["name"] if (match := _MISSING.match(f"{failure.type}: {failure.message}")) else ""
        for failure in failures
    ]
    if not names or len(names) < len(results) or not all(names):
        return ()
    known_modules = (
        {path.stem for path in tree.rglob("*.py")}
        | {path.parent.name for path in tree.rglob("__init__.py")}
        | sys.stdlib_module_names
    )
    if any(get_close_matches(name, known_modules, n=1, cutoff=CLOSE) for name in names):
        return ()
    return tuple(dict.fromkeys(names))


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
