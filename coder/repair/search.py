"""Search over candidates in order until enough survive, and confirmation in fresh processes."""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise, product
from pathlib import Path

from coder.core.paths import match_test_ids
from coder.core.ports import CallComparison, Edit, Progress, TestRunner, TrialResult, Trials
from coder.python.source import decode_source
from coder.repair.candidates import RepairCandidate, rank_candidates
from coder.repair.clusters import (
    BehaviorCluster,
    cluster_by_behavior,
    is_decisive,
    is_degenerate,
    is_uninformative_answer,
    return_types_by_function,
)
from coder.repair.credibility import find_equivalent_deletions, penalize_disguised_deletions
from coder.repair.fault import FaultCase

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
        if self.tried == 1:
            return f"the candidate {'passes' if self.survivors else 'fails'}{best}"
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


# Selection among survivors: confirm them, compare their behaviour, and propose one or abstain.

MAX_CONFIRMED_CLUSTERS = 3
MAX_COLD_RUNS = 8
"""Number of candidates that no fork can judge to run in a fresh process, if no survivor is confirmed."""
MAX_CONFIRMATIONS = 4
"""Number of members of an opinion to try in a fresh process until one passes."""
MIN_COMPARISON_SECONDS = 6.0
"""Seconds that must be left to compare survivors."""
MIN_CREDIBILITY, MIN_WEIGHT, MIN_INDISTINGUISHABLE_WEIGHT = 0.3, 0.1, 0.35
"""Minimum credibility and weight of what is proposed rather than shown: the more candidates are tried, the
more pass by chance. The third is the minimum weight if no call distinguishes the edit from the unchanged
code."""
MIN_CONFIRMATION_SECONDS = 5.0
HARDLY_CREDIBLE = "what passes has little in its favor"
FLATTENED = "what holds no longer tells apart what it told apart before"
UNGUARDED_FACTOR, FULL_GUARD_COUNT = 0.7, 4
"""Factor of an edit whose function no passing test executes, and the number of guards that counts in full."""


@dataclass(frozen=True)
class SelectionResult:
    confirmed_clusters: tuple[BehaviorCluster, ...] = ()
    """Opinions that pass in a fresh process with all tests that execute the place, heaviest first."""
    comparison: CallComparison = field(default_factory=CallComparison)
    abstention_reason: str = ""
    """Why none of them is proposed; empty if one is."""

    @property
    def should_continue_search(self) -> bool:
        """Whether nothing is credible, so that continuing the search may help."""
        return not self.confirmed_clusters or self.abstention_reason in (HARDLY_CREDIBLE, FLATTENED)


class SurvivorSelector:
    """Selects survivors of one case within the deadline."""

    def __init__(self, case: FaultCase, *, trials: Trials, runner: TestRunner, deadline: float) -> None:
        self._case = case
        self._trials = trials
        self._runner = runner
        self._deadline = deadline

    def select_survivors(
        self,
        result: SearchState,
        credible: Mapping[RepairCandidate, float],
        tried: Sequence[RepairCandidate] = (),
    ) -> SelectionResult:
        """Choose among the survivors.

        `credible` is the credibility of survivors and of candidates that no fork could judge; `tried` are all
        candidates.
        """
        worth = {
            candidate: candidate.score * value * guard_factor(candidate)
            for candidate, value in credible.items()
        }
        ranked = sorted(result.survivors, key=lambda survivor: _sort_key(survivor, worth))
        removed = find_equivalent_deletions(ranked, tried, self._case.sources)
        compared_candidates = [*dict.fromkeys([*ranked, *removed.values()])]
        compared = self._compare(compared_candidates)
        worth = penalize_disguised_deletions(worth, removed, compared_candidates, compared)
        held: list[BehaviorCluster] = []
        others: list[BehaviorCluster] = []
        for opinion in cluster_by_behavior(
            ranked, worth, compared, return_types_by_function(self._case.sources.values()), self._case.sources
        ):
            if len(held) > MAX_CONFIRMED_CLUSTERS:
                others.append(opinion)
            elif confirmed_opinion := self._confirm_opinion(opinion):
                held.append(confirmed_opinion)
        if not held:
            held = self._confirm_cold(sorted(result.cold, key=lambda item: _sort_key(item, worth)), worth)
        has_no_answers = self._case.has_timeout or self._case.has_collection_error
        is_indistinguishable = (
            result.survivors
            and not has_no_answers
            and all(is_uninformative_answer(opinion.answers, compared) for opinion in held)
        )
        minimum = MIN_INDISTINGUISHABLE_WEIGHT if is_indistinguishable else MIN_WEIGHT
        if held and (
            max(credible[member] for member in held[0].members) < MIN_CREDIBILITY or held[0].weight < minimum
        ):
            return SelectionResult(tuple(held), compared, HARDLY_CREDIBLE)
        if held and is_degenerate(held[0].answers, compared):
            return SelectionResult(tuple(held), compared, FLATTENED)
        if held and not is_decisive([*held, *others], failing_test_count=len(self._case.failing)):
            has_disagreement = len({opinion.answers for opinion in held}) > 1
            count = sum(len(opinion.members) for opinion in held)
            edits = f"{count} edits pass your tests"
            reason = (
                f"{edits}; they differ in what other calls give"
                if has_disagreement
                else f"{edits}; where they differ could not be tried"
            )
            return SelectionResult(tuple(held), compared, reason)
        return SelectionResult(tuple(held), compared)

    def _compare(self, ranked: Sequence[RepairCandidate]) -> CallComparison:
        seconds_left = self._deadline - time.monotonic()
        if not ranked or seconds_left < MIN_COMPARISON_SECONDS or self._case.has_collection_error:
            return CallComparison()
        return self._trials.compare_calls(
            self._case.tree,
            self._case.failing,
            [candidate.edit for candidate in ranked],
            seconds=seconds_left / 2,
        )

    def _confirm_cold(
        self, candidates: Sequence[RepairCandidate], worth: Mapping[RepairCandidate, float]
    ) -> list[BehaviorCluster]:
        """Return the first candidate that passes among those that only a fresh process can judge."""
        for candidate in candidates[:MAX_COLD_RUNS]:
            if self._is_confirmed(candidate, seen=False):
                return [BehaviorCluster(members=(candidate,), answers=(), weight=worth[candidate])]
        return []

    def _confirm_opinion(self, opinion: BehaviorCluster) -> BehaviorCluster | None:
        """Return the opinion from its first confirmed member on; None if none is confirmed."""
        confirmed_indices = (
            index
            for index, member in enumerate(opinion.members[:MAX_CONFIRMATIONS])
            if self._is_confirmed(member, seen=True)
        )
        index = next(confirmed_indices, None)
        return None if index is None else replace(opinion, members=opinion.members[index:])

    def _is_confirmed(self, candidate: RepairCandidate, *, seen: bool) -> bool:
        """Tell whether a candidate passes in a fresh process; without time left, return `seen`.

        The final verification runs everything again.
        """
        seconds_left = self._deadline - time.monotonic()
        if seconds_left <= 0:
            return seen
        tests = [*self._case.failing, *self._case.impacted_tests(candidate)]
        seconds = max(seconds_left, MIN_CONFIRMATION_SECONDS)
        targets, edit = self._case.failing, candidate.edit
        return passes_in_fresh_process(
            self._runner, self._case.tree, edit, tests, targets=targets, seconds=seconds, passed_in_fork=seen
        )


def guard_factor(candidate: RepairCandidate) -> float:
    """Return a factor that grows with the number of guards: wrong edits pass easily where no test looks."""
    return UNGUARDED_FACTOR + (1 - UNGUARDED_FACTOR) * min(1.0, len(candidate.edit.guards) / FULL_GUARD_COUNT)


def _sort_key(
    candidate: RepairCandidate, worth: Mapping[RepairCandidate, float]
) -> tuple[float, str, int, str]:
    change = candidate.edit.changes[0]
    return -worth[candidate], candidate.edit.path, change.start, change.text


# Repair of two faults at once: combine edits that each turn some failing tests green.

MAX_TESTS, MAX_HALVES = 3, 16
"""Number of tests for which the other half is searched, and of edits of each half."""
MAX_TRIED = 2_500
SAME_EDIT_FACTOR = 3.0
"""Score factor of a pair in which both edits are the same."""


def search_pairs(
    trials: Trials,
    tree: Path,
    failing: Sequence[str],
    candidates: Sequence[RepairCandidate],
    red: Mapping[str, Sequence[RepairCandidate]],
    *,
    seconds: float,
    progress: Progress | None,
) -> SearchState:
    """Search for pairs of edits of one file, each of which fixes a part of the failures.

    `red` are the candidates by the first test that each of them leaves red. If that is the same for all, the
    other tests are searched on their own.
    """
    deadline = time.monotonic() + seconds
    total = SearchState()
    second_halves: list[Sequence[RepairCandidate]] = []
    first_halves, first = partial_fixes(red), _most_common_red(red)
    tests = (
        sorted(first_halves, key=lambda test: -first_halves[test][0].score)
        or [test for test in failing if test != first]
    )[:MAX_TESTS]
    for test in tests:
        seconds_each = (deadline - time.monotonic()) / (len(tests) + 1)
        partial = search_candidates(
            trials, tree, [test], candidates[:MAX_TRIED], seconds=max(seconds_each, 0.0), progress=progress
        )
        total = replace(total, tried=total.tried + partial.tried, seconds=total.seconds + partial.seconds)
        second_halves.append(partial.survivors[:MAX_HALVES])
    parts = (
        zip((first_halves[test][:MAX_HALVES] for test in tests), second_halves, strict=True)
        if first_halves
        else combinations(second_halves, 2)
    )
    pairs = [pair for some, others in parts for pair in _combine_pairs(some, others)]
    if not pairs:
        return total
    unique = rank_candidates({item.edit.changes: item for item in pairs}.values())
    return (
        search_candidates(
            trials, tree, failing, unique, seconds=max(deadline - time.monotonic(), 0.0), progress=progress
        )
        + total
    )


def partial_fixes(red: Mapping[str, Sequence[RepairCandidate]]) -> dict[str, Sequence[RepairCandidate]]:
    """Return candidates by the test that they leave red, without the test that is most often left red."""
    first = _most_common_red(red)
    return {test: left for test, left in red.items() if test != first}


def _most_common_red(red: Mapping[str, Sequence[RepairCandidate]]) -> str:
    return max(red, key=lambda test: len(red[test]), default="")


def _combine_pairs(
    some: Sequence[RepairCandidate], others: Sequence[RepairCandidate]
) -> Iterator[RepairCandidate]:
    for left, right in product(some, others):
        changes = sorted((*left.edit.changes, *right.edit.changes), key=lambda change: change.start)
        if left.edit.path == right.edit.path and all(
            before.end <= after.start for before, after in pairwise(changes)
        ):
            first = min((left, right), key=lambda part: part.edit.changes[0].start)
            summary = f"{left.edit.summary}; {right.edit.summary}"
            guards = tuple(dict.fromkeys([*left.edit.guards, *right.edit.guards]))
            edit = first.edit.model_copy(
                update={"changes": tuple(changes), "summary": summary, "guards": guards}
            )
            score = min(left.score, right.score) * (SAME_EDIT_FACTOR if _are_alike(left, right) else 1.0)
            yield RepairCandidate(edit=edit, score=score, place=first.place)


def _are_alike(left: RepairCandidate, right: RepairCandidate) -> bool:
    """Tell whether two edits fix the same mistake."""
    return left.edit.family == right.edit.family and [change.text for change in left.edit.changes] == [
        change.text for change in right.edit.changes
    ]


# Trials with a limit on their number, which unlike a time limit is the same on every machine.


class CountedTrials:
    """Tries a limited number of edits in all; without a limit, as many as the time allows."""

    def __init__(self, trials: Trials, *, max_edits: int | None) -> None:
        self._trials = trials
        self._left = max_edits

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[TrialResult]:
        allowed_edits = edits if self._left is None else edits[: self._left]
        if not allowed_edits:
            return
        with closing(
            self._trials.try_out(tree, tests, allowed_edits, seconds=seconds, patient=patient)
        ) as results:
            for result in results:
                if self._left is not None:
                    self._left -= 1
                yield result

    def compare_calls(
        self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float
    ) -> CallComparison:
        return self._trials.compare_calls(tree, tests, edits, seconds=seconds)
