"""The Proposer that needs no model: localise, make candidates, try them, and believe the most credible that hold."""

import difflib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from coder.core.ports import Progress, TestRunner
from coder.core.proposals import Proposal, Proposals, Suspect
from coder.core.trials import Trace, Tracer, Traces, Trials
from coder.repair.candidates import Candidate, candidates
from coder.repair.credibility import Evidence, credibility
from coder.repair.guarding import Guards
from coder.repair.search import Search, confirmed, search
from coder.repair.source import Source
from coder.repair.spectrum import ochiai, suspects, weighted, with_imports
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
MOST_SUSPECTS = 10


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
        traces = self._tracer.trace(tree, tests, seconds=seconds * TRACING_SHARE, progress=progress)
        if traces.problem is not None:
            return Proposals(suspects=by_words(tree, issue), note=traces.problem.text)
        reds = [trace for trace in traces.tests if trace.result.red and _is_one_of(trace.result.id, tests)]
        if not reds:
            return Proposals(suspects=by_words(tree, issue), note="The tests that failed pass when they run by themselves.")
        case = Case(tree, traces, reds)
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

    def _kept(self, case: "Case", found: Search, evidence: Evidence, *, deadline: float) -> Iterator[Candidate]:
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


class Case:
    """One fault: the failing tests, what they executed, and how suspicious that makes each line."""

    def __init__(self, tree: Path, found: Traces, reds: Sequence[Trace]) -> None:
        self.tree = tree
        self.failing = tuple(trace.result.id for trace in reds)
        self._failures = tuple(trace.result.failure for trace in reds if trace.result.failure)
        others = [trace for trace in found.tests if not trace.result.red]
        scores = weighted(ochiai([*reds, *others]), self._failures)
        paths = [*sorted(scores), *sorted(found.imported.keys() - scores.keys())]
        self.sources = {path: source for path in paths if (source := read(tree, path)) is not None}
        self.suspects: tuple[Suspect, ...] = suspects(scores, self.sources)
        self._scores = with_imports(scores, self.sources, found.imported)
        self._guards = Guards(others)

    def candidates(self) -> list[Candidate]:
        """In the order in which to try them, each with its guards."""
        ranked = candidates(self.sources, self._scores, self._failures)
        return [self._guarded(candidate) for candidate in ranked]

    def _guarded(self, candidate: Candidate) -> Candidate:
        guards = self._guards.of(candidate, self.sources[candidate.edit.path])
        return Candidate(edit=candidate.edit.model_copy(update={"guards": guards}), score=candidate.score, place=candidate.place)


def read(tree: Path, path: str) -> Source | None:
    """A source file; None where it is not UTF-8, or no Python that this interpreter can parse."""
    try:
        return Source(path, (tree / path).read_bytes().decode())
    except (OSError, SyntaxError, ValueError):
        return None


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


def _is_one_of(test: str, named: Sequence[str]) -> bool:
    """Is a test meant by its own id, its function's, its class's or its file's?"""
    return any(test == one or test.startswith((f"{one}[", f"{one}::", f"{one.rstrip('/')}/")) for one in named)


def _texts(tree: Path, tests: Sequence[str]) -> str:
    files: Mapping[str, None] = dict.fromkeys(test.split("::")[0] for test in tests)
    return "\n".join((tree / path).read_text(encoding="utf-8", errors="replace") for path in files if (tree / path).is_file())
