"""Jobs, and the file that records them."""

from pathlib import Path

from coder.bench.runner import append_outcome, plan_jobs, read_outcomes
from coder.core.task import Budget
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


def test_proof_contradicted_by_hidden_tests_is_wrong() -> None:
    assert outcome(solves=False).wrongly_proven
    assert not outcome().wrongly_proven
    assert (
        not outcome(solves=False)
        .model_copy(update={"hidden_problem": "it needs a network or a server"})
        .wrongly_proven
    )


def test_delivered_fix_contradicted_by_hidden_tests_is_wrong() -> None:
    wrong = [outcome(kind=kind, solves=False) for kind in (VerdictKind.PROVEN, VerdictKind.FIXED)]
    assert [(one.wrongly_proven, one.wrongly_fixed) for one in wrong] == [(True, True), (False, True)]
    assert not wrong[1].model_copy(update={"delivered": False}).wrongly_fixed
    assert not outcome(kind=VerdictKind.PASSING, solves=False).wrongly_fixed
