"""Places of a fault: lines that failing tests execute and passing tests do not; tests that guard them.

The measure is Ochiai, from R. Abreu, P. Zoeteweij and A. J. C. van Gemund, "On the Accuracy of Spectrum-based
Fault Localization" (TAIC PART 2007): failed(line) / sqrt(failed * (failed(line) + passed(line))).
"""

import ast
import builtins
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from coder.core.paths import is_test_path, match_test_ids, test_file_of, test_function_of, test_name_of
from coder.core.ports import Progress, Trace, Tracer, Traces
from coder.core.values import Suspect, SuspectRanking
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource, decode_source, find_nodes, header_lines
from coder.repair.candidates import (
    RepairCandidate,
    combine_repeated_edits,
    generate_candidates,
    rank_candidates,
)
from coder.repair.site import assigned_names, local_names

MAX_SUSPECTS = 10
MAX_IMPACTED_TESTS, IMPACTED_SECONDS = 300, 10.0
TIMEOUT_TYPE = "TooLong"
"""The type of a failure whose test was stopped because it did not end by itself."""


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
            raise_import_time_code(
                scores, self.sources, traces.imported, _names_in_tests(tree, self.failing)
            ),
            self.sources,
            self._failures,
        )
        self._scores = raise_class_bodies(scores, self.sources) if self.has_collection_error else scores
        self._guards = GuardSelector(others)

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


def _names_in_tests(tree: Path, tests: Sequence[str]) -> frozenset[str]:
    """Return the names and attributes that the functions of these tests read."""
    functions = {(test_file_of(test), test_name_of(test)) for test in tests}
    sources = [(read_source(tree, path), name) for path, name in functions]
    return frozenset(found for source, name in sources if source for found in source.names_in(name))


def read_source(tree: Path, path: str) -> PythonSource | None:
    """Read a source file; None if its encoding is wrong, or this interpreter cannot parse it."""
    try:
        return PythonSource(path, decode_source((tree / path).read_bytes())[0])
    except (OSError, SyntaxError, ValueError):
        return None


# Suspicion of lines.

FRAME_FACTORS = (1.3, 1.15, 1.05)
"""Suspicion factors of the innermost frame of a failure, of the next outer one, and of the one after."""
IMPORT_TIME_FACTOR = 0.4
"""Suspicion of code that runs at import, as a factor of the suspicion of the functions that use it."""
OTHER_FILE_FACTOR = 0.7
"""Additional factor if these functions are in another file."""
TABLE_LINES = 16
"""Lines from which on a table shares its suspicion: a reader uses one of its rows."""
CALL_ERROR, HEADER_SHARE = re.compile(r"\b(\w+)\(\) (?:takes|got|missing)"), 0.9
"""Pattern that names a function called with wrong arguments, and the share of the highest suspicion for its
header."""
COMPARISON_FACTOR = 0.6
"""Suspicion factor of comparison methods: assertions call them whatever they are about."""
COMPARISON_METHODS = frozenset(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "hash", "bool"))
SuspicionScores = Mapping[str, Mapping[int, float]]
"""Suspicion by path and line; only lines that a failing test executes."""


def ochiai_scores(traces: Sequence[Trace]) -> dict[str, dict[int, float]]:
    """Return the suspicion of each line that a failing test executes, 0 to 1; skipped tests do not count."""
    failing: Counter[tuple[str, int]] = Counter()
    passing: Counter[tuple[str, int]] = Counter()
    for trace in traces:
        counter = failing if trace.result.red else passing if trace.result.green else None
        if counter is not None:
            counter.update((path, line) for path, lines in trace.lines.items() for line in lines)
    red_count = sum(trace.result.red for trace in traces)
    scores: dict[str, dict[int, float]] = {}
    for (path, line), count in failing.items():
        scores.setdefault(path, {})[line] = count / math.sqrt(red_count * (count + passing[path, line]))
    return scores


def raise_failure_frames(scores: SuspicionScores, failures: Sequence[Failure]) -> dict[str, dict[int, float]]:
    """Raise the innermost frames of the failures, except of timeouts, whose frames are arbitrary."""
    raised = {path: dict(lines) for path, lines in scores.items()}
    for failure in (
        candidate_failure for candidate_failure in failures if candidate_failure.type != TIMEOUT_TYPE
    ):
        frames = [frame for frame in failure.frames if frame.path in scores and not is_test_path(frame.path)]
        for frame, factor in zip(reversed(frames), FRAME_FACTORS, strict=False):
            lines = raised[frame.path]
            if frame.line in lines:
                lines[frame.line] = max(lines[frame.line], scores[frame.path][frame.line] * factor)
    return raised


def lower_comparison_methods(
    scores: SuspicionScores, sources: Mapping[str, PythonSource]
) -> dict[str, dict[int, float]]:
    lowered = {path: dict(lines) for path, lines in scores.items()}
    for path, source in sources.items():
        for function in source.functions if path in lowered else ():
            if function.name in COMPARISON_METHODS:
                inside = range(function.lineno, (function.end_lineno or function.lineno) + 1)
                lowered[path] |= {
                    line: lowered[path][line] * COMPARISON_FACTOR for line in inside if line in lowered[path]
                }
    return lowered


def raise_miscalled_functions(
    scores: SuspicionScores, sources: Mapping[str, PythonSource], failures: Sequence[Failure]
) -> dict[str, dict[int, float]]:
    """Raise the headers of functions that a TypeError says were called with wrong arguments.

    Their bodies never ran.
    """
    highest = max((score for lines in scores.values() for score in lines.values()), default=1.0)
    function_names = {
        name
        for failure in failures
        if failure.type == "TypeError"
        for name in CALL_ERROR.findall(failure.message)
    }
    raised = {path: dict(lines) for path, lines in scores.items()}
    for path, source in sources.items():
        for function in source.functions if function_names else ():
            if function.name in function_names:
                lines = raised.setdefault(path, {})
                lines[function.lineno] = max(lines.get(function.lineno, 0.0), highest * HEADER_SHARE)
    return raised


def raise_import_time_code(
    scores: SuspicionScores,
    sources: Mapping[str, PythonSource],
    imported: Mapping[str, Collection[int]],
    names_in_tests: Collection[str] = (),
) -> dict[str, dict[int, float]]:
    """Raise code that ran at import for the suspicious functions and failing tests that use it.

    `imported` are the lines that ran at import, `names_in_tests` the names that failing tests read.
    """
    used = {path: _names_read(scores.get(path, {}), source) for path, source in sources.items()}
    highest = max((score for lines in scores.values() for score in lines.values()), default=1.0)
    scores_by_name = dict.fromkeys(names_in_tests, highest * OTHER_FILE_FACTOR)
    for names in used.values():
        scores_by_name |= {
            name: max(score * OTHER_FILE_FACTOR, scores_by_name.get(name, 0.0))
            for name, score in names.items()
        }
    raised = {}
    for path, source in sources.items():
        names = {name: max(score, used[path].get(name, 0.0)) for name, score in scores_by_name.items()}
        asked_scores = {name: highest * OTHER_FILE_FACTOR for name in names_in_tests}
        raised[path] = _raise_import_lines(
            scores.get(path, {}), source, names, imported.get(path, ()), asked_scores
        )
    return raised


def _raise_import_lines(
    scores: Mapping[int, float],
    source: PythonSource,
    used: Mapping[str, float],
    imported: Collection[int],
    scores_in_tests: Mapping[str, float],
) -> dict[int, float]:
    raised = dict(scores)
    function_scores = {function: highest_suspicion(function, scores) for function in source.functions}
    class_scores: dict[ast.ClassDef | None, float] = {}
    caller_scores: dict[str, float] = {}
    for function, score in function_scores.items():
        own_score = max(score, scores_in_tests.get(function.name, 0.0))
        raised[function.lineno] = max(raised.get(function.lineno, 0.0), own_score * IMPORT_TIME_FACTOR)
        caller_scores |= {
            name: max(own_score, caller_scores.get(name, 0.0)) for name in _decorator_names(function)
        }
        owner = source.owner_class(function)
        class_scores[owner] = max(class_scores.get(owner, 0.0), score) if owner else 0.0
    for statement in _top_level_assignments(source):
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        suspicion = _highest_score(used, assigned_names(statement))
        _raise_lines(raised, lines, suspicion * min(1.0, math.sqrt(TABLE_LINES / len(lines))))
        called = {node.func.id for node in find_nodes(statement, ast.Call) if isinstance(node.func, ast.Name)}
        caller_scores |= {name: max(suspicion, caller_scores.get(name, 0.0)) for name in called}
    for function, score in function_scores.items():
        lines_at_import = [
            line for line in imported if function.body[0].lineno <= line <= (function.end_lineno or 0)
        ]
        if lines_at_import and not score:
            shared_score = _highest_score(used, _non_local_names(source, function))
            _raise_lines(
                raised,
                lines_at_import,
                max(
                    shared_score,
                    class_scores[source.owner_class(function)],
                    caller_scores.get(function.name, 0.0),
                ),
            )
    return {line: score for line, score in raised.items() if score}


def _decorator_names(function: Function) -> frozenset[str]:
    callees = (
        decorator.func if isinstance(decorator, ast.Call) else decorator
        for decorator in function.decorator_list
    )
    return frozenset(decorator.id for decorator in callees if isinstance(decorator, ast.Name))


def _non_local_names(source: PythonSource, function: Function) -> frozenset[str]:
    """Return non-local names that a function uses: it may share state with others through them."""
    names = {node.id for node in find_nodes(function, ast.Name)}
    globals_declared = {name for node in find_nodes(function, ast.Global) for name in node.names}
    return frozenset(names - {*dir(builtins)} - ({*local_names(source, function)} - globals_declared))


def _raise_lines(scores: dict[int, float], lines: Collection[int], suspicion: float) -> None:
    """Raise lines that run at import in proportion to the suspicion of their users."""
    scores |= {line: max(scores.get(line, 0.0), IMPORT_TIME_FACTOR * suspicion) for line in lines}


def _highest_score(used: Mapping[str, float], names: Iterable[str]) -> float:
    return max((used.get(name, 0.0) for name in names), default=0.0)


def _names_read(scores: Mapping[int, float], source: PythonSource) -> dict[str, float]:
    """Return the names that the functions of a file use, with the suspicion of their most suspicious user."""
    used: dict[str, float] = {}
    for function in source.functions:
        score = highest_suspicion(function, scores)
        for node in ast.walk(function) if score else ():
            name = (
                node.id
                if isinstance(node, ast.Name)
                else node.attr
                if isinstance(node, ast.Attribute)
                else ""
            )
            used[name] = max(used.get(name, 0.0), score)
    return used


def raise_class_bodies(
    scores: SuspicionScores, sources: Mapping[str, PythonSource]
) -> dict[str, dict[int, float]]:
    """Raise the bodies of classes whose creation failed, since creating a class evaluates its body."""
    raised = {path: dict(lines) for path, lines in scores.items()}
    for path, source in sources.items():
        lines = raised.get(path, {})
        for node in find_nodes(source.tree, ast.ClassDef):
            score = max((lines.get(line, 0.0) for line in header_lines(node)), default=0.0)
            body_lines = (
                [line for statement in node.body for line in header_lines(statement)] if score else []
            )
            lines |= {line: max(lines.get(line, 0.0), score * HEADER_SHARE) for line in body_lines}
    return raised


def highest_suspicion(function: Function, scores: Mapping[int, float]) -> float:
    """Return the highest suspicion in a function's body; the header runs when the function is defined."""
    return max(
        (scores.get(line, 0.0) for line in range(function.body[0].lineno, (function.end_lineno or 0) + 1)),
        default=0.0,
    )


def rank_suspects(scores: SuspicionScores, sources: Mapping[str, PythonSource]) -> tuple[Suspect, ...]:
    """Return functions by descending suspicion: of their worst line, then on average, then shorter first."""
    ranked = []
    for path, source in sources.items():
        lines_of: dict[str, dict[int, float]] = {}
        for line, score in scores.get(path, {}).items():
            function = source.function_at(line)
            place = source.qualified_place(function) if function else f"{path}:{line}"
            lines_of.setdefault(place, {})[line] = score
        for place, lines in lines_of.items():
            worst = min(lines, key=lambda line: (-lines[line], line))
            average = sum(lines.values()) / len(lines)
            suspect = Suspect(place=place, line=worst, score=min(1.0, lines[worst]))
            ranked.append(((-lines[worst], -average, len(lines), place), suspect))
    return tuple(suspect for _, suspect in sorted(ranked, key=lambda pair: pair[0]))


def _top_level_assignments(source: PythonSource) -> list[ast.stmt]:
    return [node for node in source.top_level if isinstance(node, ast.Assign | ast.AnnAssign)]


# Selection of passing tests that guard a candidate edit.

MAX_GUARDS = 80
MAX_GUARD_SECONDS = 2.0
"""Total duration of a candidate's guards, as measured while tracing."""


class GuardSelector:
    """Passing tests by the lines that they execute."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._passing = _interleave_by_function(trace for trace in traces if trace.result.outcome == "passed")
        self._executing: dict[tuple[str, int, int, int, float], tuple[str, ...]] = {}

    def select_guards(
        self,
        candidate: RepairCandidate,
        source: PythonSource,
        *,
        max_tests: int = MAX_GUARDS,
        max_seconds: float = MAX_GUARD_SECONDS,
    ) -> tuple[str, ...]:
        """Return ids of quick passing tests that execute the function, or else the file.

        The tests are spread over as many test functions as possible.
        """
        function = source.function_at(candidate.edit.line)
        whole = 1, source.text.count("\n") + 1
        lines = (function.body[0].lineno, function.end_lineno or function.lineno) if function else whole
        key = source.path, *lines, max_tests, max_seconds
        if key not in self._executing:
            # Code called only at import runs before any test, so any user of the file may depend on it.
            rest = source.path, *whole, max_tests, max_seconds
            self._executing[key] = self._select(*key) or self._select(*rest)
        return self._executing[key]

    def _select(self, path: str, first: int, last: int, most: int, most_seconds: float) -> tuple[str, ...]:
        ids: list[str] = []
        seconds = 0.0
        for trace in self._passing:
            if any(first <= line <= last for line in trace.lines.get(path, ())):
                seconds += trace.result.seconds
                if len(ids) == most or (ids and seconds > most_seconds):
                    break
                ids.append(trace.result.id)
        return tuple(ids)


def _interleave_by_function(traces: Iterable[Trace]) -> list[Trace]:
    """Order the quickest case of each test function first, then the second of each, and so on.

    The quickest tests overall may be many cases of a single function.
    """
    turn: Counter[str] = Counter()
    ranked = []
    for trace in sorted(traces, key=lambda trace: trace.result.seconds):
        function = test_function_of(trace.result.id)
        turn[function] += 1
        ranked.append((turn[function], trace))
    return [trace for _, trace in sorted(ranked, key=lambda pair: pair[0])]
