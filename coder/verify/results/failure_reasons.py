"""Decides whether a red test is red for the right reason: its assertion, or the issue's own error."""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from coder.core.values.paths import is_test_path
from coder.core.values.verdict import Failure, Frame, TestResult

ASSERTIONS = frozenset({"AssertionError", "DocTestFailure", "Failed", "MultipleDoctestFailures"})
"""`Failed` is what pytest.fail, pytest.raises (DID NOT RAISE) and pytest.warns raise."""
NEVER = frozenset(
    {"Crash", "ImportError", "IndentationError", "ModuleNotFoundError", "SyntaxError", "TabError"}
)
NOT_ASSERTED = ("Timeout ", "async def functions are not natively supported")
"""Beginnings of a `Failed` that no test wrote: of pytest-timeout, and of pytest where a plugin is missing."""
TOO_LONG = "TooLong"
"""A test of which our own plugin has found that it never ends."""
QUICKER = 3.0
"""Times as long as it takes now, at least, a test has to have taken that is said to have never ended."""
USING = frozenset({"AttributeError", "IndexError", "KeyError", "TypeError", "ValueError"})
"""What a test stumbles over that uses what the code gave back, without asserting what that is."""
IMPORTING = USING | {"ImportError", "ModuleNotFoundError"}
"""And one that imports from the project what is not there."""
OUTSIDE = re.compile(r"\((?:/|[A-Za-z]:\\)")
"""Of `cannot import name 'x' from 'y' (path)`: the place of a module that is not in the tested tree."""
NETWORK = "ConnectionError|ConnectionRefusedError|ConnectTimeout|TimeoutException|URLError|MaxRetryError|NewConnectionError|gaierror"
ENVIRONMENT = (
    (
        r"ModuleNotFoundError: No module named '?(?P<what>\w+)(?![\w.])",
        "the package {what} is not installed for the project's interpreter",
    ),
    (
        r"ImportError: (?P<what>lib[\w.-]+\.so[\w.]*): cannot open shared object",
        "the library {what} is missing",
    ),
    (
        r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<what>[\w.+-]+)'",
        "the program or file {what} is missing",
    ),
    (rf"\w*(?:{NETWORK}|ConnectError)\b", "it needs a network or a server"),
    (r"(?:PermissionError|OSError): \[Errno (?:1|13|30)\]", "it needs rights that it does not have"),
    (r"\w*Error: \[Errno (?:11|12|23|24|28)\]", "memory, disk, processes or open files are used up"),
    (r"MemoryError\b|RuntimeError: can't start new thread", "memory or processes are used up"),
)
"""Patterns of `type: message`, and what they say; where only a part of a package is not there, the package is."""
FIXTURES = frozenset({"setUp", "asyncSetUp", "tearDown", "asyncTearDown", "setup_method", "teardown_method"})
"""unittest runs these inside of the call."""
VARYING = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|\d+""")
RAISE = re.compile(r">\s*\d*\s+raise\b")
"""The line of an extract that raised."""
TELLING = 15
"""Characters from which on a message found in the issue is no coincidence."""


def why_not(
    result: TestResult,
    *,
    issue: str,
    unchanged: bool,
    mended: Collection[str] = (),
    after: TestResult | None = None,
) -> str:
    """Why a result on the base is no reproduction of the issue; empty where it is one.

    `unchanged` says that the test stood like this in the base before the change: then any error from inside the project counts, in a
    fixture and while a file is imported too, and one of the test itself that uses or imports what the project gave it. So does one that
    a file of `mended` raises, the very sources that the change is made to. A test that did not end may have been slow only, going by how
    long it takes `after` the change.
    """
    if not result.red or result.failure is None:
        return _NOT_RED.get(result.outcome, "is red for an unknown reason")
    failure = result.failure
    what = headline(failure)
    if unchanged and _is_the_projects(result, failure):
        return ""
    if before_it := _before_the_issue(result, failure):
        return f"{before_it}: {what}"
    innermost = inside(failure)[-1:]
    if failure.type == TOO_LONG and (unchanged or (innermost and not is_test_path(innermost[0].path))):
        return _merely_slow(result, after)
    if failure.type in ASSERTIONS or is_named(failure, issue):
        return ""
    if _is_raised_by_a_double(failure):
        return ""
    if not innermost or is_test_path(innermost[0].path):
        return f"fails in the test itself{_at(innermost)} and not in an assertion: {what}"
    if innermost[0].path in mended:
        return ""
    return f"raises{_at(innermost)} what the issue does not name ({what}): let the test assert what should be true instead"


def _before_the_issue(result: TestResult, failure: Failure) -> str:
    """What kept the test from getting as far as the issue; empty where nothing did."""
    if result.when == "collect":
        return "its file cannot be collected"
    if _in_fixture(result, failure):
        return "fails in a fixture"
    return (
        "does not get as far as the issue"
        if failure.type in NEVER or failure.message.startswith(NOT_ASSERTED)
        else ""
    )


def _in_fixture(result: TestResult, failure: Failure) -> bool:
    return result.when in ("setup", "teardown") or any(
        frame.function in FIXTURES for frame in inside(failure)[:1]
    )


def _is_the_projects(result: TestResult, failure: Failure) -> bool:
    """Was it raised by the project, or by a test that cannot use, or import, what the project gives it?"""
    lacking = _before_the_issue(result, failure) and environment(failure)
    if lacking or failure.type == TOO_LONG or failure.message.startswith(NOT_ASSERTED):
        return False
    own = inside(failure)
    if own and not is_test_path(own[-1].path):
        return True
    return (
        bool(own)
        and not _in_fixture(result, failure)
        and failure.type in IMPORTING
        and not OUTSIDE.search(failure.message)
    )


def _merely_slow(before: TestResult, after: TestResult | None) -> str:
    if after is None or after.seconds * QUICKER < before.seconds:
        return ""
    return f"had not ended after {before.seconds:.3g} s, and may have been slow only: now it takes {after.seconds:.3g} s"


_NOT_RED = {
    "passed": "passes already on the base",
    "xpassed": "passes already on the base",
    "skipped": "is skipped on the base",
    "xfailed": "is marked as an expected failure",
}


def inside(failure: Failure) -> tuple[Frame, ...]:
    """The frames in the tested tree."""
    return tuple(
        frame
        for frame in failure.frames
        if not frame.path.startswith("<") and not PurePosixPath(frame.path).is_absolute()
    )


def is_named(failure: Failure, issue: str) -> bool:
    """Does the issue name this exception, or quote its message, whatever names and numbers stand in it?"""
    if re.search(rf"\b{re.escape(failure.type)}\b", issue):
        return True
    said = " ".join(issue.split())
    first = " ".join(failure.message.partition("\n")[0].split())
    constant = (part.strip(" .,:;") for part in VARYING.split(first))
    return (len(first) >= TELLING and first in said) or any(
        _tells(part) and part in said for part in constant
    )


def _is_raised_by_a_double(failure: Failure) -> bool:
    """Did the code under test call back into the test file, and a `raise` there says that this must not happen?"""
    frames = inside(failure)
    called_back = len(frames) > 2 and is_test_path(frames[-1].path) and not is_test_path(frames[-2].path)
    failing = [line for line in failure.text.splitlines() if line.startswith(">")]
    return called_back and bool(failing) and RAISE.match(failing[-1]) is not None


def _tells(part: str) -> bool:
    return len(part) >= TELLING and part.count(" ") >= 2


def headline(failure: Failure) -> str:
    """Type and first line of the message."""
    first = failure.message.strip().partition("\n")[0][:200]
    return f"{failure.type}: {first}" if first else failure.type


def _at(frames: tuple[Frame, ...]) -> str:
    return f" at {frames[0].path}:{frames[0].line}" if frames else ""


def environment(failure: Failure) -> str:
    """What the machine lacks, if the exception speaks of that."""
    said = f"{failure.type}: {failure.message}"
    for pattern, what in ENVIRONMENT:
        if match := re.match(pattern, said):
            return what.format(**{"what": "", **match.groupdict()})
    return ""
