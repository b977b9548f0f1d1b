"""Says, before any model is asked, what class of failure a red test is."""

import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from coder.core.values.paths import is_test_path
from coder.core.values.verdict import Cause, Failure, TestReport, TestResult
from coder.verify.project.system_packages import system_package
from coder.verify.results.failure_reasons import ASSERTIONS, FIXTURES, TOO_LONG, environment, headline, inside

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(?P<name>\w+)'")
CLOSE = 0.85
"""Similarity ratio (difflib, 0 to 1) from which a module name counts as a misspelling of another."""


def triage(result: TestResult, *, before: TestResult | None) -> tuple[Cause, str]:
    """The class of a red result and half a sentence on why; `before` is the same test's result on the untouched base.

    The environment is to blame only where it was so on the base already: what a change brings about is the change's doing.
    """
    failure = result.failure or Failure(type="", message="")
    told = environment(failure)
    if told and before is not None and before.failure is not None and environment(before.failure) == told:
        return "environment", told
    if failure.type in ("Timeout", TOO_LONG) or failure.message.startswith("Timeout "):
        return "time-out", "it did not end in its time"
    if result.when == "collect":
        return "collection", f"its file cannot be collected: {headline(failure)}"
    frames = inside(failure)
    if result.when != "call" or any(frame.function in FIXTURES for frame in frames[:1]):
        return "test error", f"a fixture fails: {headline(failure)}"
    if failure.type not in ASSERTIONS and frames and is_test_path(frames[-1].path):
        return (
            "test error",
            f"the test itself raises at {frames[-1].path}:{frames[-1].line}: {headline(failure)}",
        )
    return "logic", headline(failure)


def triaged(result: TestResult, *, before: TestResult | None) -> TestResult:
    """Return the result with its class, where it is red and has none yet."""
    return (
        result.model_copy(update={"cause": triage(result, before=before)[0]})
        if result.red and result.cause is None
        else result
    )


def needed_packages(results: Sequence[TestResult], tree: Path) -> tuple[str, ...]:
    """Return the modules for want of which all these results are red; empty where one of them fails otherwise.

    A name that is a module of the tree, or nearly one or one of the standard library, is taken for a slip of the pen.
    """
    failures = [result.failure for result in results if result.failure]
    names = [
        match["name"] if (match := _MISSING.match(f"{failure.type}: {failure.message}")) else ""
        for failure in failures
    ]
    if not names or len(names) < len(results) or not all(names):
        return ()
    own = (
        {path.stem for path in tree.rglob("*.py")}
        | {path.parent.name for path in tree.rglob("__init__.py")}
        | sys.stdlib_module_names
    )
    if any(get_close_matches(name, own, n=1, cutoff=CLOSE) for name in names):
        return ()
    return tuple(dict.fromkeys(names))


def unable(before: TestReport) -> str:
    """What the machine lacks, where that is all that the tests say; empty where a single one got further."""
    said = [environment(result.failure) if result.failure else "" for result in before.reds]
    only = (
        bool(said)
        and all(said)
        and all(result.red or result.outcome == "skipped" for result in before.results)
    )
    if not only:
        return ""
    remedy = system_package("\n".join(result.failure.message for result in before.reds if result.failure))
    return ", ".join(dict.fromkeys(said)) + (f". {remedy}" if remedy else "")
