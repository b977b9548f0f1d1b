"""Proposer without a model: localize the fault, try candidates, and group what passes by its behavior."""

import ast
import difflib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from coder.core.paths import match_test_ids
from coder.core.ports import AnswerClasses, Edit, Progress, TestRunner, Tracer, Trials
from coder.core.values import Proposal, Proposals, Suspect
from coder.core.verdict_summary import shorten_value
from coder.files.regular_files import temporary_edits
from coder.index.index import SymbolIndex
from coder.python.source import PythonSource, dump_node, parse_module
from coder.repair.candidates import RepairCandidate
from coder.repair.localization import MAX_SUSPECTS, FaultCase, trace_fault
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.ranking import locate_issue

TRACING_SHARE, MAX_TRACING_SECONDS = 0.25, 15.0
"""Share of the time, and seconds, for tracing. Failing tests run first; their neighbours only sharpen the
suspicion."""
SEARCH_SHARE, EMPTY_SHARE = 0.5, 0.8
"""Shares of the time after which no further candidate is tried if one passes, as it is still to be compared,
and if none does.
"""
MAX_SURVIVORS, MAX_TRIED_AFTER_SURVIVOR = 12, 300
"""Number of survivors, and of candidates tried after the first, after which the search ends."""
FEW_TESTS = 4
"""Tests that execute a function, with which edits of it pass by chance."""
MAX_CONFIRMED = 3
"""Edits of equal answers that are tried in a fresh process until one passes."""
MAX_PROPOSALS = 3
LONGEST_CALL = 200
"""Characters of a call that is shown whole, so that a test can hold it."""
MAX_FRESH = 12
"""Candidates that only a fresh process can judge to run in one, if nothing else passes."""
PROGRESS_INTERVAL_SECONDS = 0.5
COPIED_FAMILIES = frozenset(
    {"copied_statement", "value_elsewhere", "similar_expression", "wrapped_elsewhere"}
)


ClassifyEdits = Callable[[Path, Sequence[Edit], Sequence[str], Sequence[str], float], AnswerClasses]
"""Groups edits of a tree by the answers that calls of the failing and of other tests get, within seconds."""


@dataclass
class SearchState:
    """Outcomes of the candidates tried so far."""

    survivors: list[RepairCandidate] = field(default_factory=list)
    cold: list[RepairCandidate] = field(default_factory=list)
    """Candidates that only a fresh process can judge: those, too, with which a failing test timed out."""
    tried: int = 0
    is_cut: bool = False
    """True if time ended the search: what was not tried may pass as well."""

    @property
    def progress_line(self) -> str:
        """The progress in one line: `1 of 618 candidates passes; first: use `<=` in merge`."""
        first = f"; first: {self.survivors[0].edit.summary}" if len(self.survivors) == 1 else ""
        if self.tried == 1:
            return f"the candidate {'passes' if self.survivors else 'fails'}{first}"
        passing = "passes" if len(self.survivors) == 1 else "pass"
        return f"{len(self.survivors) or 'none'} of {self.tried:,} candidates {passing}{first}"


@dataclass(frozen=True, kw_only=True)
class TemplateProposer:
    """Search-based repair with rewrite rules."""

    tracer: Tracer
    trials: Trials
    runner: TestRunner
    classify: ClassifyEdits

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
        """Trace, localize, search and compare; see `Proposer`."""
        started = time.monotonic()
        tracing_seconds = min(seconds * TRACING_SHARE, MAX_TRACING_SECONDS)
        case = (
            trace_fault(self.tracer, tree, tests, seconds=tracing_seconds, progress=progress)
            if tests
            else "There is no failing test to search with."
        )
        if isinstance(case, str):
            return Proposals(suspects=suspects_from_issue(tree, issue), note=case)
        # Tests that do not end, and a busy machine, take longer to trace than they may: half of the time is
        # left for the search all the same.
        now = time.monotonic()
        deadline = max(started + seconds, now + seconds / 2)
        seconds = deadline - now
        candidates = [
            candidate
            for candidate in case.list_candidates(guards)
            if may_write is None or may_write(candidate.edit.path)
        ]
        state = self._search(case, candidates, deadline=deadline, seconds=seconds, progress=progress)
        proposals, call, more = self._compare(case, state.survivors, deadline)
        return Proposals(
            proposals=proposals,
            more=more,
            call=call,
            suspects=case.suspects[:MAX_SUSPECTS],
            tried=state.tried,
            is_cut=state.is_cut,
            seconds=time.monotonic() - started,
            note=state.progress_line if state.tried else _explain_no_trial(candidates),
        )

    def _search(
        self,
        case: FaultCase,
        candidates: Sequence[RepairCandidate],
        *,
        deadline: float,
        seconds: float,
        progress: Progress | None,
    ) -> SearchState:
        """Try candidates in their order, then more of the places where one passed.

        Those that a fork cannot judge are tried in fresh processes at the end.
        """
        state = SearchState()
        until, last = (deadline - seconds * (1 - share) for share in (SEARCH_SHARE, EMPTY_SHARE))
        try_edits = partial(_try_in_forks, self.trials, case, state=state, until=until, progress=progress)
        if not case.has_collection_error:
            try_edits(candidates, last=last)
            if rivals := list_rivals(case, candidates, state):
                try_edits(rivals, last=until)
        fresh = candidates if case.has_collection_error else state.cold[:MAX_FRESH]
        for candidate in fresh:
            if time.monotonic() > last or len(state.survivors) >= MAX_PROPOSALS:
                break
            if case.has_collection_error or not state.survivors:
                state.tried += case.has_collection_error
                if self._passes(case, candidate, case.failing, seconds=last - time.monotonic()):
                    state.survivors.append(candidate)
        return state

    def _compare(
        self, case: FaultCase, survivors: Sequence[RepairCandidate], deadline: float
    ) -> tuple[tuple[Proposal, ...], str, int]:
        """Return a proposal for each way in which survivors behave, the deciding call, and how many are left.

        A survivor is proposed only if it passes with all tests that execute its place, in a fresh process.
        Where tests make a single call, each survivor is a way of its own.
        """
        plain = sort_by_plainness(survivors, case.sources)
        classes: Sequence[Sequence[int]] = [[index] for index in range(len(plain))]
        call, answers = "", [""] * len(classes)
        if len(plain) > 1 and not case.has_collection_error:
            guards = [*dict.fromkeys(test for item in plain for test in item.edit.guards)]
            seconds = max(deadline - time.monotonic(), MIN_CONFIRMATION_SECONDS)
            edits = [candidate.edit for candidate in plain]
            found = self.classify(case.tree, edits, case.failing, guards, seconds)
            changed = found.changed or [0] * len(found.classes)
            order = sorted(
                range(len(found.classes)),
                key=lambda place: (
                    *plainness(plain[found.classes[place][0]], case.sources)[:2],
                    changed[place],
                ),
            )
            answers = [found.answers[place] if found.answers else "" for place in order]
            classes, call = [found.classes[place] for place in order], found.call
            if found.says_little:  # it decides between nothing but what it shows itself
                pairs = zip(classes, answers, strict=True)
                answer_of = {place: answer for row, answer in pairs for place in row}
                classes = [[place] for place in sorted(answer_of)]
                answers = [answer_of[place] for place in sorted(answer_of)]
        proposals: list[Proposal] = []
        while classes and len(proposals) < MAX_PROPOSALS:
            members, answer = [plain[place] for place in classes[0]], answers[0]
            classes, answers = classes[1:], answers[1:]
            if candidate := self._first_confirmed(case, members, deadline):
                proposals.append(build_proposal(candidate, case.sources[candidate.edit.path], answer))
        call = call if len(call) <= LONGEST_CALL else shorten_value(call)
        return tuple(proposals), call, len(classes)

    def _first_confirmed(
        self, case: FaultCase, members: Sequence[RepairCandidate], deadline: float
    ) -> RepairCandidate | None:
        """Return the first of equal edits that passes in a fresh process; the plainest if no time is left.

        One that changes a single place is plainer than a swap.
        """
        for candidate in sorted(members, key=lambda member: len(member.edit.changes))[:MAX_CONFIRMED]:
            seconds = deadline - time.monotonic()
            tests = [*case.failing, *case.impacted_tests(candidate)]
            if seconds <= 0 or self._passes(case, candidate, tests, seconds=seconds, unless_late=True):
                return candidate
        return None

    def _passes(
        self,
        case: FaultCase,
        candidate: RepairCandidate,
        tests: Sequence[str],
        *,
        seconds: float,
        unless_late: bool = False,
    ) -> bool:
        """Tell whether the failing tests pass, and no test fails, in a fresh process with the edit on disk.

        `unless_late`: a timeout does not refute it, since the final verification runs everything again.
        """
        edit = candidate.edit
        text = edit.apply(case.sources[edit.path].text)
        with temporary_edits(case.tree, {edit.path: text}):
            report = self.runner.run(case.tree, tests, timeout_seconds=seconds, expect_loaded=[edit.path])
        if any(result.red for result in report.results):
            return False
        if report.problem is not None:
            return unless_late and report.problem.kind == "timeout"
        green = [result.id for result in report.results if result.green]
        return all(any(map(match_test_ids([target]), green)) for target in case.failing)


MIN_CONFIRMATION_SECONDS = 5.0


def list_rivals(
    case: FaultCase, candidates: Sequence[RepairCandidate], state: SearchState
) -> list[RepairCandidate]:
    """Return the untried edits of a statement where one passed, if few tests execute its function.

    With few tests, others pass as easily.
    """
    if len(state.survivors) >= MAX_SURVIVORS:
        return []
    places = {
        (survivor.edit.path, survivor.edit.line)
        for survivor in state.survivors
        if len({*case.failing, *case.impacted_tests(survivor)}) <= FEW_TESTS
    }
    rest = candidates[state.tried :]
    return [item for item in rest if (item.edit.path, item.edit.line) in places][:MAX_TRIED_AFTER_SURVIVOR]


def _explain_no_trial(candidates: Sequence[RepairCandidate]) -> str:
    return "time ran out before an edit was tried" if candidates else "no edit fits the likeliest places"


def _try_in_forks(
    trials: Trials,
    case: FaultCase,
    candidates: Sequence[RepairCandidate],
    *,
    state: SearchState,
    until: float,
    last: float,
    progress: Progress | None,
) -> None:
    """Try candidates in order until enough survive, and add their outcomes to `state`.

    It ends `until` a moment if one survives, at the `last` one in any case.
    """
    last_report, first, count = time.monotonic(), 0, 0
    results = trials.try_out(
        case.tree,
        case.failing,
        [candidate.edit for candidate in candidates],
        seconds=max(last - time.monotonic(), 0.0),
    )
    with closing(results):
        for count, (candidate, tried) in enumerate(zip(candidates, results, strict=False), 1):
            state.tried += 1
            if tried.outcome == "passed":
                first = first or count
                state.survivors.append(candidate)
            elif tried.outcome == "cold" or (tried.outcome == "timeout" and tried.test in case.failing):
                state.cold.append(candidate)
            if progress is not None and time.monotonic() - last_report > PROGRESS_INTERVAL_SECONDS:
                last_report = time.monotonic()
                progress(state.progress_line)
            enough = first + MAX_TRIED_AFTER_SURVIVOR if first else len(candidates)
            if count >= enough or len(state.survivors) == MAX_SURVIVORS:
                return
            if first and time.monotonic() > until:
                break
    state.is_cut = state.is_cut or count < len(candidates)


def sort_by_plainness(
    survivors: Sequence[RepairCandidate], sources: Mapping[str, PythonSource]
) -> list[RepairCandidate]:
    """Return survivors that differ in code, plainest first.

    Of equal code the shortest text is kept.
    """
    shortest: dict[str, RepairCandidate] = {}
    for candidate in survivors:
        text = candidate.edit.apply(sources[candidate.edit.path].text)
        code = f"{candidate.edit.path}\n{normalize_module(text)}"
        known = shortest.get(code)
        if known is None or len(text) < len(known.edit.apply(sources[known.edit.path].text)):
            shortest[code] = candidate
    return sorted(shortest.values(), key=lambda candidate: plainness(candidate, sources))


def plainness(candidate: RepairCandidate, sources: Mapping[str, PythonSource]) -> tuple[bool, int, float]:
    """Return what orders edits: plain before copied code, few operations more or less, then the likelier."""
    edit, text = candidate.edit, sources[candidate.edit.path].text
    added = _node_count(edit.apply(text)) - _node_count(text)
    return edit.family in COPIED_FAMILIES, abs(added), -candidate.score


def _node_count(text: str) -> int:
    try:
        return sum(1 for _ in ast.walk(parse_module(text)))
    except (SyntaxError, ValueError):
        return len(text)


def normalize_module(text: str) -> str:
    """Return a dump that is equal for `not x in y` and `x not in y`; the text itself if it is not Python."""
    try:
        return dump_node(EquivalenceNormalizer().visit(parse_module(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


class EquivalenceNormalizer(ast.NodeTransformer):
    """Normalizes equivalent code: `not (a == b)` and `a != b`, keyword arguments in any order."""

    OPPOSITES: ClassVar[dict[type[ast.cmpop], ast.cmpop]] = {
        ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq(), ast.In: ast.NotIn(), ast.NotIn: ast.In(),
        ast.Is: ast.IsNot(), ast.IsNot: ast.Is(),
    }  # fmt: skip

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:  # NodeTransformer requires this name
        self.generic_visit(node)
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[operator]) as comparison) if (
                type(operator) in self.OPPOSITES
            ):
                comparison.ops = [self.OPPOSITES[type(operator)]]
                return comparison
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if all(keyword.arg for keyword in node.keywords):
            node.keywords.sort(key=lambda keyword: str(keyword.arg))
        return node


def build_proposal(candidate: RepairCandidate, source: PythonSource, answer: str = "") -> Proposal:
    edit = candidate.edit
    # Not splitlines: it also splits at form feeds and the like, which git does not treat as line ends.
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (source.text, edit.apply(source.text)))
    lines = difflib.unified_diff(before, after, f"a/{edit.path}", f"b/{edit.path}")
    diff = "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return Proposal(diff=diff, summary=edit.summary, place=candidate.place, answer=shorten_value(answer))


def suspects_from_issue(tree: Path, issue: str) -> tuple[Suspect, ...]:
    """Return the functions that the words of the issue point to."""
    matches = locate_issue(SymbolIndex(tree).refresh(), extract_issue_terms(issue)).symbols[:MAX_SUSPECTS]
    return tuple(
        Suspect(place=match.name, line=match.item.start, score=0.0) for match in matches if match.item
    )
