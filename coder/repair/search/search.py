"""Tries candidates in their order until there are enough survivors, then confirms these in processes of their own."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from coder.core.ports.repair import Edit, Trials
from coder.core.ports.sandbox import Progress
from coder.core.ports.tests import TestRunner
from coder.core.values.paths import meant
from coder.repair.candidates import Candidate

ENOUGH = 16
"""Survivors after which no more candidates are tried."""
ENOUGH_ALONE = 4
"""And where each takes a process of its own."""
FURTHER = 600
"""Candidates that are tried after the first survivor: the next best may be the right one."""
RIVAL = 0.2
"""What scores less than this part of the first survivor's score would not outweigh it."""
TELLING_SECONDS = 0.5


@dataclass
class Search:
    """What has been tried so far."""

    survivors: list[Candidate] = field(default_factory=list)
    cold: list[Candidate] = field(default_factory=list)
    """Those that only a process of their own can tell about."""
    late: list[Candidate] = field(default_factory=list)
    """Those with which a test that must turn green was stopped: where it had failed at once, it may pass slowly."""
    red: dict[str, list[Candidate]] = field(default_factory=dict)
    """By the first of the failing tests that they leave red, in the order of the search."""
    tried: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Search") -> "Search":
        """Both searches, this one's survivors first."""
        both = {name: [*getattr(self, name), *getattr(other, name)] for name in ("survivors", "cold", "late")}
        red = {
            test: [*self.red.get(test, ()), *other.red.get(test, ())] for test in {**self.red, **other.red}
        }
        return Search(**both, red=red, tried=self.tried + other.tried, seconds=self.seconds + other.seconds)

    @property
    def rate(self) -> float:
        """Candidates a second."""
        return self.tried / self.seconds if self.seconds > 0.1 else 0.0

    @property
    def line(self) -> str:
        best = f", best: {self.survivors[0].edit.summary}" if self.survivors else ""
        rate = f", {self.rate:.0f} a second" if self.rate else ""
        return f"tried {self.tried:,} candidates{rate}, {len(self.survivors)} of them hold{best}"


def search(
    trials: Trials,
    tree: Path,
    tests: Sequence[str],
    ranked: Sequence[Candidate],
    *,
    seconds: float,
    progress: Progress | None,
    satisfied: float = 1.0,
    patient: bool = False,
) -> Search:
    """Try candidates in their order; after the `satisfied` part of the time a survivor is enough; `patient` as the trials understand it."""
    found = Search()
    began = started = told = time.monotonic()
    first, least = 0, 0.0
    results = trials.try_out(
        tree, tests, [candidate.edit for candidate in ranked], seconds=seconds, patient=patient
    )
    with closing(results):
        for candidate, tried in zip(ranked, results, strict=False):
            if found.tried == 0:
                started = time.monotonic()
            found.tried += 1
            found.seconds = time.monotonic() - started
            if tried.outcome == "passed":
                first, least = first or found.tried, least or RIVAL * candidate.score
                found.survivors.append(candidate)
            elif tried.outcome == "cold":
                found.cold.append(candidate)
            elif tried.test in tests:
                kept = found.late if tried.outcome == "timeout" else found.red.setdefault(tried.test, [])
                kept.append(candidate)
            if progress is not None and time.monotonic() - told > TELLING_SECONDS:
                told = time.monotonic()
                progress(found.line)
            if (
                len(found.survivors) == ENOUGH
                or (first and found.tried >= first + FURTHER)
                or candidate.score < least
            ):
                break
            if found.survivors and time.monotonic() - began > satisfied * seconds:
                break
    return found


def search_alone(
    runner: TestRunner,
    tree: Path,
    tests: Sequence[str],
    ranked: Sequence[Candidate],
    *,
    seconds: float,
    progress: Progress | None,
) -> Search:
    """Try candidates in their order, each in a process of its own: where tests cannot be collected no fork can tell about an edit."""
    found = Search()
    started = time.monotonic()
    for candidate in ranked:
        left = seconds - found.seconds
        likely = not found.survivors or candidate.score >= RIVAL * found.survivors[0].score
        if left <= 0 or len(found.survivors) == ENOUGH_ALONE or not likely:
            break
        if confirmed(runner, tree, candidate.edit, tests, targets=tests, seconds=left):
            found.survivors.append(candidate)
        found.tried += 1
        found.seconds = time.monotonic() - started
        if progress is not None:
            progress(found.line)
    return found


def confirmed(
    runner: TestRunner,
    tree: Path,
    edit: Edit,
    tests: Sequence[str],
    *,
    targets: Sequence[str],
    seconds: float,
    seen: bool = False,
) -> bool:
    """Are the tests that must turn green, and others, not red in a process of their own that reads the edit from the disk?

    What has been `seen` to hold in a fork is not refuted by a run that time has ended: whoever judges the change runs all again.
    """
    with written(tree, edit):
        report = runner.run(tree, tests, timeout_seconds=seconds, expect_loaded=[edit.path])
    if any(result.red for result in report.results):
        return False
    if report.problem is not None:
        return seen and report.problem.kind == "timeout"
    green = [result.id for result in report.results if result.green]
    return all(any(map(meant([target]), green)) for target in targets)


@contextmanager
def written(tree: Path, edit: Edit) -> Iterator[None]:
    """The edit applied to the tree, taken back on exit."""
    file = tree / edit.path
    before = file.read_bytes()
    try:
        file.write_bytes(edit.apply(before.decode()).encode())
        yield
    finally:
        file.write_bytes(before)
