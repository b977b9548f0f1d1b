"""The tool `run_tests`."""

from collections.abc import Sequence

from coder.core.errors import ToolError
from coder.core.text import sanitize_text
from coder.core.verdict import TestReport
from coder.core.verdict_summary import explain_failures
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace, format_count, suggest_paths

MOST_LISTED = 20
MOST_CHARACTERS = 6_000
"""Of explained failures."""


@tool()
def run_tests(workspace: Workspace, tests: tuple[str, ...] = ()) -> str:
    """Run tests on the code as it is now, and compare with the untouched code.

    Args:
        tests: Ids, files or directories: `tests/test_x.py::test_y`; empty is the whole suite, which may take minutes.
    """
    named = tuple(validate_test_id(workspace, test) for test in tests)
    report = workspace.run(named, workspace.progress)
    if report.problem is not None:
        tail = "\n".join(sanitize_text(report.output).splitlines()[-30:])
        reason = "it found no test." if report.problem.kind == "no_tests" else report.problem.text
        return f"The run says nothing about the code: {reason}\n[{report.command}]\n{tail}".rstrip()
    if report.by_exit_code:
        tail = "\n".join(sanitize_text(report.output).splitlines()[-60:])
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
    parts += explain_failures({"New": new_failures}, room=MOST_CHARACTERS)
    if fixed:
        parts.append(_list_tests("Fixed (red on the untouched code, green now)", fixed))
    if still_failing:
        parts.append(_list_tests("Failing before too", [result.id for result in still_failing]))
        old = still_failing[:2] if not new_failures else ()
        parts += explain_failures({"Old": old}, room=MOST_CHARACTERS)
    return "\n".join([*parts, f"[{report.command}]"])


def _list_tests(title: str, ids: Sequence[str]) -> str:
    lines = "\n".join(f"- {test}" for test in ids[:MOST_LISTED])
    more = f"\n- and {len(ids) - MOST_LISTED} more" if len(ids) > MOST_LISTED else ""
    return f"{title}: {format_count(len(ids), 'test')}\n{lines}{more}"
