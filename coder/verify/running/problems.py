"""Says why a run says nothing about the code, and what to do about it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from coder.core.ports.sandbox import Execution
from coder.core.values.verdict import Problem
from coder.verify.running.recording import Recording

INTERNAL_ERROR = 3
USAGE_ERROR = 4


def problem_of(
    recording: Recording, done: Execution, *, is_pytest: bool, wall_seconds: float
) -> Problem | None:
    """Judge how a test command ended; None where its results can be used."""
    if done.timed_out:
        at = f", in {recording.running[0]}" if recording.running else ""
        text = (
            f"The tests did not end within {wall_seconds:g} s; the limit came after {recording.progress}{at}."
        )
        return Problem(kind="timeout", text=text)
    if done.exceeded:
        return Problem(
            kind="stopped",
            text=f"The sandbox ended the test run, which took {done.exceeded}, after {recording.progress}.",
        )
    if done.exit_code is None:
        return Problem(kind="stopped", text="The test run was stopped.")
    if not recording.began:
        return _never_began(done) if is_pytest else _not_started(done)
    return _after_session(recording, done)


def wrong_code(loaded: Mapping[str, Sequence[str]], watched: Mapping[str, str], tree: Path) -> Problem | None:
    """Was a changed module imported from anywhere but the tree? `watched`: module name -> its path in the tree."""
    inside = tree.resolve()
    for name, files in loaded.items():
        for file in files:
            if not Path(file).resolve().is_relative_to(inside):
                text = (
                    f"The tests imported {name} from {file} instead of {inside / watched[name]}: what they say is not about the change. "
                    "Something (an editable install, a conftest.py, a loader) puts its copy first; give a test command that does not."
                )
                return Problem(kind="wrong_code", text=text)
    return None


def _not_started(done: Execution) -> Problem | None:
    """A shell's way to say that there is no such program, or none that may be run."""
    if done.exit_code not in (126, 127):
        return None
    told = " ".join(done.output.split())[-200:]
    text = f"The test command could not be started (exit code {done.exit_code}): {told} Mend it, or give another with --test."
    return Problem(kind="usage", text=text)


def _never_began(done: Execution) -> Problem:
    said = telling_line(done.output)
    if "No module named pytest" in done.output:
        return Problem(kind="no_runner", text=f"pytest is not installed in the project's interpreter: {said}")
    if done.exit_code in (INTERNAL_ERROR, USAGE_ERROR):
        return Problem(kind="usage", text=f"pytest refused to run: {said}")
    return Problem(
        kind="no_report",
        text=f"The test command ended with exit code {done.exit_code} before pytest began: {said}",
    )


def _after_session(recording: Recording, done: Execution) -> Problem | None:
    if not recording.finished:
        at = f" while {recording.running[0]} was running" if recording.running else ""
        return Problem(
            kind="crash",
            text=f"The test process ended with exit code {done.exit_code}{at}, after {recording.progress}.",
        )
    if recording.exit_status in (INTERNAL_ERROR, USAGE_ERROR):
        what = "failed inside" if recording.exit_status == INTERNAL_ERROR else "refused to run"
        return Problem(kind="usage", text=f"pytest {what}: {telling_line(done.output)}")
    if recording.ended_early:
        return Problem(
            kind="crash",
            text=f"pytest ended before its end, after {recording.progress}: {telling_line(done.output)}",
        )
    if not recording.results:
        return Problem(
            kind="no_tests", text="No test was found. Name a test command with --test, or add a test."
        )
    return None


def telling_line(output: str) -> str:
    """The line in which pytest, or python, says what is wrong."""
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
        if told := next((line for line in lines if re.search(mark, line)), None):
            return told[:400]
    return lines[-1][:400] if lines else "it printed nothing"
