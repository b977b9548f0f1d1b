"""Test reports: merging, comparison of two sides, and what they show."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from coder.core.paths import match_test_ids, test_file_of, test_function_of
from coder.core.text import join_first
from coder.core.verdict import DeniedResource, Failure, LinesRun, TestReport, TestResult, failure_signature
from coder.workspace.workspace import format_count

LONGEST_ID = 120
GONE = "Missing"
SHOWN, NOTES_SHOWN = 3, 4


def find_regressions(
    before: TestReport,
    after: TestReport,
    *,
    among: Callable[[str], bool] = lambda _test: True,
    missing_counts: bool,
) -> tuple[TestResult, ...]:
    """Return tests that passed before and now are red, skipped or expected to fail.

    If `missing_counts`, tests that no longer exist are included.
    """
    result_of = {result.id: result for result in after.results}
    regressions = []
    for earlier in before.results:
        if earlier.outcome != "passed" or not among(earlier.id):
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


def describe_old_failures(before: TestReport, after: TestReport) -> list[str]:
    """Return the tests that fail in the same way on both sides as half a sentence; empty without any."""
    before_by_id = {result.id: result for result in before.failures}
    unchanged = [
        result
        for result in after.project_failures
        if result.id in before_by_id and fails_alike(result, before_by_id[result.id])
    ]
    if not unchanged:
        return []
    fail = "test fails" if len(unchanged) == 1 else "tests fail"
    return [f"{len(unchanged)} {fail} with and without the change: {join_test_ids(unchanged)}"]


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
