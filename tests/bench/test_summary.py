"""Shares, their intervals, and sums."""

import pytest

from coder.bench.tables import GROUP_COLUMNS, group_outcomes, wilson_interval
from coder.core.verdict import VerdictKind
from tests.bench.outcomes import outcome


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (1, 30, 0.0059, 0.1667),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson(count: int, of: int, low: float, high: float) -> None:
    assert wilson_interval(count, of) == pytest.approx((low, high), abs=1e-4)


def test_shares_count_solvable_tasks() -> None:
    impossible = outcome("z", kind=VerdictKind.GAVE_UP, solvable=False)
    runs = [
        outcome("a"),
        outcome("b", solves=False),
        outcome("c", kind=VerdictKind.GAVE_UP),
        outcome("d", kind=VerdictKind.FIXED, solves=False),
        impossible,
    ]
    (group,) = group_outcomes(runs)
    cells = {name: str(cell(group)).partition(" (")[0] for name, cell in GROUP_COLUMNS.items()}
    assert [*cells.values()] == [
        *("linear", "m:one", "5", "2 of 4", "3 of 4", "1 of 4", "1", "2", "1 of 1"),
        *("1.0", "2.0", "100, 40, 10", "0.0200", "4.0"),
    ]
