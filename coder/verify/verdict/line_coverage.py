"""Lines of changed sources that tests execute."""

from collections.abc import Iterator, Mapping
from types import CodeType

from coder.core.ports import Traces
from coder.core.verdict import LineCoverage
from coder.python.source import PARSER_LOCK


def measure_coverage(texts: Mapping[str, str], traces: Traces) -> LineCoverage | None:
    """Return how many lines of some sources (texts by path) the traced tests execute; None if unknown.

    Lines that run at import count as executed.
    """
    if traces.problem is not None:
        return None
    executed: dict[str, set[int]] = {}
    for lines in (traces.imported, *(trace.lines for trace in traces.tests)):
        for path, numbers in lines.items():
            executed.setdefault(path, set()).update(numbers)
    expected = {path: executable_lines(text, path) for path, text in texts.items()}
    missing = {path: sorted(lines - executed.get(path, set())) for path, lines in expected.items()}
    total = sum(map(len, expected.values()))
    return LineCoverage(
        lines=total,
        executed=total - sum(map(len, missing.values())),
        missing=tuple(place for path, lines in missing.items() for place in _join_lines(path, lines)),
    )


def executable_lines(text: str, path: str) -> frozenset[int]:
    """Return the lines on which an instruction starts, from 1; empty if the source does not compile."""
    try:
        with PARSER_LOCK:
            code = compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(line for part in _code_objects(code) for _, _, line in part.co_lines() if line)


def _code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_objects(constant)


def _join_lines(path: str, lines: list[int]) -> Iterator[str]:
    """Yield `path:line`, or `path:first-last` for lines that follow each other."""
    first = None
    for number, line in enumerate(lines):
        first = line if first is None else first
        if number + 1 == len(lines) or lines[number + 1] != line + 1:
            yield f"{path}:{first}" if first == line else f"{path}:{first}-{line}"
            first = None
