"""Shares, their intervals, and sums."""

from decimal import Decimal

import pytest

from coder.bench.tables import summarize_outcomes, wilson_interval
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
    groups = summarize_outcomes(
        [
            outcome("a"),
            outcome("b", solves=False),
            outcome("c", kind=VerdictKind.GAVE_UP),
            outcome("d", kind=VerdictKind.FIXED, solves=False),
            impossible,
        ]
    )
    assert len(groups) == 1
    group = groups[0]
    assert (group.runs, group.proven.count, group.proven.of, group.solved.count) == (5, 2, 4, 1)
    assert (group.fixed.count, group.wrongly_proven, group.wrongly_fixed) == (3, 1, 2)
    assert (group.left_alone.count, group.left_alone.of) == (1, 1)
    assert group.tokens == (100.0, 40.0, 10.0)
    assert group.usd == Decimal("0.02")
