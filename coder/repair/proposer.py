"""The Proposer that needs no model: localise, make candidates, try them, and believe the most credible that hold."""

import difflib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from coder.core.ports import Progress, TestRunner
from coder.core.proposals import Proposal, Proposals, Suspect
from coder.core.trials import Tracer, Trials
from coder.repair.candidates import Candidate
from coder.repair.case import MOST_SUSPECTS, Case, traced
from coder.repair.credibility import Evidence, credibility
from coder.repair.search import Search, confirmed, search
from coder.repair.source import Source
from coder.tools.locating.clues import clues
from coder.tools.locating.ranking import locate
from coder.tools.symbols.index import SymbolIndex

TRACING_SHARE = 0.25
"""Of the time for tracing: failing tests come first, and what is left of their neighbours only sharpens the suspicion."""
CONFIRMING_SHARE = 0.3
PROPOSALS = 3
COLD_RUNS = 8
"""At most so many candidates that no fork can tell about get a process of their own, and none once another one holds."""
UNTRIED = 0.4
"""What such a candidate counts against one that held in a fork."""


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
    ) -> Proposals:
        started = time.monotonic()
        if not tests:
            return Proposals(suspects=by_words(tree, issue), note="There is no failing test to search with.")
        case = traced(self._tracer, tree, tests, seconds=seconds * TRACING_SHARE, progress=progress)
        if isinstance(case, str):
            return Proposals(suspects=by_words(tree, issue), note=case)
        ranked = [one for one in case.candidates() if may_write is None or may_write(one.edit.path)]
        left = seconds - (time.monotonic() - started)
        found = search(self._trials, tree, case.failing, ranked, seconds=left * (1 - CONFIRMING_SHARE), progress=progress)
        evidence = Evidence(sources=case.sources, issue=issue, tests=_texts(tree, case.failing))
        kept = [*self._kept(case, found, evidence, deadline=started + seconds)]
        return Proposals(
            proposals=tuple(proposal(candidate, case.sources[candidate.edit.path]) for candidate in kept),
            suspects=case.suspects[:MOST_SUSPECTS],
            tried=found.tried,
            seconds=time.monotonic() - started,
            note=found.line,
        )

    def _kept(self, case: Case, found: Search, evidence: Evidence, *, deadline: float) -> Iterator[Candidate]:
        """The most credible candidates that also hold in a process of their own."""
        worth = {candidate: candidate.score * credibility(candidate, evidence) for candidate in found.survivors}
        worth |= {candidate: UNTRIED * candidate.score * credibility(candidate, evidence) for candidate in found.cold}
        kept = cold_runs = 0
        for candidate in sorted(worth, key=lambda one: (-worth[one], one.edit.path, one.edit.changes[0].start, one.edit.changes[0].text)):
            cold = candidate in found.cold
            left = deadline - time.monotonic()
            if kept == PROPOSALS or left <= 0:
                return
            if cold and (kept or cold_runs == COLD_RUNS):
                continue
            cold_runs += cold
            if confirmed(self._runner, case.tree, candidate.edit, case.failing, seconds=max(left, 5.0)):
                kept += 1
                yield candidate


def proposal(candidate: Candidate, source: Source) -> Proposal:
    edit = candidate.edit
    # Not splitlines: it also splits at form feeds and the like, which are no line ends to git.
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (source.text, edit.apply(source.text)))
    lines = difflib.unified_diff(before, after, f"a/{edit.path}", f"b/{edit.path}")
    diff = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return Proposal(diff=diff, summary=edit.summary, place=candidate.place)


def by_words(tree: Path, issue: str) -> tuple[Suspect, ...]:
    """Functions that the issue's words point to."""
    found = locate(SymbolIndex(tree).current(), clues(issue)).symbols[:MOST_SUSPECTS]
    return tuple(Suspect(place=likely.name, line=likely.item.start, score=0.0) for likely in found if likely.item)


def _texts(tree: Path, tests: Sequence[str]) -> str:
    files: Mapping[str, None] = dict.fromkeys(test.split("::")[0] for test in tests)
    return "\n".join((tree / path).read_text(encoding="utf-8", errors="replace") for path in files if (tree / path).is_file())
