"""Records of a test process over a sealed pipe, and the problems of a run."""

import json
import os
import re
import secrets
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from coder.core.ports import Execution
from coder.core.verdict import BodyExecution, Failure, Frame, LinesRun, Outcome, RunProblem, TestResult
from coder.files.regular_files import is_within
from coder.verify.project import RECORDED
from coder.verify.results import NEVER_ENDING


class Recording:
    """State of one run, updated from single records."""

    def __init__(self) -> None:
        self._results: dict[str, TestResult] = {}
        self._open: dict[str, None] = {}
        self._arrived: dict[str, float] = {}
        """When each result came, by the monotonic clock."""
        self._starts = 0
        self.collected: int | None = None
        """Number of tests selected to run; None if collection did not end."""
        self._is_collected = self._has_ended = False
        self.listed: list[str] = []
        """Ids of tests that were collected and are not run."""
        self.began = False
        """Whether a pytest session started with the plugin loaded."""
        self.finished = False
        self.exit_status: int | None = None
        self.loaded: dict[str, list[str]] = {}
        """Watched module -> the files it was imported from."""
        self.reached: tuple[str, ...] = ()
        self.lines: LinesRun | None = None
        """Changed lines of functions, by path, and those of them that did not run; None if unknown."""

    @property
    def results(self) -> tuple[TestResult, ...]:
        return tuple(self._results.values())

    def drop_failures_since(self, moment: float) -> None:
        """Forget failures that came since the process was killed, and with it those that it waited for."""
        for test in [test for test, result in self._results.items() if result.red]:
            if self._arrived[test] >= moment:
                del self._results[test]

    @property
    def running_tests(self) -> tuple[str, ...]:
        """Tests that have begun and not ended."""
        return tuple(self._open)

    def end_running(self, began: float) -> Iterator[TestResult]:
        """Yield a red result for each test that runs now: the run began at this moment and is cut."""
        seconds = time.monotonic() - max(self._arrived.values(), default=began)
        text = f"the test did not end within {seconds:.0f} s"
        failure = Failure(type=NEVER_ENDING, message=text, text=text)
        for test in self.running_tests:
            yield TestResult(id=test, outcome="failed", seconds=seconds, failure=failure)

    @property
    def has_ended_early(self) -> bool:
        """Whether the session ended by itself before all selected tests had run."""
        return (
            self.finished
            and self.collected is not None
            and max(self._starts, len(self._results)) < self.collected
        )

    @property
    def has_all_results(self) -> bool:
        """Whether all selected tests have ended, whatever the session does after them."""
        ran = sum(result.when != "collect" for result in self.results)
        return self._is_collected and self._has_ended and ran >= (self.collected or 1)

    @property
    def progress(self) -> str:
        """Progress in words, such as `37 of 120 tests, 2 red`."""
        results = [*self._results.values()]  # another thread adds to them
        red = sum(result.red for result in results)
        ran = sum(result.when != "collect" for result in results)
        doing = f"{ran} of {self.collected} tests" if self.collected else "collecting tests"
        return doing + (f", {red} red" if red else "")

    def add(self, line: Mapping[str, Any]) -> None:
        match line["kind"]:
            case "session":
                self.began, self.finished = True, False
            case "collected":
                self.collected = max(self.collected or 0, line["count"])
                self._is_collected = line.get("all", False)
            case "listed":
                self.listed.append(line["id"])
            case "start":
                self._starts += 1
                self._open[line["id"]] = None
            case "phase":
                self._take_phase(line)
            case "ended" | "finish":
                self._has_ended = True
                self.finished = line["kind"] == "finish"
                self.exit_status = line.get("exit")
                self.loaded = line["loaded"]
                self.reached = tuple(line.get("reached", ()))
                lines: Mapping[str, Sequence[Sequence[int]]] | None = line.get("lines")
                if lines is not None:
                    self.lines = {path: (tuple(all_), tuple(left)) for path, (all_, left) in lines.items()}

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
            failure=parse_failure(line["failure"]) if outcome in ("failed", "error") else None,
            body=BodyExecution(**line["body"]) if line.get("body") else None,
        )
        self._arrived[result.id] = time.monotonic()
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


def parse_failure(record: Mapping[str, Any]) -> Failure:
    frames = [Frame(path=path, line=line, function=function) for path, line, function in record["frames"]]
    return Failure(**{**record, "frames": tuple(frames)})


LARGEST_BYTES = 16 << 20
"""Limit for one record, in bytes; a longer line is invalid."""
GLANCE_SECONDS = 0.2


class RecordPipe:
    """Reading end of the pipe.

    A pipe cannot be rewritten, and a record without a valid seal of this run's key did not come from our
    recorder.
    """

    def __init__(self, path: Path, on_record: Callable[[Mapping[str, Any]], None]) -> None:
        """Create the pipe; `on_record` receives each record in a separate thread until the pipe is closed."""
        os.mkfifo(path, 0o600)
        self.path = path
        self.key = secrets.token_hex(16)
        self.forged_lines = 0
        """Number of lines that our recorder did not write."""
        self._take = on_record
        self._count = 0
        self._partial_line = b""
        # Opened for writing too, so that it never reports its end: a test may close the writer's descriptors.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read_continuously, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Read the remaining records: the writing process has ended."""
        self._stopped.set()
        self._thread.join()
        self._drain()
        self.forged_lines += bool(self._partial_line)
        os.close(self._descriptor)

    def _read_continuously(self) -> None:
        while not self._stopped.is_set():
            if select.select([self._descriptor], [], [], GLANCE_SECONDS)[0]:
                self._drain()

    def _drain(self) -> None:
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return
            *lines, self._partial_line = (self._partial_line + data).split(b"\n")
            if len(self._partial_line) > LARGEST_BYTES:
                self._partial_line, lines = b"", [b"", *lines]
            for line in lines:
                self._verify(line)

    def _verify(self, line: bytes) -> None:
        seal, _, numbered = line.partition(b" ")
        number, _, record = numbered.partition(b" ")
        expected = blake2b(numbered, key=bytes.fromhex(self.key), digest_size=16).hexdigest().encode("ascii")
        if not compare_digest(seal, expected) or number != b"%d" % (self._count + 1):
            self.forged_lines += 1
            return
        self._count += 1
        self._take(json.loads(record))


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
        if recording.has_all_results:
            return None  # it was cut in what follows the tests, such as a report of their coverage
        position = f", in {recording.running_tests[0]}" if recording.running_tests else ""
        text = f"The tests did not end within {wall_seconds:g} s; the limit came after "
        return RunProblem(kind="timeout", text=f"{text}{recording.progress}{position}.")
    if execution.exceeded:
        text = f"The sandbox ended the test run, which took {execution.exceeded}, after {recording.progress}."
        return RunProblem(kind="stopped", text=f"{text}{_limit_remedy(execution.exceeded)}")
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
            if not is_within(file, root):
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
        text = f"pytest is not installed in the project's interpreter: {error_line}"
        return RunProblem(kind="no_runner", text=text)
    if runner == "pytest" and execution.exit_code in (INTERNAL_ERROR, USAGE_ERROR):
        return RunProblem(kind="usage", text=f"pytest refused to run: {error_line}")
    text = f"The test command ended with exit code {execution.exit_code} before {runner} began: {error_line}"
    return RunProblem(kind="no_report", text=text)


def _incomplete_run_problem(recording: Recording, execution: Execution, runner: str) -> RunProblem | None:
    code, status = execution.exit_code, recording.exit_status
    if not recording.finished:
        position = f" while {recording.running_tests[0]} was running" if recording.running_tests else ""
        text = f"The test process ended with exit code {code}{position}, after {recording.progress}."
        return RunProblem(kind="crash", text=text)
    error_line = find_error_line(execution.output)
    if runner == "pytest" and status in (INTERNAL_ERROR, USAGE_ERROR):
        what = "failed inside" if status == INTERNAL_ERROR else "refused to run"
        return RunProblem(kind="usage", text=f"pytest {what}: {error_line}")
    if recording.has_ended_early:
        text = f"{runner} ended before its end, after {recording.progress}: {error_line}"
        return RunProblem(kind="crash", text=text)
    if recording.results or recording.listed:
        return None
    if runner != "pytest" and status not in (0, NO_TESTS):
        text = f"The test command ended with exit code {status} before any test ran: {error_line}"
        return RunProblem(kind="usage", text=text)
    return RunProblem(
        kind="no_tests", text="No test was found. Name a test command with --test, or add a test."
    )


def find_error_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip(" =")]
    for mark in (
        *(r": error: ", r"^E  ", r"^ERROR: ", r"^INTERNALERROR> \w*(Error|Exception)", r"Error: ", r"^! "),
        r"Exit:",
    ):
        if error_line := next((line for line in lines if re.search(mark, line)), None):
            return error_line.removeprefix("E ").lstrip()[:400]
    return lines[-1][:400] if lines else "it printed nothing"
