"""Why a test is red: a reproduction of the issue, or another problem."""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from coder.core.paths import is_test_path
from coder.core.verdict import Failure, Frame, TestResult
from coder.verify.results.new_names import find_missing_name

ASSERTIONS = frozenset({"AssertionError", "DocTestFailure", "Failed", "MultipleDoctestFailures"})
"""`Failed` is what pytest.fail, pytest.raises (DID NOT RAISE) and pytest.warns raise."""
NEVER_REPRODUCING = frozenset(
    {"Crash", "ImportError", "IndentationError", "ModuleNotFoundError", "SyntaxError", "TabError"}
)
UNASSERTED_FAILURES = ("Timeout ", "async def functions are not natively supported")
"""Prefixes of `Failed` messages that no test raised: from pytest-timeout, and from pytest if a plugin is
missing.
"""
NEVER_ENDING = "TooLong"
"""Failure type that our own plugin reports for a test that does not end."""
SLOWDOWN_FACTOR = 3.0
"""A test counts as one that never ended only if it took at least this many times as long as it takes now."""
MISUSE_ERRORS = frozenset({"AttributeError", "IndexError", "KeyError", "TypeError", "ValueError"})
"""Exceptions of a test that uses a wrong result without asserting on it."""
MISUSE_OR_IMPORT_ERRORS = MISUSE_ERRORS | {"ImportError", "ModuleNotFoundError"}
"""The same, and those of a test that imports a name the project lacks."""
OUTSIDE_PATH = re.compile(r"\((?:/|[A-Za-z]:\\)")
"""The absolute path in `cannot import name 'x' from 'y' (path)`: the module is outside of the tested tree."""
NETWORK = (
    "ConnectionError|ConnectionRefusedError|ConnectTimeout|TimeoutException|URLError|MaxRetryError"
    "|NewConnectionError|gaierror"
)
ENVIRONMENT = (
    (
        r"ModuleNotFoundError: No module named '?(?P<what>\w+)(?![\w.])",
        "the package {what} is not installed for the project's interpreter",
    ),
    (
        r"CollectionError: (?:\w+: )?(?:cannot load such file -- |Cannot find (?:module|package) ')"
        r"(?P<what>(?!\./|\.\./|/|@/)[\w@./-]+)",
        "the package {what} is not installed",
    ),
    (
        r"CollectionError: .*\bvendor/autoload\.php\b",
        "the packages of Composer are not installed",
    ),
    (
        r"CollectionError: .*module lookup disabled by GOPROXY=off",
        "a module of Go is not downloaded",
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
"""Patterns of `type: message`, and their descriptions; if only a part of a package is missing, the package
exists.
"""
FIXTURES = frozenset({"setUp", "asyncSetUp", "tearDown", "asyncTearDown", "setup_method", "teardown_method"})
"""Methods that unittest runs within the call phase."""
VARYING = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|\d+""")
RAISE = re.compile(r">\s*\d*\s+raise\b")
"""The line of an extract that raised the exception."""
ASSERT = re.compile(r">\s*\d*\s+assert\b")
"""The line of an extract that evaluated an assertion."""
ABSENCES = frozenset({"KeyError", "IndexError"})
"""Exceptions of an assertion about an item that the code under test did not give."""
TRACED_FUNCTION = re.compile(r'File "[^"\n]+", line \d+, in (\w+)')
DISTINCTIVE_LENGTH = 15
"""A message of at least this many characters found in the issue is no coincidence."""


def rejection_reason(
    result: TestResult,
    *,
    issue: str,
    is_existing_test: bool,
    edited_sources: Collection[str] = (),
    added_names: Collection[str] = (),
    after: TestResult | None = None,
) -> str:
    """Return why a result on the base does not reproduce the issue; empty if it does.

    An existing test is the same on the base: then any error from inside the project counts, also in a fixture
    or during collection, and so does an error of the test itself that uses or imports what the project gave
    it. An error raised by a file of `edited_sources` counts too, and so does a new test that lacks one of
    `added_names`, which the change defines. A test that did not end may only have been slow, judging by how
    long it takes `after` the change.
    """
    if not result.red or result.failure is None:
        return _REASONS_NOT_RED.get(result.outcome, "is red for an unknown reason")
    failure = result.failure
    summary = failure_headline(failure)
    if is_existing_test and _is_project_failure(result, failure):
        return ""
    if not is_existing_test and lacks_added_name(failure, added_names):
        return ""
    if early := _early_failure(result, failure):
        return f"{early}: {summary}"
    innermost = frames_in_tree(failure)[-1:]
    if failure.type == NEVER_ENDING and (
        is_existing_test or (innermost and not is_test_path(innermost[0].path))
    ):
        return _slowness_reason(result, after)
    if failure.type in ASSERTIONS or is_quoted_in_issue(failure, issue) or _has_type_of_issue(failure, issue):
        return ""
    if _is_forbidden_callback(failure) or _lacks_asserted_item(failure):
        return ""
    if not innermost or is_test_path(innermost[0].path):
        return f"fails in the test itself{_location(innermost)} and not in an assertion: {summary}"
    if innermost[0].path in edited_sources:
        return ""
    return (
        f"raises{_location(innermost)} what the issue does not name ({summary}): "
        "let the test assert what should be true instead"
    )


def _early_failure(result: TestResult, failure: Failure) -> str:
    """Return what stopped the test before it exercised the issue; empty if nothing did."""
    if result.when == "collect":
        return "its file cannot be collected"
    if _is_in_fixture(result, failure):
        return "fails in a fixture"
    return (
        "does not get as far as the issue"
        if failure.type in NEVER_REPRODUCING or failure.message.startswith(UNASSERTED_FAILURES)
        else ""
    )


def _is_in_fixture(result: TestResult, failure: Failure) -> bool:
    return result.when in ("setup", "teardown") or any(
        frame.function in FIXTURES for frame in frames_in_tree(failure)[:1]
    )


def _is_project_failure(result: TestResult, failure: Failure) -> bool:
    """Tell whether the project raised it, or a test that cannot use or import what the project provides."""
    is_environment = _early_failure(result, failure) and environment_problem(failure)
    if is_environment or failure.type == NEVER_ENDING or failure.message.startswith(UNASSERTED_FAILURES):
        return False
    frames = frames_in_tree(failure)
    if frames and not is_test_path(frames[-1].path):
        return True
    return (
        bool(frames)
        and not _is_in_fixture(result, failure)
        and failure.type in MISUSE_OR_IMPORT_ERRORS
        and not OUTSIDE_PATH.search(failure.message)
    )


def _slowness_reason(before: TestResult, after: TestResult | None) -> str:
    if after is None or after.seconds * SLOWDOWN_FACTOR < before.seconds:
        return ""
    return (
        f"had not ended after {before.seconds:.3g} s, and may have been slow only: "
        f"now it takes {after.seconds:.3g} s"
    )


_REASONS_NOT_RED = {
    "passed": "passes already on the base",
    "xpassed": "passes already on the base",
    "skipped": "is skipped on the base",
    "xfailed": "is marked as an expected failure",
}


def frames_in_tree(failure: Failure) -> tuple[Frame, ...]:
    """Return the frames inside the tested tree."""
    return tuple(
        frame
        for frame in failure.frames
        if not frame.path.startswith("<") and not PurePosixPath(frame.path).is_absolute()
    )


def lacks_added_name(failure: Failure, added_names: Collection[str]) -> bool:
    """Tell whether a test fails because a name is missing that the change adds."""
    frames = frames_in_tree(failure)
    return (
        find_missing_name(failure) in added_names
        and (not frames or is_test_path(frames[-1].path))
        and not OUTSIDE_PATH.search(failure.message)
    )


def _has_type_of_issue(failure: Failure, issue: str) -> bool:
    """Tell whether the issue names this type of exception, raised where its traceback says if it has one.

    A name that the test itself misses says nothing about the issue, whatever its type.
    """
    if not re.search(rf"\b{re.escape(failure.type)}\b", issue):
        return False
    frames = frames_in_tree(failure)
    functions = {frame.function for frame in frames if not is_test_path(frame.path)}
    if not frames or is_test_path(frames[-1].path):
        return not find_missing_name(failure)
    traced = set(TRACED_FUNCTION.findall(issue)) - {"<module>"}
    return not traced or bool(functions & traced)


def is_quoted_in_issue(failure: Failure, issue: str) -> bool:
    """Tell whether the issue quotes the message of this exception, ignoring names and numbers in it."""
    words = " ".join(issue.split())
    first_line = " ".join(failure.message.partition("\n")[0].split())
    constant_parts = (part.strip(" .,:;") for part in VARYING.split(first_line))
    return (len(first_line) >= DISTINCTIVE_LENGTH and first_line in words) or any(
        _is_distinctive(part) and part in words for part in constant_parts
    )


def _is_forbidden_callback(failure: Failure) -> bool:
    """Tell whether the code under test called back into the test file, where a `raise` forbids the call."""
    frames = frames_in_tree(failure)
    is_callback = len(frames) > 2 and is_test_path(frames[-1].path) and not is_test_path(frames[-2].path)
    return is_callback and RAISE.match(_failing_line(failure)) is not None


def _lacks_asserted_item(failure: Failure) -> bool:
    """Tell whether an assertion of the test is about an item that is not there, such as `x["count"] == 1`."""
    return failure.type in ABSENCES and ASSERT.match(_failing_line(failure)) is not None


def _failing_line(failure: Failure) -> str:
    """Return the line of the extract where the exception was raised; empty if none is marked."""
    marked_lines = [line for line in failure.text.splitlines() if line.startswith(">")]
    return marked_lines[-1] if marked_lines else ""


def _is_distinctive(part: str) -> bool:
    return len(part) >= DISTINCTIVE_LENGTH and part.count(" ") >= 2


def failure_headline(failure: Failure) -> str:
    """Return type and first line of the message."""
    first_line = failure.message.strip().partition("\n")[0][:200]
    return f"{failure.type}: {first_line}" if first_line else failure.type


def _location(frames: tuple[Frame, ...]) -> str:
    return f" at {frames[0].path}:{frames[0].line}" if frames else ""


def environment_problem(failure: Failure) -> str:
    """Return what the machine lacks, if the exception indicates that; otherwise empty."""
    text = f"{failure.type}: {failure.message}"
    for pattern, description in ENVIRONMENT:
        if match := re.match(pattern, text):
            return description.format(**{"what": "", **match.groupdict()})
    return ""
