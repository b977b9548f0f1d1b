"""Jobs, their records, and what tables make of them."""

import csv
import io
import json
from pathlib import Path

import pytest

from coder.bench.runner import (
    GROUP_COLUMNS,
    append_outcome,
    group_outcomes,
    plan_jobs,
    read_outcomes,
    results_csv,
    results_markdown,
    wilson_interval,
)
from coder.core.events import Budget
from coder.core.verdict import VerdictKind
from tests.bench.outcomes import outcome


def test_plans_every_task_strategy_model_and_seed() -> None:
    plan = plan_jobs(
        [("a", "1"), ("b", "2")],
        strategies=["linear", "offline"],
        models=["x:1", "y:2"],
        seeds=2,
        budget=Budget(),
    )
    rows = [(job.strategy, job.model, job.seed, job.task) for job in plan]
    assert rows[:2] == [("linear", "x:1", 1, "a"), ("linear", "x:1", 1, "b")]
    assert len(rows) == len({*rows}) == 12
    assert {model for strategy, model, *_ in rows if strategy == "offline"} == {"none"}


def test_reads_newest_record_of_each_job(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    assert read_outcomes(file) == ()
    first, second, again = outcome("a"), outcome("b"), outcome("a", attempts=2)
    for result in (first, second, again):
        append_outcome(file, result)
    assert read_outcomes(file) == (again, second)


def test_delivered_fix_contradicted_by_hidden_tests_is_wrong() -> None:
    wrong = [outcome(kind=kind, solves=False) for kind in (VerdictKind.PROVEN, VerdictKind.FIXED)]
    assert [(one.wrongly_proven, one.wrongly_fixed) for one in wrong] == [(True, True), (False, True)]
    assert not wrong[0].model_copy(update={"hidden_problem": "it needs a network"}).wrongly_proven
    assert not wrong[1].model_copy(update={"delivered": False}).wrongly_fixed
    assert not outcome(kind=VerdictKind.PASSING, solves=False).wrongly_fixed


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


RUNS = [outcome("b", kind=VerdictKind.GAVE_UP), outcome("a"), outcome("a", model="m:two", solves=False)]


def test_markdown_has_a_row_for_each_group_and_run() -> None:
    text = results_markdown(RUNS)
    assert (
        "| linear | m:one | 2 | 1 of 2 (50 %, 9 to 91) | 1 of 2 (50 %, 9 to 91) | 1 of 2 (50 %, 9 to 91) "
        "| 0 | 0 | none | 1.0 | 2.0 | 100, 40, 10 | 0.0200 | 4.0 |"
    ) in text
    assert "| a | linear | m:two | 1 | PROVEN | 1 fail | 1 | 2 | 110 | 0.0200 | 4.0 |  |" in text
    assert (
        "| b | linear | m:one | 1 | GAVE UP | nothing delivered | 1 | 2 | 110 | 0.0200 | 4.0 | done |" in text
    )
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 2 + 2 + 2 + 3


def test_csv_can_be_read_back() -> None:
    rows = [*csv.DictReader(io.StringIO(results_csv(RUNS)))]
    assert [(row["task"], row["model"], row["verdict"]) for row in rows] == [
        ("a", "m:one", "PROVEN"),
        ("a", "m:two", "PROVEN"),
        ("b", "m:one", "GAVE UP"),
    ]
    assert json.loads(rows[0]["tokens_by_role"])["executor"]["input_tokens"] == 100
