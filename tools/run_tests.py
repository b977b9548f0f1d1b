"""The tool `run_tests`."""

import re
from collections.abc import Sequence

from coder.core.errors import ToolError
from coder.core.verdict import TestReport, TestResult
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace, format_count, suggest_paths

MOST_SHOWN = 6
MOST_LISTED = 20
MOST_NAMED = 3
MOST_CHARACTERS = 1_500
MOST_FRAMES = 4
COLOR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@tool()
def run_tests(workspace: Workspace, tests: tuple[str, ...] = ()) -> str:
    """Run tests on the code as it is now, and compare with the untouched code.

    Args:
        tests: Ids, files or directories: `tests/test_x.py::test_y`; empty is the whole suite, which may take minutes.
    """
    named = tuple(validate_test_id(workspace, test) for test in tests)
    report = workspace.run(named, workspace.progress)
    if report.problem is not None:
        tail = "\n".join(COLOR.sub("", report.output).splitlines()[-30:])
        reason = "it found no test." if report.problem.kind == "no_tests" else report.problem.text
        return f"The run says nothing about the code: {reason}\n[{report.command}]\n{tail}".rstrip()
    if report.by_exit_code:
        tail = "\n".join(COLOR.sub("", report.output).splitlines()[-60:])
        return (
            f"{'Passed' if not report.failures else 'Failed'} (the command's exit code is "
            f"{report.exit_code}).\n[{report.command}]\n{tail}"
        )
    if not named:
        workspace.baseline((), workspace.progress)
    compared = tuple(result.id for result in (report.results if named else report.failures))
    return _comparison(report, workspace.baseline(compared, workspace.progress))


def validate_test_id(workspace: Workspace, test: str) -> str:
    """Return a node id that names a file of the worktree and is not an option of pytest.

    Raises:
        ToolError: it is not.
    """
    path, colons, rest = test.strip().partition("::")
    if not path or path.startswith("-"):
        raise ToolError(
            f"{test!r} is no test. Give node ids, files or directories, such as 'tests/test_x.py::test_y'."
        )
    absolute, relative = workspace.resolve_path(path)
    if not absolute.exists():
        raise ToolError(f"{relative} does not exist.{suggest_paths(workspace, relative)}")
    return f"{relative}{colons}{rest}"


def _comparison(report: TestReport, baseline: TestReport) -> str:
    before = {result.id: result for result in baseline.results}
    red_before = {test for test, result in before.items() if result.red}
    new_failures = [result for result in report.failures if result.id not in red_before]
    still_failing = [result for result in report.failures if result.id in red_before]
    fixed = [result.id for result in report.results if result.green and result.id in red_before]
    counts = report.outcome_counts
    head = (
        f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped in {report.seconds:.1f} s"
    )
    if baseline.problem is not None and baseline.problem.kind != "no_tests":
        head += f"\nNot all of them ran on the untouched code: {baseline.problem.text}"
    parts = [head]
    if new_failures:
        added_count = sum(result.id not in before for result in new_failures)
        unknown = "without a result on the untouched code"
        parts.append(
            f"New failures: {len(new_failures)}{f' ({added_count} {unknown})' if added_count else ''}"
        )
    parts += _explain_failures(new_failures)
    if fixed:
        parts.append(_list_tests("Fixed (red on the untouched code, green now)", fixed))
    if still_failing:
        parts.append(_list_tests("Failing before too", [result.id for result in still_failing]))
        parts += _explain_failures(still_failing[:2] if not new_failures else [])
    return "\n".join([*parts, f"[{report.command}]"])


def _explain_failures(results: Sequence[TestResult]) -> list[str]:
    """Describe failures, those with one message once."""
    groups: dict[str, list[TestResult]] = {}
    for result in results:
        groups.setdefault(_describe_reason(result), []).append(result)
    parts: list[str] = []
    for number, (first, *others) in enumerate(groups.values()):
        if number >= MOST_SHOWN + MOST_LISTED:
            left = sum(map(len, [*groups.values()][number:]))
            return [*parts, f"and {left} more"]
        parts.append(_describe_failure(first) if number < MOST_SHOWN else _failure_line(first))
        if others:
            names = ", ".join(other.id for other in others[:MOST_NAMED])
            parts.append(f"  the same in {format_count(len(others), 'other test')}, such as {names}")
    return parts


def _failure_line(result: TestResult) -> str:
    return f"- {result.id}: {_describe_reason(result)}"


def _describe_reason(result: TestResult) -> str:
    failure = result.failure
    message = COLOR.sub("", failure.message) if failure else ""
    reason = next((line for line in message.splitlines() if line.strip()), "")
    return ": ".join(filter(None, (failure.type, reason)))[:200] if failure else result.outcome


def _describe_failure(result: TestResult) -> str:
    """Describe one failure: reason, innermost frames of the project that the runner's extract lacks, that extract."""
    lines = [_failure_line(result) + (f" (at {result.when})" if result.when != "call" else "")]
    if result.failure is None:
        return lines[0]
    text = COLOR.sub("", result.failure.text).strip("\n")
    first, _, rest = text.partition("\n")
    if lines[0].endswith(f": {first}"):
        text = rest.lstrip("\n")
    frames = [frame for frame in result.failure.frames if not frame.path.startswith("/")][-MOST_FRAMES:]
    lines += [
        f"    {frame.path}:{frame.line} in {frame.function}"
        for frame in frames
        if f"{frame.path}:{frame.line}" not in text
    ]
    if len(text) > MOST_CHARACTERS:
        text = f"[...]\n{text[-MOST_CHARACTERS:]}"
    return "\n".join([*lines, *(f"    {line}" for line in text.splitlines())])


def _list_tests(title: str, ids: Sequence[str]) -> str:
    lines = "\n".join(f"- {test}" for test in ids[:MOST_LISTED])
    more = f"\n- and {len(ids) - MOST_LISTED} more" if len(ids) > MOST_LISTED else ""
    return f"{title}: {format_count(len(ids), 'test')}\n{lines}{more}"
