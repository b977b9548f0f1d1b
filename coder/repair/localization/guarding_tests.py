"""Selection of passing tests that guard a candidate edit."""

from collections import Counter
from collections.abc import Iterable, Sequence

from coder.core.ports import Trace
from coder.python.source import PythonSource
from coder.repair.candidates import RepairCandidate

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
        whole_file = (source.path, 1, source.text.count("\n") + 1, max_tests, max_seconds)
        identity = (
            (
                source.path,
                function.body[0].lineno,
                function.end_lineno or function.lineno,
                max_tests,
                max_seconds,
            )
            if function
            else whole_file
        )
        if identity not in self._executing:
            # Code called only at import runs before any test, so any user of the file may depend on it.
            self._executing[identity] = self._select(*identity) or self._select(*whole_file)
        return self._executing[identity]

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
        function = trace.result.id.partition("[")[0]
        turn[function] += 1
        ranked.append((turn[function], trace))
    return [trace for _, trace in sorted(ranked, key=lambda pair: pair[0])]
