"""Records of a test run, read while it is written and afterwards."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coder.core.verdict import BodyExecution, Failure, Frame, Outcome, TestResult


class Recording:
    """State of one run, updated from single records or from a file of them."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._position = 0
        self._results: dict[str, TestResult] = {}
        self._open: dict[str, None] = {}
        self._starts = 0
        self.collected: int | None = None
        """Number of tests selected to run; None if collection did not end."""
        self.listed: list[str] = []
        """Ids of tests that were collected and are not run."""
        self.began = False
        """Whether a pytest session started with the plugin loaded."""
        self.finished = False
        self.stopped = False
        """Whether the session ended as requested, before all selected tests had run."""
        self.exit_status: int | None = None
        self.loaded: dict[str, list[str]] = {}
        """Watched module -> the files it was imported from."""
        self.reached: tuple[str, ...] = ()

    def read(self) -> None:
        """Process the new complete lines of the file."""
        if (
            self._file is None or not self._file.is_file() or self._file.is_symlink()
        ):  # a pipe would block, a link could point anywhere
            return
        with self._file.open("rb") as file:
            file.seek(self._position)
            complete, newline, _ = file.read().rpartition(b"\n")
        self._position += len(complete) + len(newline)
        for line in complete.splitlines():
            self.add(json.loads(line))

    @property
    def results(self) -> tuple[TestResult, ...]:
        """Results in the order in which the tests first reported."""
        return tuple(self._results.values())

    @property
    def running_tests(self) -> tuple[str, ...]:
        """Tests that have begun and not ended."""
        return tuple(self._open)

    @property
    def has_ended_early(self) -> bool:
        """Whether the session ended by itself before all selected tests had run."""
        return (
            self.finished
            and not self.stopped
            and self.collected is not None
            and max(self._starts, len(self._results)) < self.collected
        )

    @property
    def progress(self) -> str:
        """Progress in words, such as `37 of 120 tests, 2 red`."""
        if self.collected is None:
            return "collecting tests"
        red = sum(result.red for result in self._results.values())
        ran = sum(result.when != "collect" for result in self._results.values())
        return f"{ran} of {self.collected} tests" + (f", {red} red" if red else "")

    def add(self, line: Mapping[str, Any]) -> None:
        """Process one record."""
        match line["kind"]:
            case "session":
                self.began, self.finished = True, False
            case "collected":
                self.collected = max(self.collected or 0, line["count"])
            case "listed":
                self.listed.append(line["id"])
            case "start":
                self._starts += 1
                self._open[line["id"]] = None
            case "passed":
                self._open.pop(line["id"], None)
                self._take_phase({**line, "when": "call", "outcome": "passed", "xfail": False})
            case "phase":
                self._take_phase(line)
            case "finish":
                self.finished = True
                self.exit_status = line["exit"]
                self.stopped = line["stopped"]
                self.loaded = line["loaded"]
                self.reached = tuple(line.get("reached", ()))

    def _take_phase(self, line: Mapping[str, Any]) -> None:
        if line["when"] not in ("setup", "call"):
            self._open.pop(line["id"], None)
        if (outcome := phase_outcome(line)) is None:
            return
        result = TestResult(
            id=line["id"],
            outcome=outcome,
            when=line["when"],
            seconds=line["seconds"],
            failure=parse_failure_record(line["failure"]) if outcome in ("failed", "error") else None,
            body=parse_body(line.get("body")),
        )
        earlier = self._results.get(result.id)
        self._results[result.id] = result if earlier is None else merge_results(earlier, result)


def phase_outcome(line: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome of a test that one phase determines, None if it determines none.

    None also if the test will run again.
    """
    match line["outcome"], line["when"]:
        case "passed", "setup" | "teardown":
            return None
        case "passed", _:
            return "xpassed" if line["xfail"] else "passed"
        case "skipped", _:
            return "xfailed" if line["xfail"] else "skipped"
        case "failed", "call":
            return "failed"
        case "failed" | "error", _:
            return "error"
        case _:
            return None


def merge_results(first: TestResult, second: TestResult) -> TestResult:
    """Merge two results of one test: phases, subtests or repetitions.

    Red wins, and the first red result is kept.
    """
    decisive = second if second.red and not first.red else first
    return decisive.model_copy(
        update={"seconds": first.seconds + second.seconds, "body": second.body or first.body}
    )


def parse_body(record: dict[str, Any] | None) -> BodyExecution | None:
    """Convert a recorded test body."""
    return BodyExecution(**{**record, "lines": tuple(record["lines"])}) if record else None


def parse_failure_record(record: dict[str, Any]) -> Failure:
    """Convert a recorded failure."""
    frames = tuple(
        Frame(path=path, line=line, function=function) for path, line, function in record["frames"]
    )
    return Failure(
        type=record["type"],
        message=record["message"],
        frames=frames,
        text=record["text"],
        os_error=record.get("os_error"),
    )
