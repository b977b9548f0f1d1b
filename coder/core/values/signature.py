"""Failure signatures: the exception, and the place in the project where it was raised."""

from collections.abc import Iterable

from coder.core.values.verdict import TestResult


def failure_signature(result: TestResult) -> str:
    """Return a failure's signature, such as `ValueError in clock.py, minutes`.

    It has no line numbers, which every patch moves.
    """
    if result.failure is None:
        return result.outcome
    own = [frame for frame in result.failure.frames if not frame.path.startswith("/")]
    if own:
        return f"{result.failure.type} in {own[-1].path}, {own[-1].function}"
    return f"{result.failure.type}: {result.failure.message.partition(chr(10))[0][:120]}"


def group_by_signature(results: Iterable[TestResult]) -> dict[str, tuple[TestResult, ...]]:
    """Group failing results by signature, in order of first appearance."""
    groups: dict[str, list[TestResult]] = {}
    for result in results:
        groups.setdefault(failure_signature(result), []).append(result)
    return {key: tuple(group) for key, group in groups.items()}
