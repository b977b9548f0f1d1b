"""Comparison of two runs, task by task."""

from coder.bench.tables import compare_runs
from coder.core.verdict import VerdictKind
from tests.bench.outcomes import outcome


def test_reports_changes_per_job() -> None:
    before = [outcome("a"), outcome("b", kind=VerdictKind.GAVE_UP), outcome("c"), outcome("d")]
    after = [outcome("a", solves=False), outcome("b"), outcome("d", seconds=9.0, session="t"), outcome("e")]
    lines = compare_runs(before, after).splitlines()
    assert lines[0] == "3 runs compared: 4 differ, 1 solved now, 1 solved no longer."
    assert [line.split(" | ")[0] for line in lines[4:]] == ["| a", "| b", "| c", "| e"]
    assert lines[4].endswith(
        "| PROVEN, hidden tests: pass, 1 attempt | PROVEN, hidden tests: 1 fail, 1 attempt |"
    )
    assert (lines[6].endswith("| not run |"), "| not run |" in lines[7]) == (True, True)
