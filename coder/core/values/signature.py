"""What makes two failures the same: the exception, and where in the project it came up."""

from collections.abc import Iterable

from coder.core.values.verdict import TestResult


def signature(result: TestResult) -> str:
    """Such as `ValueError in clock.py, minutes`; without line numbers, which every patch moves."""
    if result.failure is None:
        return result.outcome
    own = [frame for frame in result.failure.frames if not frame.path.startswith("/")]
    if own:
        return f"{result.failure.type} in {own[-1].path}, {own[-1].function}"
    return f"{result.failure.type}: {result.failure.message.partition(chr(10))[0][:120]}"


def alike(results: Iterable[TestResult]) -> dict[str, tuple[TestResult, ...]]:
    """Red results by signature, in order of first appearance."""
    groups: dict[str, list[TestResult]] = {}
    for result in results:
        groups.setdefault(signature(result), []).append(result)
    return {told: tuple(group) for told, group in groups.items()}
