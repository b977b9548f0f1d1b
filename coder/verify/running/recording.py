"""Takes in what the recorder in a test process wrote, while it is written and afterwards."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coder.core.values.verdict import Body, Failure, Frame, Outcome, TestResult


class Recording:
    """One run as far as it has got: its records come one by one, or lie in a file."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._position = 0
        self._results: dict[str, TestResult] = {}
        self._open: dict[str, None] = {}
        self._starts = 0
        self.collected: int | None = None
        """Tests chosen to run; None: collection did not end."""
        self.began = False
        """Did a pytest session start with the plugin in it?"""
        self.finished = False
        self.stopped = False
        """Did the session end as it was asked to, before all chosen tests had run?"""
        self.exit_status: int | None = None
        self.loaded: dict[str, list[str]] = {}
        """Watched module -> the files it was imported from."""
        self.reached: tuple[str, ...] = ()

    def read(self) -> None:
        """Take in the lines of the file that are complete by now."""
        if (
            self._file is None or not self._file.is_file() or self._file.is_symlink()
        ):  # a pipe would be waited for, a link lead elsewhere
            return
        with self._file.open("rb") as file:
            file.seek(self._position)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._position += len(whole) + len(newline)
        for line in whole.splitlines():
            self.take(json.loads(line))

    @property
    def results(self) -> tuple[TestResult, ...]:
        """In the order in which the tests first reported."""
        return tuple(self._results.values())

    @property
    def running(self) -> tuple[str, ...]:
        """Tests that have begun and not ended."""
        return tuple(self._open)

    @property
    def ended_early(self) -> bool:
        """Did the session end by itself before all chosen tests had run?"""
        return (
            self.finished
            and not self.stopped
            and self.collected is not None
            and max(self._starts, len(self._results)) < self.collected
        )

    @property
    def progress(self) -> str:
        """Such as `37 of 120 tests, 2 red`."""
        if self.collected is None:
            return "collecting tests"
        red = sum(result.red for result in self._results.values())
        ran = sum(result.when != "collect" for result in self._results.values())
        return f"{ran} of {self.collected} tests" + (f", {red} red" if red else "")

    def take(self, line: Mapping[str, Any]) -> None:
        """Take in one record."""
        match line["kind"]:
            case "session":
                self.began, self.finished = True, False
            case "collected":
                self.collected = max(self.collected or 0, line["count"])
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
        if (outcome := outcome_of(line)) is None:
            return
        result = TestResult(
            id=line["id"],
            outcome=outcome,
            when=line["when"],
            seconds=line["seconds"],
            failure=failure_of(line["failure"]) if outcome in ("failed", "error") else None,
            body=body_of(line.get("body")),
        )
        known = self._results.get(result.id)
        self._results[result.id] = result if known is None else merged(known, result)


def outcome_of(line: Mapping[str, Any]) -> Outcome | None:
    """What one phase says about its test; None: nothing yet, or it will be run again."""
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


def merged(first: TestResult, then: TestResult) -> TestResult:
    """Red wins, and the first red tells why: a test's phases, subtests and repetitions are one test."""
    kept = then if then.red and not first.red else first
    return kept.model_copy(update={"seconds": first.seconds + then.seconds, "body": then.body or first.body})


def body_of(described: dict[str, Any] | None) -> Body | None:
    return Body(**{**described, "lines": tuple(described["lines"])}) if described else None


def failure_of(described: dict[str, Any]) -> Failure:
    frames = tuple(
        Frame(path=path, line=line, function=function) for path, line, function in described["frames"]
    )
    return Failure(
        type=described["type"], message=described["message"], frames=frames, text=described["text"]
    )
