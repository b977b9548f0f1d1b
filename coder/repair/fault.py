"""A fault as tests show it: failures, executed lines and their suspicion."""

import ast
from collections.abc import Sequence
from pathlib import Path

from coder.core.paths import match_test_ids
from coder.core.ports import Progress, Trace, Tracer, Traces
from coder.core.values import Suspect, SuspectRanking
from coder.python.source import PythonSource, decode_source, find_nodes
from coder.repair.candidates import (
    RepairCandidate,
    combine_repeated_edits,
    generate_candidates,
    rank_candidates,
)
from coder.repair.fault_localization import (
    GuardSelector,
    lower_comparison_methods,
    ochiai_scores,
    raise_class_bodies,
    raise_confused_names,
    raise_failure_frames,
    raise_import_time_code,
    raise_miscalled_functions,
    raise_misnamed_definitions,
    rank_suspects,
)
from coder.repair.generators.conditions import has_timeout
from coder.repair.generators.names import UNDEFINED_NAME, find_in_messages

MAX_SUSPECTS = 10
MAX_IMPACTED_TESTS, IMPACTED_SECONDS = 300, 10.0


class FaultCase:
    """One fault: the failing tests, the lines they execute, and the suspicion of each line."""

    def __init__(self, tree: Path, traces: Traces, reds: Sequence[Trace]) -> None:
        self.tree = tree
        self.failing = tuple(trace.result.id for trace in reds)
        self.has_collection_error = any(trace.result.when == "collect" for trace in reds)
        """Whether tests could not be collected: then no process that has collected them can judge an edit."""
        self._failures = tuple(trace.result.failure for trace in reds if trace.result.failure)
        others = [trace for trace in traces.tests if not trace.result.red]
        scores = raise_failure_frames(ochiai_scores([*reds, *others]), self._failures)
        paths = [*sorted(scores), *sorted(traces.imported.keys() - scores.keys())]
        self.sources = {path: source for path in paths if (source := read_source(tree, path)) is not None}
        scores = lower_comparison_methods(scores, self.sources)
        self.suspects: tuple[Suspect, ...] = rank_suspects(scores, self.sources)
        scores = raise_miscalled_functions(
            raise_import_time_code(scores, self.sources, traces.imported, _names_read(tree, self.failing)),
            self.sources,
            self._failures,
        )
        scores = raise_misnamed_definitions(scores, self.sources, self._failures)
        scores = raise_class_bodies(scores, self.sources) if self.has_collection_error else scores
        self._scores = raise_confused_names(scores, self.sources)
        self._guards = GuardSelector(others)

    @property
    def undefined_names(self) -> frozenset[str]:
        """Names that failures report undefined and that the executed files read."""
        names = find_in_messages(self._failures, UNDEFINED_NAME)
        trees = (source.tree for source in self.sources.values()) if names else ()
        return names & {node.id for tree in trees for node in find_nodes(tree, ast.Name)}

    @property
    def has_timeout(self) -> bool:
        """Whether a test timed out: then the unchanged code has no answers to compare with."""
        return has_timeout(self._failures)

    def list_candidates(self, guards: Sequence[str] = ()) -> list[RepairCandidate]:
        """Return the candidates in the order to try them, each with these guards and its own."""
        single = generate_candidates(self.sources, self._scores, self._failures)
        return [
            self._with_guards(candidate, guards)
            for candidate in rank_candidates([*single, *combine_repeated_edits(single, self.sources)])
        ]

    def impacted_tests(self, candidate: RepairCandidate) -> tuple[str, ...]:
        """Return all passing tests that execute the changed function, within the time of one process."""
        return self._guards.select_guards(
            candidate,
            self.sources[candidate.edit.path],
            max_tests=MAX_IMPACTED_TESTS,
            max_seconds=IMPACTED_SECONDS,
        )

    def _with_guards(self, candidate: RepairCandidate, guards: Sequence[str]) -> RepairCandidate:
        own = self._guards.select_guards(candidate, self.sources[candidate.edit.path])
        edit = candidate.edit.model_copy(update={"guards": tuple(dict.fromkeys([*guards, *own]))})
        return RepairCandidate(edit=edit, score=candidate.score, place=candidate.place)


def trace_fault(
    tracer: Tracer, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
) -> FaultCase | str:
    """Run failing tests and their neighbours, and build a case from what they execute.

    Returns the reason if there is none.
    """
    traces = tracer.trace(tree, tests, seconds=seconds, progress=progress)
    if traces.problem is not None:
        return traces.problem.text
    is_named = match_test_ids(tests)
    reds = [trace for trace in traces.tests if trace.result.red and is_named(trace.result.id)]
    if reds:
        return FaultCase(tree, traces, reds)
    if not any(is_named(trace.result.id) for trace in traces.tests):
        return f"No test ran that is named {', '.join(tests)}: see that it exists."
    return "The tests that failed pass when they run by themselves."


class SpectrumFaults:
    """Faults port: Ochiai over the lines that failing and passing tests execute."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def rank_suspects(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> SuspectRanking:
        case = trace_fault(self._tracer, tree, tests, seconds=seconds, progress=progress)
        if isinstance(case, str):
            return SuspectRanking(problem=case)
        return SuspectRanking(suspects=case.suspects[:MAX_SUSPECTS], tests=case.failing)


def _names_read(tree: Path, tests: Sequence[str]) -> frozenset[str]:
    """Return the names and attributes that the functions of these tests read."""
    names: set[str] = set()
    for path, function_name in {
        (test.split("::")[0], test.rpartition("::")[2].partition("[")[0]) for test in tests
    }:
        source = read_source(tree, path)
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


def read_source(tree: Path, path: str) -> PythonSource | None:
    """Read a source file; None if its encoding is wrong, or this interpreter cannot parse it."""
    try:
        return PythonSource(path, decode_source((tree / path).read_bytes())[0])
    except (OSError, SyntaxError, ValueError):
        return None
