"""Compares two runs of a suite, test by test."""

from collections.abc import Callable, Collection, Iterable, Sequence

from coder.core.values.paths import file_of, meant
from coder.core.values.verdict import Failure, TestReport, TestResult
from coder.verify.results.failure_reasons import ASSERTIONS, headline, inside

LONGEST_ID = 120
GONE = "Missing"
SHOWN = 3


def no_longer_passing(
    before: TestReport,
    after: TestReport,
    *,
    among: Callable[[str], bool] = lambda _test: True,
    missing_counts: bool,
) -> tuple[TestResult, ...]:
    """Tests that passed before and are red, skipped, expected to fail, or (if that counts) gone now."""
    now = {result.id: result for result in after.results}
    found = []
    for was in before.results:
        if was.outcome != "passed" or not among(was.id):
            continue
        result = now.get(was.id) or _lost_with_its_file(was.id, now)
        if result is None:
            if missing_counts:
                found.append(_gone(was.id))
        elif result.outcome not in ("passed", "xpassed"):
            found.append(result)
    return tuple(found)


def still_red(
    before: TestReport, after: TestReport, *, named: Sequence[str], about: Callable[[str], bool]
) -> tuple[TestResult, ...]:
    """Return named tests that do not pass, and new tests of the change that are red; what was red before and not named is not asked for."""
    is_named = meant(named)
    return tuple(
        result
        for result in after.results
        if (is_named(result.id) and result.outcome != "passed" and not is_left_out(before, result))
        or (result.red and about(result.id) and before.of(result.id) is None)
    )


def missing(named: Sequence[str], report: TestReport) -> list[str]:
    """Return the names that mean no test of a report."""
    return [name for name in named if not any(meant([name])(result.id) for result in report.results)]


def failing_otherwise(before: TestReport, after: TestReport) -> list[str]:
    """Return those of the tests red on both sides that stumble over something else now, half a sentence each, the first few.

    The change has got them further, and not to their end.
    """
    was = {result.id: result for result in before.reds}
    now = [result for result in after.reds if result.id in was and _place(result) != _place(was[result.id])]
    return [
        f"{short(result.id)} fails otherwise than before: {headline(result.failure)}"
        for result in now[:SHOWN]
        if result.failure
    ]


def failing_inside(before: TestReport, after: TestReport, sources: Collection[str]) -> list[str]:
    """Return those of the tests red on both sides that an exception out of the changed sources ends now, and something else before."""
    was = {result.id: result for result in before.reds}
    now = [
        result
        for result in after.reds
        if result.id in was and _place(result) != _place(was[result.id]) and result.failure
    ]
    raised = [result for result in now if result.failure and _raises_in(result.failure, sources)]
    return [
        f"{short(result.id)}, red before too, now fails in the changed code: {headline(result.failure)}"
        for result in raised[:SHOWN]
        if result.failure
    ]


def _raises_in(failure: Failure, sources: Collection[str]) -> bool:
    """Is it an exception, no assertion, that a line of these files raises?"""
    frames = inside(failure)
    return bool(frames) and failure.type not in ASSERTIONS and frames[-1].path in sources


def failing_alike(before: TestReport, after: TestReport) -> list[str]:
    """Return what tests say that stumble over the same on both sides, half a sentence each, the first few: one may show the issue."""
    was = {result.id: result for result in before.reds}
    now = [result for result in after.reds if result.id in was and _place(result) == _place(was[result.id])]
    return [
        f"{short(result.id)} fails as before: {headline(result.failure)}"
        for result in now[:SHOWN]
        if result.failure
    ]


def _place(result: TestResult) -> tuple[str, ...]:
    """What a test stumbles over and where, whatever the line."""
    if result.failure is None:
        return ()
    return (
        result.failure.type,
        *(text for frame in inside(result.failure)[-1:] for text in (frame.path, frame.function)),
    )


def renumbered(before: TestReport, after: TestReport, gone: Iterable[str]) -> tuple[str, ...]:
    """Those of the missing ids that are cases of a parametrised test which passes in at least as many cases as before.

    pytest makes ids of positions, and of values that may be a clock's: a case put before others renames them.
    """

    def cases(report: TestReport, function: str) -> int:
        return sum(
            result.outcome == "passed" and result.id.startswith(f"{function}[") for result in report.results
        )

    functions = {test_id: test_id.partition("[")[0] for test_id in gone if "[" in test_id}
    return tuple(
        test_id
        for test_id, function in functions.items()
        if cases(after, function) >= cases(before, function)
    )


def is_gone(result: TestResult) -> bool:
    return result.failure is not None and result.failure.type == GONE


def is_left_out(before: TestReport, result: TestResult) -> bool:
    """Is it skipped, or expected to fail, as before or in a file that could not be collected before?"""
    was = before.of(result.id)
    return not result.red and was is not None and (was.outcome == result.outcome or was.id != result.id)


def passes(report: TestReport, test_id: str) -> bool:
    result = report.of(test_id)
    return result is not None and result.outcome == "passed"


def sentence(results: Sequence[TestResult], limit: int = 3) -> str:
    """Ids, the first few."""
    more = f" and {len(results) - limit} more" if len(results) > limit else ""
    return ", ".join(short(result.id) for result in results[:limit]) + more


def short(test_id: str) -> str:
    """An id for a sentence: parameters can be of any length."""
    return test_id if len(test_id) <= LONGEST_ID else f"{test_id[: LONGEST_ID - 1]}…"


def _lost_with_its_file(test_id: str, now: dict[str, TestResult]) -> TestResult | None:
    file = now.get(file_of(test_id))
    return file.model_copy(update={"id": test_id}) if file is not None and file.when == "collect" else None


def _gone(test_id: str) -> TestResult:
    told = "it passed before the change and is not there any more; was it removed or renamed, or was a parametrized list put in another order?"
    return TestResult(id=test_id, outcome="error", failure=Failure(type=GONE, message=told))
