"""Selection among survivors: confirm them, compare their behaviour, and propose one or abstain."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from coder.core.ports import CallComparison, TestRunner, Trials
from coder.repair.candidates import RepairCandidate
from coder.repair.ranking.answers import is_degenerate
from coder.repair.ranking.behavioral_clusters import (
    BehaviorCluster,
    cluster_by_behavior,
    is_decisive,
    is_uninformative_answer,
)
from coder.repair.ranking.disguised_deletions import find_equivalent_deletions, penalize_disguised_deletions
from coder.repair.ranking.type_hints import return_types_by_function
from coder.repair.search.fault import FaultCase
from coder.repair.search.search import SearchState, passes_in_fresh_process

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
HARDLY_CREDIBLE = "what holds is hardly credible"
FLATTENED = "what holds no longer tells apart what it told apart before"
UNGUARDED_FACTOR, FULL_GUARD_COUNT = 0.7, 4
"""Factor of an edit whose function no passing test executes, and the number of guards that counts in full."""


@dataclass(frozen=True)
class SelectionResult:
    """The result of a search."""

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
            reason = (
                "what holds disagrees on other calls"
                if has_disagreement
                else "what holds could not be asked where it differs"
            )
            return SelectionResult(tuple(held), compared, f"{reason}, and nothing decides")
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
