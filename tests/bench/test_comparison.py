"""Comparison of two runs, task by task."""

from coder.bench.tables import Difference, compare_runs, comparison_markdown
from coder.core.verdict import VerdictKind
from tests.bench.outcomes import outcome


def test_times_and_names_of_sessions_do_not_matter() -> None:
    slow, fast = (
        f"Nothing holds (tried 1,300 candidates, {rate} a second, 0 pass the tests)."
        for rate in ("28", "1,035")
    )
    comparison = compare_runs(
        [outcome("a"), outcome("b", summary=slow)],
        [outcome("b", seconds=9.0, session="t", summary=fast), outcome("a")],
    )
    assert comparison_markdown(comparison) == "2 runs compared: identical but for times.\n"


def test_reports_changes_per_job() -> None:
    before = [outcome("a"), outcome("b", kind=VerdictKind.GAVE_UP), outcome("c"), outcome("d", diff="+y\n")]
    after = [outcome("a", solves=False), outcome("b"), outcome("d"), outcome("e")]
    comparison = compare_runs(before, after)
    assert (comparison.compared, comparison.gained, comparison.lost) == (3, 1, 1)
    assert [difference.task for difference in comparison.differences] == ["a", "b", "c", "d", "e"]
    assert comparison.differences[0] == Difference(
        task="a",
        strategy="linear",
        model="m:one",
        seed=1,
        before="PROVEN, hidden tests: pass, 1 attempt, 2 requests",
        after="PROVEN, hidden tests: 1 fail, 1 attempt, 2 requests",
    )
    assert (comparison.differences[2].after, comparison.differences[4].before) == ("not run", "not run")
    assert comparison.differences[3].after.endswith("(other diff)")
