"""Search over candidates in order until enough survive, and confirmation in fresh processes."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from coder.core.paths import match_test_ids
from coder.core.ports import Edit, Progress, TestRunner, Trials
from coder.python.source import decode_source
from coder.repair.candidates import RepairCandidate

MAX_SURVIVORS = 16
"""Number of survivors after which the search stops."""
MAX_SURVIVORS_IN_FRESH_PROCESSES = 4
"""The same if each candidate needs a process of its own."""
MAX_TRIED_AFTER_SURVIVOR = 600
"""Number of candidates to try after the first survivor: a later one may be the right one."""
MIN_RIVAL_SHARE = 0.2
"""Share of the first survivor's score below which a candidate could not outweigh it."""
PROGRESS_INTERVAL_SECONDS = 0.5


@dataclass
class SearchState:
    """The state of a search."""

    survivors: list[RepairCandidate] = field(default_factory=list)
    cold: list[RepairCandidate] = field(default_factory=list)
    """Candidates that only a fresh process can judge."""
    late: list[RepairCandidate] = field(default_factory=list)
    """Candidates with which a target test timed out: a test that failed at once before may pass slowly."""
    failed_by_test: dict[str, list[RepairCandidate]] = field(default_factory=dict)
    """Candidates by the first failing test that they leave red, in search order."""
    tried: int = 0
    seconds: float = 0.0

    def __add__(self, other: "SearchState") -> "SearchState":
        """Combine two searches, this one's survivors first."""
        both = {name: [*getattr(self, name), *getattr(other, name)] for name in ("survivors", "cold", "late")}
        red = {
            test: [*self.failed_by_test.get(test, ()), *other.failed_by_test.get(test, ())]
            for test in {**self.failed_by_test, **other.failed_by_test}
        }
        return SearchState(
            **both, failed_by_test=red, tried=self.tried + other.tried, seconds=self.seconds + other.seconds
        )

    @property
    def progress_line(self) -> str:
        """The progress in one line: `4 of 618 candidates pass; best: use `<=` in merge`."""
        best = ""
        if self.survivors:
            name = self.survivors[0].place.partition("::")[2]
            edit = self.survivors[0].edit.summary.removeprefix(f"{name}: ")
            best = f"; best: {edit}{f' in {name}' if name else ''}"
        passing = "passes" if len(self.survivors) == 1 else "pass"
        return f"{len(self.survivors) or 'none'} of {self.tried:,} candidates {passing}{best}"


def search_candidates(
    trials: Trials,
    tree: Path,
    tests: Sequence[str],
    ranked: Sequence[RepairCandidate],
    *,
    seconds: float,
    progress: Progress | None,
    single_survivor_share: float = 1.0,
    patient: bool = False,
) -> SearchState:
    """Try candidates in order until enough survive.

    After the share `satisfied` of the time one survivor is enough; `patient` is passed to the trials.
    """
    state = SearchState()
    search_start = started = last_report = time.monotonic()
    first, least = 0, 0.0
    results = trials.try_out(
        tree, tests, [candidate.edit for candidate in ranked], seconds=seconds, patient=patient
    )
    with closing(results):
        for candidate, tried in zip(ranked, results, strict=False):
            if state.tried == 0:
                started = time.monotonic()
            state.tried += 1
            state.seconds = time.monotonic() - started
            if tried.outcome == "passed":
                first, least = first or state.tried, least or MIN_RIVAL_SHARE * candidate.score
                state.survivors.append(candidate)
            elif tried.outcome == "cold":
                state.cold.append(candidate)
            elif tried.test in tests:
                bucket = (
                    state.late
                    if tried.outcome == "timeout"
                    else state.failed_by_test.setdefault(tried.test, [])
                )
                bucket.append(candidate)
            if progress is not None and time.monotonic() - last_report > PROGRESS_INTERVAL_SECONDS:
                last_report = time.monotonic()
                progress(state.progress_line)
            if (
                len(state.survivors) == MAX_SURVIVORS
                or (first and state.tried >= first + MAX_TRIED_AFTER_SURVIVOR)
                or candidate.score < least
            ):
                break
            if state.survivors and time.monotonic() - search_start > single_survivor_share * seconds:
                break
    return state


def search_in_fresh_processes(
    runner: TestRunner,
    tree: Path,
    tests: Sequence[str],
    ranked: Sequence[RepairCandidate],
    *,
    seconds: float,
    progress: Progress | None,
) -> SearchState:
    """Try candidates in order, each in a fresh process: needed if tests cannot be collected."""
    state = SearchState()
    started = time.monotonic()
    for candidate in ranked:
        seconds_left = seconds - state.seconds
        is_rival = not state.survivors or candidate.score >= MIN_RIVAL_SHARE * state.survivors[0].score
        if seconds_left <= 0 or len(state.survivors) == MAX_SURVIVORS_IN_FRESH_PROCESSES or not is_rival:
            break
        if passes_in_fresh_process(runner, tree, candidate.edit, tests, targets=tests, seconds=seconds_left):
            state.survivors.append(candidate)
        state.tried += 1
        state.seconds = time.monotonic() - started
        if progress is not None:
            progress(state.progress_line)
    return state


def passes_in_fresh_process(
    runner: TestRunner,
    tree: Path,
    edit: Edit,
    tests: Sequence[str],
    *,
    targets: Sequence[str],
    seconds: float,
    passed_in_fork: bool = False,
) -> bool:
    """Tell whether the targets pass, and no test fails, in a fresh process with the edit on disk.

    If the edit was `seen` to pass in a fork, a timeout does not refute it: the final verification runs
    everything again.
    """
    with apply_temporarily(tree, edit):
        report = runner.run(tree, tests, timeout_seconds=seconds, expect_loaded=[edit.path])
    if any(result.red for result in report.results):
        return False
    if report.problem is not None:
        return passed_in_fork and report.problem.kind == "timeout"
    green = [result.id for result in report.results if result.green]
    return all(any(map(match_test_ids([target]), green)) for target in targets)


@contextmanager
def apply_temporarily(tree: Path, edit: Edit) -> Iterator[None]:
    """Apply the edit to the tree, and restore the file on exit."""
    file = tree / edit.path
    before = file.read_bytes()
    try:
        text, encoding = decode_source(before)
        file.write_bytes(edit.apply(text).encode(encoding))
        yield
    finally:
        file.write_bytes(before)
