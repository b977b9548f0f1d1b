"""Problems of test runs that make their results unusable, and their remedies."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from coder.core.ports import Execution
from coder.core.verdict import RunProblem
from coder.verify.project.command import RECORDED
from coder.verify.running.recording import Recording

INTERNAL_ERROR = 3
USAGE_ERROR = 4
NO_TESTS = 5
"""Exit codes of pytest; unittest has the last one too."""
START_FAILURE = re.compile(
    r"error: no such command: |\w+ \S+: unknown command\b|make: \*\*\* No rule to make target"
    r"|\S*python[\d.]*: (?:No module named|can't open file) |Could not open input file: "
    r"|npm (?:error|ERR!) (?:Missing script|code (?:E404|ENOENT|ENOTCACHED)\b)"
    r"|ruby: No such file or directory|sh: \d+: (?:cannot|Can't) open "
    r"|rake aborted!\n(?:No Rakefile|Don't know)"
)
"""First line of output by which common programs say that they do not know what to run."""
MISSING_PROGRAM = re.compile(
    r"(?m)^(?:g?make(?:\[\d+\])?: \*\*\* .*\bError|task: .*\bexit status|npm (?:error|ERR!) code"
    r"|Command failed with status) \(?12[67]\b"
)
"""Line by which programs that start others report exit code 126 or 127: theirs is another one."""
WITHOUT_IGNORED = "Tests run in a clean worktree, which has no ignored files such as .venv. "
LAST_LINES = 10
"""Lines at the end of output in which such a report is looked for."""
LIMIT_SETTINGS = {"of memory": "sandbox_memory_mb", "processes": "sandbox_processes"}
"""The user's settings for limits of the sandbox, by the end of their description."""


def run_problem(
    recording: Recording, execution: Execution, *, runner: str, wall_seconds: float
) -> RunProblem | None:
    """Return why the results of a test command cannot be used, None if they can."""
    if execution.timed_out:
        position = f", in {recording.running_tests[0]}" if recording.running_tests else ""
        text = (
            f"The tests did not end within {wall_seconds:g} s; "
            f"the limit came after {recording.progress}{position}."
        )
        return RunProblem(kind="timeout", text=text)
    if execution.exceeded:
        return RunProblem(
            kind="stopped",
            text=f"The sandbox ended the test run, which took {execution.exceeded}, "
            f"after {recording.progress}.{_limit_remedy(execution.exceeded)}",
        )
    if execution.exit_code is None:
        return RunProblem(kind="stopped", text="The test run was stopped.")
    if not recording.began:
        is_recorded = runner in RECORDED
        return _session_problem(execution, runner) if is_recorded else _start_problem(execution)
    return _incomplete_run_problem(recording, execution, runner)


def wrong_code_problem(
    loaded: Mapping[str, Sequence[str]], watched: Mapping[str, str], tree: Path
) -> RunProblem | None:
    """Return a problem if a changed module was imported from outside of the tree.

    `watched` maps module names to their paths in the tree.
    """
    root = tree.resolve()
    for name, files in loaded.items():
        for file in files:
            if not Path(file).resolve().is_relative_to(root):
                text = (
                    f"The tests imported {name} from {file} instead of {root / watched[name]}: "
                    "what they say is not about the change. "
                    "Something (an editable install, a conftest.py, a loader) puts its copy first; "
                    "give a test command that does not."
                )
                return RunProblem(kind="wrong_code", text=text)
    return None


def _limit_remedy(exceeded: str) -> str:
    setting = next((name for word, name in LIMIT_SETTINGS.items() if exceeded.endswith(word)), "")
    return f" Your setting `{setting}` raises that limit." if setting else ""


def _start_problem(execution: Execution) -> RunProblem | None:
    """Return a problem if the program, its subcommand or script is missing or not executable."""
    is_unknown = execution.exit_code != 0 and START_FAILURE.match(execution.output.lstrip())
    tail = "\n".join(execution.output.rstrip().splitlines()[-LAST_LINES:])
    is_missing = execution.exit_code != 0 and MISSING_PROGRAM.search(tail)
    if execution.exit_code not in (126, 127) and not (is_unknown or is_missing):
        return None
    words = " ".join(execution.output.split())
    excerpt = words[:200] if is_unknown else words[-200:]
    text = (
        f"The test command could not be started (exit code {execution.exit_code}): {excerpt} "
        f"{WITHOUT_IGNORED if is_missing else ''}Mend it, or give another with --test."
    )
    return RunProblem(kind="usage", text=text)


def _session_problem(execution: Execution, runner: str) -> RunProblem:
    error_line = find_error_line(execution.output)
    if runner == "pytest" and "No module named pytest" in execution.output:
        return RunProblem(
            kind="no_runner", text=f"pytest is not installed in the project's interpreter: {error_line}"
        )
    if runner == "pytest" and execution.exit_code in (INTERNAL_ERROR, USAGE_ERROR):
        return RunProblem(kind="usage", text=f"pytest refused to run: {error_line}")
    return RunProblem(
        kind="no_report",
        text=f"The test command ended with exit code {execution.exit_code} before {runner} began: "
        f"{error_line}",
    )


def _incomplete_run_problem(recording: Recording, execution: Execution, runner: str) -> RunProblem | None:
    if not recording.finished:
        position = f" while {recording.running_tests[0]} was running" if recording.running_tests else ""
        return RunProblem(
            kind="crash",
            text=f"The test process ended with exit code {execution.exit_code}{position}, "
            f"after {recording.progress}.",
        )
    if runner == "pytest" and recording.exit_status in (INTERNAL_ERROR, USAGE_ERROR):
        what = "failed inside" if recording.exit_status == INTERNAL_ERROR else "refused to run"
        return RunProblem(kind="usage", text=f"pytest {what}: {find_error_line(execution.output)}")
    if recording.has_ended_early:
        return RunProblem(
            kind="crash",
            text=(
                f"{runner} ended before its end, after {recording.progress}: "
                f"{find_error_line(execution.output)}"
            ),
        )
    if recording.results or recording.listed:
        return None
    if runner != "pytest" and recording.exit_status not in (0, NO_TESTS):
        return RunProblem(
            kind="usage",
            text=f"The test command ended with exit code {recording.exit_status} before any test ran: "
            f"{find_error_line(execution.output)}",
        )
    return RunProblem(
        kind="no_tests", text="No test was found. Name a test command with --test, or add a test."
    )


def find_error_line(output: str) -> str:
    """Return the line of output in which pytest or Python reports the error."""
    lines = [line.strip() for line in output.splitlines() if line.strip(" =")]
    for mark in (
        r": error: ",
        r"^E  ",
        r"^ERROR: ",
        r"^INTERNALERROR> \w*(Error|Exception)",
        r"Error: ",
        r"^! ",
        r"Exit:",
    ):
        if error_line := next((line for line in lines if re.search(mark, line)), None):
            return error_line[:400]
    return lines[-1][:400] if lines else "it printed nothing"
