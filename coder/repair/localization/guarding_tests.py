"""Which passing tests stand guard over a place."""

from collections import Counter
from collections.abc import Iterable, Sequence

from coder.core.ports.repair import Trace
from coder.python.source import Source
from coder.repair.candidates import Candidate

MOST_GUARDS = 80
MOST_SECONDS = 2.0
"""Of a candidate's guards together, as they took when they were traced."""


class Guards:
    """Passing tests by the lines that they execute."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._passing = _mixed(trace for trace in traces if trace.result.outcome == "passed")
        self._executing: dict[tuple[str, int, int, int, float], tuple[str, ...]] = {}

    def of(
        self, candidate: Candidate, source: Source, *, most: int = MOST_GUARDS, seconds: float = MOST_SECONDS
    ) -> tuple[str, ...]:
        """Ids of quick passing tests, of as many test functions as there are, that execute the function; where none does, the file."""
        function = source.function_at(candidate.edit.line)
        whole = (source.path, 1, source.text.count("\n") + 1, most, seconds)
        identity = (
            (source.path, function.body[0].lineno, function.end_lineno or function.lineno, most, seconds)
            if function
            else whole
        )
        if identity not in self._executing:
            # What only an import calls is executed before any test, and whatever uses the file may depend on it.
            self._executing[identity] = self._found(*identity) or self._found(*whole)
        return self._executing[identity]

    def _found(self, path: str, first: int, last: int, most: int, most_seconds: float) -> tuple[str, ...]:
        found: list[str] = []
        seconds = 0.0
        for trace in self._passing:
            if any(first <= line <= last for line in trace.lines.get(path, ())):
                seconds += trace.result.seconds
                if len(found) == most or (found and seconds > most_seconds):
                    break
                found.append(trace.result.id)
        return tuple(found)


def _mixed(traces: Iterable[Trace]) -> list[Trace]:
    """The quickest case of each test function, then the second of each, and so on: the quickest of all may be many cases of one."""
    turn: Counter[str] = Counter()
    placed = []
    for trace in sorted(traces, key=lambda trace: trace.result.seconds):
        function = trace.result.id.partition("[")[0]
        turn[function] += 1
        placed.append((turn[function], trace))
    return [trace for _, trace in sorted(placed, key=lambda pair: pair[0])]
