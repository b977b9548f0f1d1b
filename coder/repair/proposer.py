"""Proposer without a model: localize the fault, generate candidates, try them, and rank the survivors."""

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
"""Share of the time, and seconds, for tracing. Failing tests run first; their neighbours only sharpen the
suspicion."""
CONFIRMING_SHARE = 0.3
SINGLE_SHARE = 0.6
"""Share of the time for single edits if several tests fail: a pair may fix what no single edit does. If one
test fails, a survivor is enough after this share."""
LEAST_FOR_PAIRS = 10.0
"""Seconds that must be left to search for pairs of edits if no single edit passes."""
LATE, LEAST_FOR_LATE = 12, 5.0
"""Number of timed-out candidates that get more time for each test, and seconds that must be left for them."""
LEAST_AGAIN = 12.0
"""Seconds that must be left to continue if no survivor passes in a fresh process, or none is credible."""


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
        """Trace, localize, search and select; see `Proposer`."""
        started = time.monotonic()
        if not tests:
            return Proposals(suspects=by_words(tree, issue), note="There is no failing test to search with.")
        case = traced(
            self._tracer, tree, tests, seconds=min(seconds * TRACING_SHARE, MOST_TRACING), progress=progress
        )
        if isinstance(case, str):
            return Proposals(suspects=by_words(tree, issue), note=case)
        ranked = [
            candidate
            for candidate in case.candidates(guards)
            if may_write is None or may_write(candidate.edit.path)
        ]
        evidence = Evidence(
            sources=case.sources,
            issue=issue,
            tests=_read_test_files(tree, case.failing),
            undefined=case.undefined,
        )
        chooser = Chooser(case, trials=self._trials, runner=self._runner, deadline=started + seconds)
        earlier, choice = Search(), Choice()
        untried: Sequence[Candidate] = ranked
        while True:
            new, untried = self._search_in_stages(case, untried, until=started + seconds, progress=progress)
            total = new + earlier
            if new.survivors or new.cold:
                credible = {
                    candidate: credibility(candidate, evidence)
                    for candidate in (*total.survivors, *total.cold)
                }
                choice = chooser.chosen(total, credible, ranked)
            if (
                not choice.poor
                or not new.survivors
                or not untried
                or started + seconds - time.monotonic() < LEAST_AGAIN
            ):
                break
            earlier = replace(total, survivors=total.survivors if choice.held else [], cold=[])
        proposals = _build_proposals(choice, case)
        return Proposals(
            proposals=() if choice.doubt else proposals,
            alternatives=proposals if choice.doubt else proposals[1:],
            suspects=case.suspects[:MOST_SUSPECTS],
            tried=total.tried,
            seconds=time.monotonic() - started,
            note="; ".join(filter(None, (total.line, choice.doubt))),
        )

    def _search_in_stages(
        self, case: Case, ranked: Sequence[Candidate], *, until: float, progress: Progress | None
    ) -> tuple[Search, Sequence[Candidate]]:
        """Search in stages until an edit passes: single, timed-out, pairs, remaining ones.

        Pairs come last if no edit fixes a part. Returns the single edits that have not been tried as well.
        """
        tree, failing, trials = case.tree, case.failing, self._trials

        def time_for(share: float) -> float:
            return max(until - time.monotonic(), 0.0) * (1 - CONFIRMING_SHARE) * share

        def should_continue(least: float) -> bool:
            return not total.survivors and until - time.monotonic() > least

        if case.uncollected:
            total = search_alone(
                self._runner, tree, failing, ranked, seconds=time_for(1.0), progress=progress
            )
            return total, ranked[total.tried :]
        share, satisfied = (SINGLE_SHARE, 1.0) if len(failing) > 1 else (1.0, SINGLE_SHARE)
        total = search(
            trials, tree, failing, ranked, seconds=time_for(share), satisfied=satisfied, progress=progress
        )
        untried = ranked[total.tried :]
        if total.late and should_continue(LEAST_FOR_LATE):
            late, seconds = total.late[:LATE], time_for(SINGLE_SHARE)
            total = (
                search(trials, tree, failing, late, seconds=seconds, progress=progress, patient=True) + total
            )
        has_halves = bool(halves(total.red))
        if has_halves and not total.cold and should_continue(LEAST_FOR_PAIRS):
            seconds = time_for(SINGLE_SHARE if untried else 1.0)
            total = (
                search_pairs(trials, tree, failing, ranked, total.red, seconds=seconds, progress=progress)
                + total
            )
        if untried and should_continue(LEAST_AGAIN):
            last = search(trials, tree, failing, untried, seconds=time_for(1.0), progress=progress)
            total, untried = last + total, untried[last.tried :]
        if not has_halves and not total.cold and should_continue(LEAST_FOR_PAIRS):
            total = (
                search_pairs(
                    trials, tree, failing, ranked, total.red, seconds=time_for(1.0), progress=progress
                )
                + total
            )
        return total, untried


def _build_proposals(choice: Choice, case: Case) -> tuple[Proposal, ...]:
    """Return at most three proposals, each with a call that distinguishes it from the others."""
    confirmed = choice.held[:MOST]
    proposals = []
    for opinion in confirmed:
        difference = apart(opinion, [other for other in confirmed if other is not opinion], choice.compared)
        proposals.append(proposal(opinion.first, case.sources[opinion.first.edit.path], difference))
    return tuple(proposals)


def proposal(candidate: Candidate, source: Source, apart: str = "") -> Proposal:
    """Build the proposal of a candidate, with its edit as a unified diff."""
    edit = candidate.edit
    # Not splitlines: it also splits at form feeds and the like, which git does not treat as line ends.
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (source.text, edit.apply(source.text)))
    lines = difflib.unified_diff(before, after, f"a/{edit.path}", f"b/{edit.path}")
    diff = "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return Proposal(diff=diff, summary=edit.summary, place=candidate.place, apart=apart)


def by_words(tree: Path, issue: str) -> tuple[Suspect, ...]:
    """Return the functions that the words of the issue point to."""
    matches = locate(SymbolIndex(tree).current(), clues(issue)).symbols[:MOST_SUSPECTS]
    return tuple(
        Suspect(place=match.name, line=match.item.start, score=0.0) for match in matches if match.item
    )


def _read_test_files(tree: Path, tests: Sequence[str]) -> str:
    files: Mapping[str, None] = dict.fromkeys(test.split("::")[0] for test in tests)
    return "\n".join(
        (tree / path).read_text(encoding="utf-8", errors="replace")
        for path in files
        if (tree / path).is_file()
    )
