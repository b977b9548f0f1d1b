"""A fault as tests show it: failures, executed lines and their suspicion."""

import ast
from collections.abc import Sequence
from pathlib import Path

from coder.core.ports.repair import Trace, Tracer, Traces
from coder.core.ports.sandbox import Progress
from coder.core.values.paths import meant
from coder.core.values.proposal import Suspect, Suspected
from coder.python.source import Source
from coder.repair.candidates import Candidate, candidates, ranked
from coder.repair.context.endless_loops import never_ended
from coder.repair.generators.names.suggestions import NAME, said
from coder.repair.localization.fault_localization import (
    ochiai,
    suspects,
    weighted,
    with_bodies,
    with_demanded,
    with_imports,
    with_mixed_up,
    with_refused,
    without_comparisons,
)
from coder.repair.localization.guarding_tests import Guards
from coder.repair.search.repeated_edits import repeated
from coder.repair.syntax_errors import rereadable, unreadable

MOST_SUSPECTS = 10
MOST_IMPACTED, IMPACTED_SECONDS = 300, 10.0


class Case:
    """One fault: the failing tests, the lines they execute, and the suspicion of each line."""

    def __init__(self, tree: Path, traces: Traces, reds: Sequence[Trace]) -> None:
        self.tree = tree
        self.failing = tuple(trace.result.id for trace in reds)
        self.uncollected = any(trace.result.when == "collect" for trace in reds)
        """Whether tests could not be collected: then no process that has collected them can judge an edit."""
        self._failures = tuple(trace.result.failure for trace in reds if trace.result.failure)
        others = [trace for trace in traces.tests if not trace.result.red]
        scores = weighted(ochiai([*reds, *others]), self._failures)
        paths = [*sorted(scores), *sorted(traces.imported.keys() - scores.keys())]
        self.sources = {path: source for path in paths if (source := read(tree, path)) is not None}
        self._unreadable = {
            source: line
            for path, line in unreadable(self._failures).items()
            if path not in self.sources and (source := unparsed(tree, path)) is not None
        }
        self.sources |= {source.path: source for source in self._unreadable}
        scores = without_comparisons(scores, self.sources)
        self.suspects: tuple[Suspect, ...] = suspects(scores, self.sources)
        scores = with_refused(
            with_imports(scores, self.sources, traces.imported, _names_read(tree, self.failing)),
            self.sources,
            self._failures,
        )
        scores = with_demanded(scores, self.sources, self._failures)
        scores = with_bodies(scores, self.sources) if self.uncollected else scores
        self._scores = with_mixed_up(scores, self.sources)
        self._guards = Guards(others)

    @property
    def undefined(self) -> frozenset[str]:
        """Names that failures report undefined and that the executed files read."""
        names = said(self._failures, NAME)
        trees = (source.tree for source in self.sources.values()) if names else ()
        return names & {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}

    @property
    def endless(self) -> bool:
        """Whether a test timed out: then the unchanged code has no answers to compare with."""
        return never_ended(self._failures)

    def candidates(self, guards: Sequence[str] = ()) -> list[Candidate]:
        """Return the candidates in the order to try them, each with these guards and its own."""
        single = candidates(self.sources, self._scores, self._failures)
        slips = [
            slip
            for source, line in self._unreadable.items()
            for slip in rereadable(source.path, source.text, line)
        ]
        return [
            self._with_guards(candidate, guards)
            for candidate in ranked([*slips, *single, *repeated(single, self.sources)])
        ]

    def impacted(self, candidate: Candidate) -> tuple[str, ...]:
        """Return all passing tests that execute the changed function, within the time of one process."""
        return self._guards.of(
            candidate, self.sources[candidate.edit.path], most=MOST_IMPACTED, seconds=IMPACTED_SECONDS
        )

    def _with_guards(self, candidate: Candidate, guards: Sequence[str]) -> Candidate:
        own = self._guards.of(candidate, self.sources[candidate.edit.path])
        edit = candidate.edit.model_copy(update={"guards": tuple(dict.fromkeys([*guards, *own]))})
        return Candidate(edit=edit, score=candidate.score, place=candidate.place)


def traced(
    tracer: Tracer, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
) -> Case | str:
    """Run failing tests and their neighbours, and build a case from what they execute.

    Returns the reason if there is none.
    """
    traces = tracer.trace(tree, tests, seconds=seconds, progress=progress)
    if traces.problem is not None:
        return traces.problem.text
    is_named = meant(tests)
    reds = [trace for trace in traces.tests if trace.result.red and is_named(trace.result.id)]
    return Case(tree, traces, reds) if reds else "The tests that failed pass when they run by themselves."


class SpectrumFaults:
    """Faults port: Ochiai over the lines that failing and passing tests execute."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def suspects(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> Suspected:
        case = traced(self._tracer, tree, tests, seconds=seconds, progress=progress)
        if isinstance(case, str):
            return Suspected(problem=case)
        return Suspected(suspects=case.suspects[:MOST_SUSPECTS], tests=case.failing)


def _names_read(tree: Path, tests: Sequence[str]) -> frozenset[str]:
    """Return the names and attributes that the functions of these tests read."""
    names: set[str] = set()
    for path, function_name in {
        (test.split("::")[0], test.rpartition("::")[2].partition("[")[0]) for test in tests
    }:
        source = read(tree, path)
        for function in (
            (definition for definition in source.functions if definition.name == function_name)
            if source
            else ()
        ):
            names |= {
                node.id if isinstance(node, ast.Name) else node.attr
                for node in ast.walk(function)
                if isinstance(node, ast.Name | ast.Attribute)
            }
    return frozenset(names)


def read(tree: Path, path: str) -> Source | None:
    """Read a source file; None if it is not UTF-8, or not Python that this interpreter can parse."""
    try:
        return Source(path, (tree / path).read_bytes().decode())
    except (OSError, SyntaxError, ValueError):
        return None


def unparsed(tree: Path, path: str) -> Source | None:
    """Read a source file that does not parse, with an empty syntax tree; None if it is not UTF-8."""
    try:
        return Source(path, (tree / path).read_bytes().decode(), ast.Module([], []))
    except (OSError, ValueError):
        return None
