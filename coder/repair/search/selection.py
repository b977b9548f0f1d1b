"""Selection among survivors: confirm them, compare their behaviour, and propose one or abstain."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from coder.core.ports.repair import Compared, Trials
from coder.core.ports.tests import TestRunner
from coder.repair.candidates import Candidate
from coder.repair.ranking.answers import levelled
from coder.repair.ranking.behavioral_clusters import Opinion, decided, is_blind, opinions
from coder.repair.ranking.disguised_deletions import removals, unmasked
from coder.repair.ranking.type_hints import hints
from coder.repair.search.fault import Case
from coder.repair.search.search import Search, confirmed

MOST = 3
COLD_RUNS = 8
"""Number of candidates that no fork can judge to run in a fresh process, if no survivor is confirmed."""
CONFIRMED = 4
"""Number of members of an opinion to try in a fresh process until one passes."""
LEAST_COMPARING = 6.0
"""Seconds that must be left to compare survivors."""
LEAST_CREDIBLE, LEAST_LIKELY, LEAST_UNHEARD = 0.3, 0.1, 0.35
"""Minimum credibility and weight of what is proposed rather than shown: the more candidates are tried, the
more pass by chance. The third is the minimum weight if no call distinguishes the edit from the unchanged
code."""
LEAST_SECONDS = 5.0
HARDLY_CREDIBLE = "what holds is hardly credible"
FLATTENED = "what holds no longer tells apart what it told apart before"
UNWATCHED, ENOUGH_GUARDS = 0.7, 4
"""Factor of an edit whose function no passing test executes, and the number of guards that counts in full."""


@dataclass(frozen=True)
class Choice:
    """The result of a search."""

    held: tuple[Opinion, ...] = ()
    """Opinions that pass in a fresh process with all tests that execute the place, heaviest first."""
    compared: Compared = field(default_factory=Compared)
    doubt: str = ""
    """Why none of them is proposed; empty if one is."""

    @property
    def poor(self) -> bool:
        """Whether nothing is credible, so that continuing the search may help."""
        return not self.held or self.doubt in (HARDLY_CREDIBLE, FLATTENED)


class Chooser:
    """Selects survivors of one case within the deadline."""

    def __init__(self, case: Case, *, trials: Trials, runner: TestRunner, deadline: float) -> None:
        self._case = case
        self._trials = trials
        self._runner = runner
        self._deadline = deadline

    def chosen(
        self, result: Search, credible: Mapping[Candidate, float], tried: Sequence[Candidate] = ()
    ) -> Choice:
        """Choose among the survivors.

        `credible` is the credibility of survivors and of candidates that no fork could judge; `tried` are all
        candidates.
        """
        worth = {
            candidate: candidate.score * value * watched(candidate) for candidate, value in credible.items()
        }
        ranked = sorted(result.survivors, key=lambda survivor: _sort_key(survivor, worth))
        removed = removals(ranked, tried, self._case.sources)
        compared_candidates = [*dict.fromkeys([*ranked, *removed.values()])]
        compared = self._compare(compared_candidates)
        worth = unmasked(worth, removed, compared_candidates, compared)
        held: list[Opinion] = []
        others: list[Opinion] = []
        for opinion in opinions(
            ranked, worth, compared, hints(self._case.sources.values()), self._case.sources
        ):
            if len(held) > MOST:
                others.append(opinion)
            elif confirmed_opinion := self._confirm_opinion(opinion):
                held.append(confirmed_opinion)
        if not held:
            held = self._confirm_cold(sorted(result.cold, key=lambda item: _sort_key(item, worth)), worth)
        has_no_answers = self._case.endless or self._case.uncollected
        is_indistinguishable = (
            result.survivors
            and not has_no_answers
            and all(is_blind(opinion.answers, compared) for opinion in held)
        )
        minimum = LEAST_UNHEARD if is_indistinguishable else LEAST_LIKELY
        if held and (
            max(credible[member] for member in held[0].members) < LEAST_CREDIBLE or held[0].weight < minimum
        ):
            return Choice(tuple(held), compared, HARDLY_CREDIBLE)
        if held and levelled(held[0].answers, compared):
            return Choice(tuple(held), compared, FLATTENED)
        if held and not decided([*held, *others], tests=len(self._case.failing)):
            has_disagreement = len({opinion.answers for opinion in held}) > 1
            reason = (
                "what holds disagrees on other calls"
                if has_disagreement
                else "what holds could not be asked where it differs"
            )
            return Choice(tuple(held), compared, f"{reason}, and nothing decides")
        return Choice(tuple(held), compared)

    def _compare(self, ranked: Sequence[Candidate]) -> Compared:
        seconds_left = self._deadline - time.monotonic()
        if not ranked or seconds_left < LEAST_COMPARING or self._case.uncollected:
            return Compared()
        return self._trials.compare(
            self._case.tree,
            self._case.failing,
            [candidate.edit for candidate in ranked],
            seconds=seconds_left / 2,
        )

    def _confirm_cold(
        self, candidates: Sequence[Candidate], worth: Mapping[Candidate, float]
    ) -> list[Opinion]:
        """Return the first candidate that passes among those that only a fresh process can judge."""
        for candidate in candidates[:COLD_RUNS]:
            if self._is_confirmed(candidate, seen=False):
                return [Opinion(members=(candidate,), answers=(), weight=worth[candidate])]
        return []

    def _confirm_opinion(self, opinion: Opinion) -> Opinion | None:
        """Return the opinion from its first confirmed member on; None if none is confirmed."""
        confirmed_indices = (
            index
            for index, member in enumerate(opinion.members[:CONFIRMED])
            if self._is_confirmed(member, seen=True)
        )
        index = next(confirmed_indices, None)
        return None if index is None else replace(opinion, members=opinion.members[index:])

    def _is_confirmed(self, candidate: Candidate, *, seen: bool) -> bool:
        """Tell whether a candidate passes in a fresh process; without time left, return `seen`.

        The final verification runs everything again.
        """
        seconds_left = self._deadline - time.monotonic()
        if seconds_left <= 0:
            return seen
        tests = [*self._case.failing, *self._case.impacted(candidate)]
        seconds = max(seconds_left, LEAST_SECONDS)
        targets, edit = self._case.failing, candidate.edit
        return confirmed(
            self._runner, self._case.tree, edit, tests, targets=targets, seconds=seconds, seen=seen
        )


def watched(candidate: Candidate) -> float:
    """Return a factor that grows with the number of guards: wrong edits pass easily where no test looks."""
    return UNWATCHED + (1 - UNWATCHED) * min(1.0, len(candidate.edit.guards) / ENOUGH_GUARDS)


def _sort_key(candidate: Candidate, worth: Mapping[Candidate, float]) -> tuple[float, str, int, str]:
    change = candidate.edit.changes[0]
    return -worth[candidate], candidate.edit.path, change.start, change.text
