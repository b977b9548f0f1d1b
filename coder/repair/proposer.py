"""Proposer without a model: localize the fault, generate candidates, try them, and rank the survivors."""

import difflib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from coder.core.ports import Progress, TestRunner, Tracer, Trials
from coder.core.values import Proposal, Proposals, Suspect
from coder.index.index import SymbolIndex
from coder.python.source import PythonSource, decode_text
from coder.repair.candidates import RepairCandidate
from coder.repair.clusters import find_distinguishing_call
from coder.repair.credibility import CredibilityEvidence, rate_credibility
from coder.repair.fault import MAX_SUSPECTS, FaultCase, trace_fault
from coder.repair.search import (
    MAX_CONFIRMED_CLUSTERS,
    SearchState,
    SelectionResult,
    SurvivorSelector,
    partial_fixes,
    search_candidates,
    search_in_fresh_processes,
    search_pairs,
)
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.ranking import locate_issue

TRACING_SHARE = 0.25
MAX_TRACING_SECONDS = 15.0
"""Share of the time, and seconds, for tracing. Failing tests run first; their neighbours only sharpen the
suspicion."""
CONFIRMATION_SHARE = 0.3
SINGLE_EDIT_SHARE = 0.6
"""Share of the time for single edits if several tests fail: a pair may fix what no single edit does. If one
test fails, a survivor is enough after this share."""
MIN_SECONDS_FOR_PAIRS = 10.0
"""Seconds that must be left to search for pairs of edits if no single edit passes."""
MAX_TIMED_OUT, MIN_SECONDS_FOR_TIMED_OUT = 12, 5.0
"""Number of timed-out candidates that get more time for each test, and seconds that must be left for them."""
MIN_SECONDS_TO_CONTINUE = 12.0
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
            return Proposals(
                suspects=suspects_from_issue(tree, issue), note="There is no failing test to search with."
            )
        case = trace_fault(
            self._tracer,
            tree,
            tests,
            seconds=min(seconds * TRACING_SHARE, MAX_TRACING_SECONDS),
            progress=progress,
        )
        if isinstance(case, str):
            return Proposals(suspects=suspects_from_issue(tree, issue), note=case)
        ranked = [
            candidate
            for candidate in case.list_candidates(guards)
            if may_write is None or may_write(candidate.edit.path)
        ]
        evidence = CredibilityEvidence(
            sources=case.sources,
            issue=issue,
            tests=_read_test_files(tree, case.failing),
            undefined=case.undefined_names,
        )
        chooser = SurvivorSelector(case, trials=self._trials, runner=self._runner, deadline=started + seconds)
        earlier, choice = SearchState(), SelectionResult()
        untried: Sequence[RepairCandidate] = ranked
        while True:
            new, untried = self._search_in_stages(case, untried, until=started + seconds, progress=progress)
            total = new + earlier
            if new.survivors or new.cold:
                credible = {
                    candidate: rate_credibility(candidate, evidence)
                    for candidate in (*total.survivors, *total.cold)
                }
                choice = chooser.select_survivors(total, credible, ranked)
            if (
                not choice.should_continue_search
                or not new.survivors
                or not untried
                or started + seconds - time.monotonic() < MIN_SECONDS_TO_CONTINUE
            ):
                break
            earlier = replace(total, survivors=total.survivors if choice.confirmed_clusters else [], cold=[])
        proposals = _build_proposals(choice, case)
        return Proposals(
            proposals=() if choice.abstention_reason else proposals,
            alternatives=proposals if choice.abstention_reason else proposals[1:],
            suspects=case.suspects[:MAX_SUSPECTS],
            tried=total.tried,
            seconds=time.monotonic() - started,
            note="; ".join(filter(None, (total.progress_line, choice.abstention_reason))),
        )

    def _search_in_stages(
        self, case: FaultCase, ranked: Sequence[RepairCandidate], *, until: float, progress: Progress | None
    ) -> tuple[SearchState, Sequence[RepairCandidate]]:
        """Search in stages until an edit passes: single, timed-out, pairs, remaining ones.

        Pairs come last if no edit fixes a part. Returns the single edits that have not been tried as well.
        """
        tree, failing, trials = case.tree, case.failing, self._trials

        def time_for(share: float) -> float:
            return max(until - time.monotonic(), 0.0) * (1 - CONFIRMATION_SHARE) * share

        def should_continue(least: float) -> bool:
            return not total.survivors and until - time.monotonic() > least

        if case.has_collection_error:
            total = search_in_fresh_processes(
                self._runner, tree, failing, ranked, seconds=time_for(1.0), progress=progress
            )
            return total, ranked[total.tried :]
        share, satisfied = (SINGLE_EDIT_SHARE, 1.0) if len(failing) > 1 else (1.0, SINGLE_EDIT_SHARE)
        total = search_candidates(
            trials,
            tree,
            failing,
            ranked,
            seconds=time_for(share),
            single_survivor_share=satisfied,
            progress=progress,
        )
        untried = ranked[total.tried :]
        if total.late and should_continue(MIN_SECONDS_FOR_TIMED_OUT):
            late, seconds = total.late[:MAX_TIMED_OUT], time_for(SINGLE_EDIT_SHARE)
            total = (
                search_candidates(
                    trials, tree, failing, late, seconds=seconds, progress=progress, patient=True
                )
                + total
            )
        has_halves = bool(partial_fixes(total.failed_by_test))
        if has_halves and not total.cold and should_continue(MIN_SECONDS_FOR_PAIRS):
            seconds = time_for(SINGLE_EDIT_SHARE if untried else 1.0)
            total = (
                search_pairs(
                    trials, tree, failing, ranked, total.failed_by_test, seconds=seconds, progress=progress
                )
                + total
            )
        if untried and should_continue(MIN_SECONDS_TO_CONTINUE):
            last = search_candidates(trials, tree, failing, untried, seconds=time_for(1.0), progress=progress)
            total, untried = last + total, untried[last.tried :]
        if not has_halves and not total.cold and should_continue(MIN_SECONDS_FOR_PAIRS):
            total = (
                search_pairs(
                    trials,
                    tree,
                    failing,
                    ranked,
                    total.failed_by_test,
                    seconds=time_for(1.0),
                    progress=progress,
                )
                + total
            )
        return total, untried


def _build_proposals(choice: SelectionResult, case: FaultCase) -> tuple[Proposal, ...]:
    """Return at most three proposals, each with a call that distinguishes it from the others."""
    confirmed = choice.confirmed_clusters[:MAX_CONFIRMED_CLUSTERS]
    proposals = []
    for opinion in confirmed:
        difference = find_distinguishing_call(
            opinion, [other for other in confirmed if other is not opinion], choice.comparison
        )
        proposals.append(
            build_proposal(opinion.representative, case.sources[opinion.representative.edit.path], difference)
        )
    return tuple(proposals)


def build_proposal(candidate: RepairCandidate, source: PythonSource, apart: str = "") -> Proposal:
    """Build the proposal of a candidate, with its edit as a unified diff."""
    edit = candidate.edit
    # Not splitlines: it also splits at form feeds and the like, which git does not treat as line ends.
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (source.text, edit.apply(source.text)))
    lines = difflib.unified_diff(before, after, f"a/{edit.path}", f"b/{edit.path}")
    diff = "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return Proposal(diff=diff, summary=edit.summary, place=candidate.place, apart=apart)


def suspects_from_issue(tree: Path, issue: str) -> tuple[Suspect, ...]:
    """Return the functions that the words of the issue point to."""
    matches = locate_issue(SymbolIndex(tree).refresh(), extract_issue_terms(issue)).symbols[:MAX_SUSPECTS]
    return tuple(
        Suspect(place=match.name, line=match.item.start, score=0.0) for match in matches if match.item
    )


def _read_test_files(tree: Path, tests: Sequence[str]) -> str:
    files: Mapping[str, None] = dict.fromkeys(test.split("::")[0] for test in tests)
    return "\n".join(decode_text((tree / path).read_bytes()) for path in files if (tree / path).is_file())
