"""Says, before any model is asked, what class of failure a red test is."""

import re

from coder.core.paths import is_test_path
from coder.core.verdict import Cause, Failure, TestReport, TestResult
from coder.verify.reasons import ASSERTIONS, FIXTURES, TOO_LONG, headline, inside

NETWORK = "ConnectionError|ConnectionRefusedError|ConnectTimeout|TimeoutException|URLError|MaxRetryError|NewConnectionError|gaierror"
ENVIRONMENT = (
    (r"ModuleNotFoundError: No module named '?(?P<what>[\w.]+)", "the package {what} is not installed for the project's interpreter"),
    (r"ImportError: (?P<what>lib[\w.-]+\.so[\w.]*): cannot open shared object", "the library {what} is missing"),
    (r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<what>[\w.+-]+)'", "the program or file {what} is missing"),
    (rf"\w*(?:{NETWORK}|ConnectError)\b", "it needs a network or a server"),
    (r"(?:PermissionError|OSError): \[Errno (?:1|13|30)\]", "it needs rights that it does not have"),
    (r"\w*Error: \[Errno (?:11|12|23|24|28)\]", "memory, disk, processes or open files are used up"),
    (r"MemoryError\b|RuntimeError: can't start new thread", "memory or processes are used up"),
)
"""Patterns of `type: message`, and what they say."""


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
        return "test error", f"the test itself raises at {frames[-1].path}:{frames[-1].line}: {headline(failure)}"
    return "logic", headline(failure)


def triaged(result: TestResult, *, before: TestResult | None) -> TestResult:
    """The result with its class, where it is red."""
    return result.model_copy(update={"cause": triage(result, before=before)[0]}) if result.red else result


def unable(before: TestReport) -> str:
    """What the machine lacks, where that is all that the tests say; empty where a single one got further."""
    said = [environment(result.failure) if result.failure else "" for result in before.reds]
    only = bool(said) and all(said) and all(result.red or result.outcome == "skipped" for result in before.results)
    return ", ".join(dict.fromkeys(said)) if only else ""


def environment(failure: Failure) -> str:
    """What the machine lacks, if the exception speaks of that."""
    said = f"{failure.type}: {failure.message}"
    for pattern, what in ENVIRONMENT:
        if match := re.match(pattern, said):
            return what.format(**{"what": "", **match.groupdict()})
    return ""
