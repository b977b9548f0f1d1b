"""Results of tests: two sides compared, why a test fails, and whether for the right reason."""

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from coder.core.paths import is_test_path, match_test_ids, test_file_of, test_function_of
from coder.core.text import join_first
from coder.core.verdict import (
    ASSERTIONS,
    Cause,
    DeniedResource,
    Failure,
    Frame,
    LinesRun,
    TestReport,
    TestResult,
    failure_signature,
)
from coder.files.regular_files import read_regular_text
from coder.linux_distribution import install_hint
from coder.verify.runners.javascript import WAITS_FOR_EVER, read_manifest
from coder.workspace.workspace import format_count

LONGEST_ID = 120
GONE = "Missing"
SHOWN, NOTES_SHOWN = 3, 4


def find_regressions(
    before: TestReport, after: TestReport, *, left_out: Sequence[str] = (), missing_counts: bool
) -> tuple[TestResult, ...]:
    """Return tests that passed before and now are red, skipped or expected to fail, without those left out.

    If `missing_counts`, tests that no longer exist are included.
    """
    result_of = {result.id: result for result in after.results}
    is_left_out = match_test_ids(left_out)
    regressions = []
    for earlier in before.results:
        if earlier.outcome != "passed" or is_left_out(earlier.id):
            continue
        result = result_of.get(earlier.id) or _collection_error_of(earlier.id, result_of)
        if result is None:
            if missing_counts:
                regressions.append(_missing_result(earlier.id))
        elif result.outcome not in ("passed", "xpassed"):
            regressions.append(result)
    return tuple(regressions)


def tests_among(report: TestReport, tests: Sequence[str]) -> TestReport:
    """Return the part of a report with the results of these tests, or of tests in these files."""
    is_among = match_test_ids(tests)
    results = tuple(result for result in report.results if is_among(result.id))
    return report.model_copy(update={"results": results})


def unmatched_names(named: Sequence[str], report: TestReport) -> list[str]:
    return [name for name in named if not any(match_test_ids([name])(result.id) for result in report.results)]


def describe_old_failures(
    before: TestReport, after: TestReport, reds: Sequence[TestResult] = ()
) -> list[str]:
    """Return the tests that fail in the same way on both sides as half a sentence; empty without any.

    Those with an error of `reds`, the tests that hold against the change, are counted: what they share may
    be a fault of this machine.
    """
    before_by_id = {result.id: result for result in before.failures}
    unchanged = [
        result
        for result in after.project_failures
        if result.id in before_by_id and fails_alike(result, before_by_id[result.id])
    ]
    if not unchanged:
        return []
    fail = "test fails" if len(unchanged) == 1 else "tests fail"
    errors = {red.failure.headline for red in reds if red.failure and red.failure.type not in ASSERTIONS}
    alike = sum(1 for result in unchanged if result.failure and result.failure.headline in errors)
    shared = f", {alike} of them by the error of the red test" if alike else ""
    return [f"{len(unchanged)} {fail} with and without the change{shared}: {join_test_ids(unchanged)}"]


def fails_alike(first: TestResult, second: TestResult) -> bool:
    """Tell whether a test is red in two runs with the same exception in the same function."""
    return first.red and second.red and failure_signature(first) == failure_signature(second)


def is_gone(result: TestResult) -> bool:
    """Tell whether a result stands for a test that no longer exists."""
    return result.failure is not None and result.failure.type == GONE


def is_excluded(before: TestReport, result: TestResult) -> bool:
    """Tell whether a test is skipped or expected to fail, as before or in a file that did not collect."""
    earlier = before.result_for(result.id)
    return (
        not result.red
        and earlier is not None
        and (earlier.outcome == result.outcome or earlier.id != result.id)
    )


def match_result(report: TestReport, test_id: str) -> TestResult | None:
    """Return the result of a test, of a case of its function that fails, or of its file."""
    if (own := report.result_for(test_id)) is not None:
        return own
    function = test_function_of(test_id)
    cases = [result for result in report.results if test_function_of(result.id) == function]
    return next((result for result in cases if result.red), next(iter(cases), None))


def passes(report: TestReport, test_id: str) -> bool:
    result = report.result_for(test_id)
    return result is not None and result.outcome == "passed"


def join_test_ids(results: Sequence[TestResult]) -> str:
    """Return the first few ids as a comma-separated list, with the number of the others."""
    return join_first([shorten_test_id(result.id) for result in results], SHOWN)


def shorten_test_id(test_id: str) -> str:
    """Return a test id shortened for messages: parameters can be of any length."""
    return test_id if len(test_id) <= LONGEST_ID else f"{test_id[: LONGEST_ID - 1]}…"


def limit_notes(notes: Sequence[str]) -> list[str]:
    """Return the first few notes with the number of the others."""
    more = [f"{len(notes) - NOTES_SHOWN} more of this kind"] if len(notes) > NOTES_SHOWN else []
    return [*notes[:NOTES_SHOWN], *more]


def _collection_error_of(test_id: str, result_of: dict[str, TestResult]) -> TestResult | None:
    file = result_of.get(test_file_of(test_id))
    return file.model_copy(update={"id": test_id}) if file is not None and file.when == "collect" else None


def _missing_result(test_id: str) -> TestResult:
    message = (
        "it passed before the change and is not there any more; was it removed or renamed, "
        "or was a parametrized list put in another order?"
    )
    return TestResult(id=test_id, outcome="error", failure=Failure(type=GONE, message=message))


def merge_reports(first: TestReport, second: TestReport) -> TestReport:
    """Return one report of two runs of the same tree; where both have a result, the second's counts."""
    results = {result.id: result for result in (*first.results, *second.results)}
    return first.model_copy(
        update={
            "command": first.command or second.command,
            "results": tuple(results.values()),
            "collected": tuple(dict.fromkeys((*first.collected, *second.collected))),
            "seconds": first.seconds + second.seconds,
            "problem": first.problem or second.problem,
            "output": second.output or first.output,
            "reached": tuple(dict.fromkeys((*first.reached, *second.reached))),
            "exit_code": second.exit_code,
        }
    )


def merge_lines(known: Sequence[LinesRun | None]) -> LinesRun | None:
    """Return the watched lines and those that ran in none of several runs; None if one is unknown."""
    merged: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for lines in known:
        if lines is None:
            return None
        for path, (watched, left) in lines.items():
            before = merged.get(path, (watched, left))
            merged[path] = (watched, tuple(line for line in before[1] if line in left))
    return merged


Denied = DeniedResource
NETWORK_ERRORS = frozenset(
    {"ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "gaierror"}
)
NETWORK_MESSAGES = re.compile(
    "Connection refused|Network is unreachable|No route to host|Name or service not known"
    "|Temporary failure in name resolution"
)
"""The C library's words, for clients that raise no OSError, such as PostgreSQL's."""
PERMISSION_ERRORS = frozenset({"EACCES", "EPERM", "EROFS"})
REASONS: Mapping[Denied, str] = {
    "network": "no network or server is reachable",
    "files": "files outside of the worktree may not be used",
    "calls": "a system call is not permitted",
    "home": "files of your home directory are hidden",
}


def denied_resource(failure: Failure) -> Denied | None:
    """Return the resource whose lack in a sandbox explains a failure; None if none does."""
    error = failure.os_error
    if error is None:
        return "network" if NETWORK_MESSAGES.search(failure.message) else None
    if error.name in NETWORK_ERRORS:
        return "network"
    if error.name in PERMISSION_ERRORS and error.path.startswith("/"):
        return "files"
    if error.name in ("EACCES", "EPERM") and not error.path:  # EACCES: semaphores and shared memory
        return "calls"
    is_hidden = error.name == "ENOENT" and error.path.startswith("~/") and _is_in_home(error.path)
    return "home" if is_hidden else None


def mark_sandbox_failures(
    results: Sequence[TestResult], denied: Collection[Denied]
) -> tuple[TestResult, ...]:
    """Return the results, those that fail for want of a denied resource marked with it."""
    return tuple(
        result.model_copy(update={"denied": resource})
        if result.red and result.failure and (resource := denied_resource(result.failure)) in denied
        else result
        for result in results
    )


def describe_sandbox_failures(
    before: TestReport, failures: Sequence[TestResult], remedies: Mapping[Denied, str]
) -> list[str]:
    """Return a clause for each resource without which tests fail both on the base and on the change.

    `failures` are those on the change; `remedies` names, for each resource that the sandbox denies, the
    switch that allows it.
    """
    affected: dict[Denied, list[TestResult]] = {}
    for result in failures:
        denied = denied_resource(result.failure) if result.failure else None
        earlier = before.result_for(result.id)
        if denied and earlier and earlier.failure and denied_resource(earlier.failure) == denied:
            affected.setdefault(denied, []).append(result)
    return [
        f"{format_count(len(results), 'test')} cannot pass in the sandbox, with or without the change, "
        f"because {REASONS[denied]} ({join_test_ids(results)}): {remedies[denied]}"
        for denied, results in affected.items()
        if denied in remedies
    ]


def _is_in_home(path: str) -> bool:
    """Tell whether a path of a test's home directory exists in the user's own."""
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False


NEVER_REPRODUCING = frozenset(
    {"Crash", "ImportError", "IndentationError", "ModuleNotFoundError", "SyntaxError", "TabError"}
)
UNASSERTED_FAILURES = ("Timeout ", "async def functions are not natively supported")
"""Prefixes of `Failed` messages that no test raised: from pytest-timeout, and from pytest if a plugin is
missing.
"""
NEVER_ENDING = "TooLong"
"""Failure type that our own plugin reports for a test that does not end."""
SLOWDOWN_FACTOR = 10.0
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
        "install it, or use --install",
    ),
    (
        r"CollectionError: (?:\w+: )?(?:cannot load such file -- |Cannot find (?:module|package) ')"
        r"(?P<what>(?!\./|\.\./|/|@/)[\w@./-]+)",
        "the package {what} is not installed",
        "install it",
    ),
    (
        r"CollectionError: .*\bvendor/autoload\.php\b",
        "the packages of Composer are not installed",
        "composer install",
    ),
    (
        r"CollectionError: .*module lookup disabled by GOPROXY=off",
        "a module of Go is not downloaded",
        "go mod download",
    ),
    (
        r"ImportError: (?P<what>lib[\w.-]+\.so[\w.]*): cannot open shared object",
        "the library {what} is missing",
        "install it",
    ),
    (
        r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<what>[\w.+-]+)'",
        "the program or file {what} is missing",
        "",
    ),
    (
        r"(?is).*?(?:\bEADDRINUSE\b|\baddress already in use\b)",
        "its port is taken",
        "end the process that listens there (a development server?)",
    ),
    (
        r"(?is).*?\b(?:AF_UNIX path too long|shorter than SUN_LEN|listen EINVAL: invalid argument /)",
        "the path of its Unix socket is too long",
        "set TMPDIR to a directory with a short path",
    ),
    (rf"\w*(?:{NETWORK}|ConnectError)\b", "it needs a network or a server", ""),
    (r"(?:PermissionError|OSError): \[Errno (?:1|13|30)\]", "it needs rights that it does not have", ""),
    (r"\w*Error: \[Errno (?:11|12|23|24|28)\]", "memory, disk, processes or open files are used up", ""),
    (r"MemoryError\b|RuntimeError: can't start new thread", "memory or processes are used up", ""),
)
"""Patterns of `type: message`, their descriptions, and what to do; if only a part of a package is missing,
the package exists.
"""
BUILD_FILES = ("CMakeLists.txt", "Cargo.toml", "meson.build", "pyproject.toml", "setup.cfg", "setup.py")
COMPILED = (".c", ".cc", ".cpp", ".cu", ".cxx", ".f90", ".pyx", ".rs")
_UNIMPORTED = re.compile(
    r"No module named '(?P<module>[\w.]+)'"
    r"|cannot import name '(?P<name>\w+)' from (?:partially initialized module )?'(?P<package>[\w.]+)'"
)
FIXTURES = frozenset({"setUp", "asyncSetUp", "tearDown", "asyncTearDown", "setup_method", "teardown_method"})
"""Methods that unittest runs within the call phase."""
VARYING = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|\d+""")
RAISE = re.compile(r">\s*\d*\s+raise\b")
"""The line of an extract that raised the exception."""
_PORT_TAKEN = re.compile(r"(?i)\bEADDRINUSE\b|\baddress already in use\b")
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
    it. A new test counts if an assertion of it fails, if the project raises an error, or if it lacks one of
    `added_names`, which the change defines; not if an assertion in `edited_sources` fails. A test that did
    not end may only have been slow, judging by how long it takes `after` the change.
    """
    if not result.red or result.failure is None:
        return _REASONS_NOT_RED.get(result.outcome, "is red for an unknown reason")
    failure = result.failure
    summary = failure.headline
    if has_found_port_taken(result):
        return f"found its port taken: {summary}"
    if is_existing_test and _is_project_failure(result, failure):
        return ""
    if not is_existing_test and lacks_added_name(result, added_names):
        return ""
    if early := _early_failure(result, failure):
        return f"{early}: {summary}"
    innermost = failure.own_frames[-1:]
    if failure.type == NEVER_ENDING and (
        is_existing_test or not innermost or not is_test_path(innermost[0].path)
    ):
        return _slowness_reason(result, after)
    if is_quoted_in_issue(failure, issue) or _has_type_of_issue(failure, issue) or _is_asserted(failure):
        return ""
    if failure.type in ASSERTIONS:
        return _own_assertion(result, failure, edited_sources)
    # An asynchronous error, as of a server's answer, has no frame of the test.
    is_elsewhere = not innermost and failure.frames and not environment_problem(failure)
    if is_elsewhere or (innermost and not is_test_path(innermost[0].path)):
        return ""
    return f"fails in the test itself{_location(innermost)} and not in an assertion: {summary}"


def _own_assertion(result: TestResult, failure: Failure, edited_sources: Collection[str]) -> str:
    """Return that an assertion is in a source which the change edits; empty for one of a test or a helper."""
    innermost = failure.own_frames[-1:]
    if not innermost or innermost[0].path not in edited_sources or _has_tests(innermost[0].path, result):
        return ""
    return f"fails in an assertion of the changed code{_location(innermost)}: {failure.headline}"


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
        frame.function in FIXTURES for frame in failure.own_frames[:1]
    )


def _is_project_failure(result: TestResult, failure: Failure) -> bool:
    """Tell whether the project raised it, or a test that cannot use or import what the project provides."""
    is_environment = _early_failure(result, failure) and environment_problem(failure)
    if is_environment or failure.type == NEVER_ENDING or failure.message.startswith(UNASSERTED_FAILURES):
        return False
    frames = failure.own_frames
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


def lacks_added_name(result: TestResult, added_names: Collection[str]) -> bool:
    """Tell whether a test fails because a name is missing that the change adds."""
    failure = result.failure
    frames = failure.own_frames if failure else ()
    return (
        failure is not None
        and find_missing_name(failure) in added_names
        and (not frames or _has_tests(frames[-1].path, result))
        and not OUTSIDE_PATH.search(failure.message)
    )


def _has_tests(path: str, result: TestResult) -> bool:
    """Tell whether a file is one of tests, or the source in which this test is defined."""
    return is_test_path(path) or path == test_file_of(result.id)


def _has_type_of_issue(failure: Failure, issue: str) -> bool:
    """Tell whether the issue names this type of exception, and it is not that the test misses a name."""
    return bool(re.search(rf"\b{re.escape(failure.type)}\b", issue)) and not find_missing_name(failure)


def is_quoted_in_issue(failure: Failure, issue: str) -> bool:
    """Tell whether the issue quotes the message of this exception, ignoring names and numbers in it."""
    words = " ".join(issue.split())
    first_line = " ".join(failure.message.partition("\n")[0].split())
    constant_parts = (part.strip(" .,:;") for part in VARYING.split(first_line))
    return (len(first_line) >= DISTINCTIVE_LENGTH and first_line in words) or any(
        _is_distinctive(part) and part in words for part in constant_parts
    )


def _is_asserted(failure: Failure) -> bool:
    """Tell whether a test asserts in other words.

    It uses an answer that has another shape, as in `first = pages()["first"]`, code calls a test double that
    raises, a statement of the test raises `Exception`, or what it awaits never comes.
    """
    line = next((line for line in reversed(failure.text.splitlines()) if line.startswith(">")), "")
    frames = failure.own_frames
    is_of_test = bool(frames) and is_test_path(frames[-1].path)
    is_callback = len(frames) > 2 and not is_test_path(frames[-2].path)
    return (
        (is_of_test and failure.type in MISUSE_ERRORS and not find_missing_name(failure))
        or failure.message.startswith(WAITS_FOR_EVER)
        or (is_of_test and (is_callback or failure.type == "Exception") and RAISE.match(line) is not None)
    )


def _is_distinctive(part: str) -> bool:
    return len(part) >= DISTINCTIVE_LENGTH and part.count(" ") >= 2


def _location(frames: tuple[Frame, ...]) -> str:
    return f" at {frames[0].path}:{frames[0].line}" if frames else ""


def environment_problem(failure: Failure) -> str:
    """Return what the machine lacks, if the exception indicates that; otherwise empty."""
    return _describe_environment(failure)[0]


def lacks_environment(result: TestResult) -> bool:
    """Tell whether a test failed for what the machine lacks, which the user may since have provided."""
    return result.failure is not None and (
        has_found_port_taken(result) or bool(environment_problem(result.failure))
    )


def _describe_environment(failure: Failure) -> tuple[str, str]:
    """Return what the machine lacks and what to do about it; both are empty for any other failure."""
    text = f"{failure.type}: {failure.message}"
    for pattern, description, remedy in ENVIRONMENT:
        if match := re.match(pattern, text):
            return description.format(**{"what": "", **match.groupdict()}), remedy
    return "", ""


def has_found_port_taken(result: TestResult) -> bool:
    """Tell whether a test failed since another process listens at its port."""
    if result.failure is None:
        return False
    error = result.failure.os_error
    return _PORT_TAKEN.search(result.failure.message if error is None else error.name) is not None


def describe_lack(reds: Sequence[TestResult], tests: str) -> str:
    """Return that red tests cannot run, with or without the change, why the first does not, what to do."""
    failure = reds[0].failure or Failure(type="", message="")
    lack, remedy = _describe_environment(failure)
    if not lack:
        remedy = "build the project, or name a command: the setting `build`"
        lack = f"{_find_unimported_module(failure)} is not built"
    verb = "be imported" if all(red.when == "collect" for red in reds) else "run here"
    end = f": {remedy}" if remedy else ""
    return f"{tests} cannot {verb}, with or without the change: {failure.headline}; {lack}{end}."


def _find_unimported_module(failure: Failure) -> str:
    """Return the dotted name of what Python could not import; empty for any other failure."""
    match = _UNIMPORTED.search(failure.message)
    if match is None or failure.type not in ("ImportError", "ModuleNotFoundError"):
        return ""
    return match["module"] or f"{match['package']}.{match['name']}"


def is_unbuilt(failure: Failure, tree: Path) -> bool:
    """Tell whether a module could not be imported because it has to be built.

    It has no Python source, and a source of another language or a file of the build has its name.
    """
    name = _find_unimported_module(failure).rpartition(".")[2]
    files = [*tree.rglob(f"{name}*")] if name else []
    is_python = any(
        file.name == f"{name}.py" or (file.name == name and (file / "__init__.py").is_file())
        for file in files
    )
    if is_python or not name:
        return False
    is_source = any(file.stem == name and file.suffix in COMPILED for file in files)
    texts = (read_regular_text(tree / file) for file in BUILD_FILES)
    return is_source or any(re.search(rf"\b{name}\b", text) for text in texts)


_MISSING_SOURCE = (
    r"(?:Cannot find (?:module|package)|Failed to (?:load url|resolve import)|cannot load such file --) "
    r"[\"']?(?:[^\s\"']*/)?(?P<module>[\w.-]+?)(?:\.(?:[cm]?[jt]sx?|rb))?(?=[\s\"']|$)"
)
_MISSING_NAMES = {
    "TypeError": r"got an unexpected keyword argument '(?P<name>\w+)'"
    r"|(?P<function>\w+)\(\) (?:takes|missing)"
    r"|(?P<value>\w+)\)? is not a (?:function|constructor)",
    "AttributeError": r"has no attribute '(?P<name>\w+)'",
    "ImportError": r"cannot import name '(?P<name>\w+)'",
    "ModuleNotFoundError": r"No module named '(?:[\w.]+\.)?(?P<name>\w+)'",
    "NameError": r"name '(?P<name>\w+)' is not defined",
    "ReferenceError": r"(?P<name>\w+) is not defined",
    "CollectionError": r"undefined: (?:\w+\.)?(?P<name>\w+)"
    r"|(?:cannot find \w+|no \w+(?: or \w+)*(?: item)? named|unresolved import) `(?:\w+::)*(?P<item>\w+)`"
    r"|symbol:\s+(?:method|class|variable) (?P<value>\w+)"
    r"|(?:Property|exported member|Cannot find name) '(?P<member>\w+)'"
    rf"|{_MISSING_SOURCE}",
    "Error": _MISSING_SOURCE,
    "SyntaxError": r"does not provide an export named '?(?P<name>\w+)",
}
"""Messages of Python, JavaScript, and the compilers of Go, Rust, Java and TypeScript by type."""
_LOADER_ERROR = re.compile(r"(?P<type>\w*Error)(?: \[\w+\])?: ")
"""How the message of a test file that could not be loaded begins where an exception was raised."""


def find_missing_name(failure: Failure) -> str:
    """Return the name whose absence a failure reports; empty for any other failure.

    `name()` stands for parameters that a function does not take.
    """
    pattern = _MISSING_NAMES.get(failure.type)
    if failure.type == "CollectionError" and (cause := _LOADER_ERROR.match(failure.message)):
        pattern = _MISSING_NAMES.get(cause["type"], pattern)
    if not pattern or not (match := re.search(pattern, failure.message)):
        return ""
    groups = match.groupdict()
    if function := groups.get("function"):
        return f"{function}()"
    found = (groups.get(group) for group in ("name", "value", "item", "member", "module"))
    return next(filter(None, found), "")


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


def classify_failure(result: TestResult, *, before: TestResult | None) -> Cause:
    """Return the class of a red result; `before` is that of the same test on the untouched base.

    The environment is the cause only if the base failed for the same lack: what the change brings about is
    its own fault.
    """
    failure = result.failure or Failure(type="", message="")
    lack = environment_problem(failure)
    if lack and before and before.failure and environment_problem(before.failure) == lack:
        return "environment"
    if failure.type in ("Timeout", NEVER_ENDING) or failure.message.startswith("Timeout "):
        return "time-out"
    if result.when == "collect":
        return "collection"
    frames = failure.own_frames
    is_in_test = failure.type not in ASSERTIONS and frames and is_test_path(frames[-1].path)
    return "test error" if is_in_test or _is_in_fixture(result, failure) else "logic"


def with_cause(result: TestResult, *, before: TestResult | None) -> TestResult:
    """Return the result with its class added, if it is red and has none."""
    return (
        result.model_copy(update={"cause": classify_failure(result, before=before)})
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
        reason = f" ({first.failure.headline})" if first.failure else ""
        more = f", nor {len(after.failures) - 1} more" if len(after.failures) > 1 else ""
        return f"No test ran, {where}: {first.id} cannot be collected{more}{reason}."
    if after.problem is None or not after.is_complete:
        return ""
    lines = [line.strip(" =") for line in after.output.splitlines() if line.strip(" =")]
    tail = " | ".join(lines[-OUTPUT_LINES:])
    printed = f"`{after.command}` printed: {tail}" if tail else f"`{after.command}` printed nothing"
    where += ", where files that git ignores are absent"
    return f"No test was found, {where}: name the command with --test, or add a test. {printed}"
