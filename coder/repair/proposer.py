"""The Proposer that needs no model: localise, make candidates, try them, and believe the most credible that hold."""

import difflib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from coder.core.ports.repair import Tracer, Trials
from coder.core.ports.sandbox import Progress
from coder.core.ports.tests import TestRunner
from coder.core.values.proposal import Proposal, Proposals, Suspect
from coder.index.index import SymbolIndex
from coder.python.source import Source
from coder.repair.candidates import Candidate
from coder.repair.ranking.behavioral_clusters import apart
from coder.repair.ranking.credibility import Evidence, credibility
from coder.repair.search.fault import MOST_SUSPECTS, Case, traced
from coder.repair.search.pairs import halves, search_pairs
from coder.repair.search.search import Search, search, search_alone
from coder.repair.search.selection import MOST, Choice, Chooser
from coder.retrieval.locating.issue_terms import clues
from coder.retrieval.locating.ranking import locate

TRACING_SHARE = 0.25
MOST_TRACING = 15.0
"""Of the time, and seconds, for tracing: failing tests come first, and what is left of their neighbours only sharpens the suspicion."""
CONFIRMING_SHARE = 0.3
SINGLE_SHARE = 0.6
"""For single edits where several tests fail: what none of them mends all of, two may. Where one fails, a survivor is enough after it."""
LEAST_FOR_PAIRS = 10.0
"""Seconds that must be left for a search for two faults where no single edit holds."""
LATE, LEAST_FOR_LATE = 12, 5.0
"""So many candidates, and seconds that must be left for them, get more time for each test."""
LEAST_AGAIN = 12.0
"""Seconds that must be left to go on where nothing that held in a fork holds in a process of its own, or is credible."""


class TemplateProposer:
    """Search-based repair with templates."""

    def __init__(self, *, tracer: Tracer, trials: Trials, runner: TestRunner) -> None:
        self._tracer = tracer
        self._trials = trials
        self._runner = runner

    def propose(
        self,
        tree: Path,
        tests: Sequence[str],
        issue: str,
        *,
        seconds: float,
        progress: Progress | None = None,
        may_write: Callable[[str], bool] | None = None,
        guards: Sequence[str] = (),
    ) -> Proposals:
        started = time.monotonic()
        if not tests:
            return Proposals(suspects=by_words(tree, issue), note="There is no failing test to search with.")
        case = traced(
            self._tracer, tree, tests, seconds=min(seconds * TRACING_SHARE, MOST_TRACING), progress=progress
        )
        if isinstance(case, str):
            return Proposals(suspects=by_words(tree, issue), note=case)
        ranked = [item for item in case.candidates(guards) if may_write is None or may_write(item.edit.path)]
        evidence = Evidence(
            sources=case.sources, issue=issue, tests=_texts(tree, case.failing), undefined=case.undefined
        )
        chooser = Chooser(case, trials=self._trials, runner=self._runner, deadline=started + seconds)
        before, choice = Search(), Choice()
        left: Sequence[Candidate] = ranked
        while True:
            new, left = self._searched(case, left, until=started + seconds, progress=progress)
            found = new + before
            if new.survivors or new.cold:
                credible = {
                    candidate: credibility(candidate, evidence)
                    for candidate in (*found.survivors, *found.cold)
                }
                choice = chooser.chosen(found, credible, ranked)
            if (
                not choice.poor
                or not new.survivors
                or not left
                or started + seconds - time.monotonic() < LEAST_AGAIN
            ):
                break
            before = replace(found, survivors=found.survivors if choice.held else [], cold=[])
        shown = _shown(choice, case)
        return Proposals(
            proposals=() if choice.doubt else shown,
            alternatives=shown if choice.doubt else shown[1:],
            suspects=case.suspects[:MOST_SUSPECTS],
            tried=found.tried,
            seconds=time.monotonic() - started,
            note="; ".join(filter(None, (found.line, choice.doubt))),
        )

    def _searched(
        self, case: Case, ranked: Sequence[Candidate], *, until: float, progress: Progress | None
    ) -> tuple[Search, Sequence[Candidate]]:
        """Single edits, then those that were stopped with more time, pairs, and single edits again: each where nothing before it holds.

        Pairs come last where no edit mends a part. Comes back with the single edits that have not been tried.
        """
        tree, failing, trials = case.tree, case.failing, self._trials

        def time_for(share: float) -> float:
            return max(until - time.monotonic(), 0.0) * (1 - CONFIRMING_SHARE) * share

        def wanting(least: float) -> bool:
            return not found.survivors and until - time.monotonic() > least

        if case.uncollected:
            found = search_alone(
                self._runner, tree, failing, ranked, seconds=time_for(1.0), progress=progress
            )
            return found, ranked[found.tried :]
        share, satisfied = (SINGLE_SHARE, 1.0) if len(failing) > 1 else (1.0, SINGLE_SHARE)
        found = search(
            trials, tree, failing, ranked, seconds=time_for(share), satisfied=satisfied, progress=progress
        )
        left = ranked[found.tried :]
        if found.late and wanting(LEAST_FOR_LATE):
            late, seconds = found.late[:LATE], time_for(SINGLE_SHARE)
            found = (
                search(trials, tree, failing, late, seconds=seconds, progress=progress, patient=True) + found
            )
        early = bool(halves(found.red))
        if early and not found.cold and wanting(LEAST_FOR_PAIRS):
            seconds = time_for(SINGLE_SHARE if left else 1.0)
            found = (
                search_pairs(trials, tree, failing, ranked, found.red, seconds=seconds, progress=progress)
                + found
            )
        if left and wanting(LEAST_AGAIN):
            last = search(trials, tree, failing, left, seconds=time_for(1.0), progress=progress)
            found, left = last + found, left[last.tried :]
        if not early and not found.cold and wanting(LEAST_FOR_PAIRS):
            found = (
                search_pairs(
                    trials, tree, failing, ranked, found.red, seconds=time_for(1.0), progress=progress
                )
                + found
            )
        return found, left


def _shown(choice: Choice, case: Case) -> tuple[Proposal, ...]:
    """At most three that hold, each with a call that tells it from the others."""
    held = choice.held[:MOST]
    shown = []
    for opinion in held:
        telling = apart(opinion, [item for item in held if item is not opinion], choice.compared)
        shown.append(proposal(opinion.first, case.sources[opinion.first.edit.path], telling))
    return tuple(shown)


def proposal(candidate: Candidate, source: Source, apart: str = "") -> Proposal:
    edit = candidate.edit
    # Not splitlines: it also splits at form feeds and the like, which are no line ends to git.
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (source.text, edit.apply(source.text)))
    lines = difflib.unified_diff(before, after, f"a/{edit.path}", f"b/{edit.path}")
    diff = "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return Proposal(diff=diff, summary=edit.summary, place=candidate.place, apart=apart)


def by_words(tree: Path, issue: str) -> tuple[Suspect, ...]:
    """Functions that the issue's words point to."""
    found = locate(SymbolIndex(tree).current(), clues(issue)).symbols[:MOST_SUSPECTS]
    return tuple(
        Suspect(place=likely.name, line=likely.item.start, score=0.0) for likely in found if likely.item
    )


def _texts(tree: Path, tests: Sequence[str]) -> str:
    files: Mapping[str, None] = dict.fromkeys(test.split("::")[0] for test in tests)
    return "\n".join(
        (tree / path).read_text(encoding="utf-8", errors="replace")
        for path in files
        if (tree / path).is_file()
    )
