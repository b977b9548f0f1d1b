"""Fake outcomes."""

from decimal import Decimal

from coder.bench.runner import Job, Outcome
from coder.core.events import Budget
from coder.core.values import UsageTotals
from coder.core.verdict import Counts, VerdictKind


def outcome(
    task: str = "a",
    *,
    model: str = "m:one",
    seed: int = 1,
    kind: VerdictKind = VerdictKind.PROVEN,
    solves: bool = True,
    **fields: object,
) -> Outcome:
    """Return a run that delivers unless it gave up; `solves`: the hidden tests pass."""
    delivered = kind is not VerdictKind.GAVE_UP
    spent = UsageTotals(
        requests=2, input_tokens=100, cached_tokens=40, output_tokens=10, cost_usd=Decimal("0.02")
    )
    base = Outcome(
        job=Job(task=task, digest="d", strategy="linear", model=model, seed=seed, budget=Budget()),
        solvable=True,
        verdict=kind,
        summary="done",
        delivered=delivered,
        hidden=Counts(passed=3, failed=0 if solves else 1) if delivered else Counts(),
        passes_hidden=delivered and solves,
        attempts=1,
        spent=spent,
        roles={"executor": spent},
        seconds=4.0,
        session="s",
        diff="+x\n" if delivered else "",
    )
    return base.model_copy(update=fields)
