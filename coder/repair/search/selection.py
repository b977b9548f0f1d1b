"""Chooses among the survivors of a search: confirms them, hears what each says of further calls, and offers or abstains."""

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
"""At most so many candidates that no fork can tell about get a process of their own, and none where a fork told of one."""
CONFIRMED = 4
"""So many of those that say the same are looked at for one that holds in a process of its own as well."""
LEAST_COMPARING = 6.0
"""Seconds that must be left for survivors to be compared."""
LEAST_CREDIBLE, LEAST_LIKELY, LEAST_UNHEARD = 0.3, 0.1, 0.35
"""What is believed less, or was as unlikely from the beginning with all that speaks for it since, is shown and not offered: the more is
tried, the more turns tests green by chance. More must speak for what could not be asked anything that tells it from the code before."""
LEAST_SECONDS = 5.0
HARDLY_CREDIBLE = "what holds is hardly credible"
FLATTENED = "what holds no longer tells apart what it told apart before"
UNWATCHED, ENOUGH_GUARDS = 0.7, 4
"""What an edit is worth where no passing test executes the function, and how many have to for it to count in full."""


@dataclass(frozen=True)
class Choice:
    """What a search ends with."""

    held: tuple[Opinion, ...] = ()
    """What also holds in a process of its own, with all tests that execute the place, the weightiest first."""
    compared: Compared = field(default_factory=Compared)
    doubt: str = ""
    """Why none of them is offered; empty where they are."""

    @property
    def poor(self) -> bool:
        """Is there nothing to believe, so that something better may still be found?"""
        return not self.held or self.doubt in (HARDLY_CREDIBLE, FLATTENED)


class Chooser:
    """Chooses for one case, as far as the time reaches."""

    def __init__(self, case: Case, *, trials: Trials, runner: TestRunner, deadline: float) -> None:
        self._case = case
        self._trials = trials
        self._runner = runner
        self._deadline = deadline

    def chosen(
        self, found: Search, credible: Mapping[Candidate, float], tried: Sequence[Candidate] = ()
    ) -> Choice:
        """`credible` says of survivors, and of what no fork could tell about, how far to believe it; `tried` are all candidates."""
        worth = {
            candidate: candidate.score * value * watched(candidate) for candidate, value in credible.items()
        }
        ranked = sorted(found.survivors, key=lambda survivor: _order(survivor, worth))
        removed = removals(ranked, tried, self._case.sources)
        asked = [*dict.fromkeys([*ranked, *removed.values()])]
        compared = self._compared(asked)
        worth = unmasked(worth, removed, asked, compared)
        held: list[Opinion] = []
        others: list[Opinion] = []
        for opinion in opinions(
            ranked, worth, compared, hints(self._case.sources.values()), self._case.sources
        ):
            if len(held) > MOST:
                others.append(opinion)
            elif holding := self._holding(opinion):
                held.append(holding)
        if not held:
            held = self._cold(sorted(found.cold, key=lambda item: _order(item, worth)), worth)
        mute = self._case.endless or self._case.uncollected
        unheard = (
            found.survivors and not mute and all(is_blind(opinion.answers, compared) for opinion in held)
        )
        least = LEAST_UNHEARD if unheard else LEAST_LIKELY
        if held and (
            max(credible[member] for member in held[0].members) < LEAST_CREDIBLE or held[0].weight < least
        ):
            return Choice(tuple(held), compared, HARDLY_CREDIBLE)
        if held and levelled(held[0].answers, compared):
            return Choice(tuple(held), compared, FLATTENED)
        if held and not decided([*held, *others], tests=len(self._case.failing)):
            disagreeing = len({opinion.answers for opinion in held}) > 1
            why = (
                "what holds disagrees on other calls"
                if disagreeing
                else "what holds could not be asked where it differs"
            )
            return Choice(tuple(held), compared, f"{why}, and nothing decides")
        return Choice(tuple(held), compared)

    def _compared(self, ranked: Sequence[Candidate]) -> Compared:
        left = self._deadline - time.monotonic()
        if not ranked or left < LEAST_COMPARING or self._case.uncollected:
            return Compared()
        return self._trials.compare(
            self._case.tree, self._case.failing, [item.edit for item in ranked], seconds=left / 2
        )

    def _cold(self, candidates: Sequence[Candidate], worth: Mapping[Candidate, float]) -> list[Opinion]:
        """The first that holds of those that only a process of its own can tell about."""
        for candidate in candidates[:COLD_RUNS]:
            if self._holds(candidate, seen=False):
                return [Opinion(members=(candidate,), answers=(), weight=worth[candidate])]
        return []

    def _holding(self, opinion: Opinion) -> Opinion | None:
        """The opinion without those that do not hold before the first that does; None where no likely one does."""
        held = (
            place
            for place, member in enumerate(opinion.members[:CONFIRMED])
            if self._holds(member, seen=True)
        )
        place = next(held, None)
        return None if place is None else replace(opinion, members=opinion.members[place:])

    def _holds(self, candidate: Candidate, *, seen: bool) -> bool:
        """With no time left, what a fork has `seen` has to do: whoever judges the change runs all again."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            return seen
        tests = [*self._case.failing, *self._case.impacted(candidate)]
        seconds = max(left, LEAST_SECONDS)
        targets, edit = self._case.failing, candidate.edit
        return confirmed(
            self._runner, self._case.tree, edit, tests, targets=targets, seconds=seconds, seen=seen
        )


def watched(candidate: Candidate) -> float:
    """What nobody looks at is turned green by more than what is right."""
    return UNWATCHED + (1 - UNWATCHED) * min(1.0, len(candidate.edit.guards) / ENOUGH_GUARDS)


def _order(candidate: Candidate, worth: Mapping[Candidate, float]) -> tuple[float, str, int, str]:
    change = candidate.edit.changes[0]
    return -worth[candidate], candidate.edit.path, change.start, change.text
