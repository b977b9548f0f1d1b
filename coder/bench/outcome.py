"""Jobs of a benchmark, their outcomes, and the file that stores them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from pydantic import Field, ValidationError

from coder.core.messages import UsageTotals
from coder.core.values.base import Value
from coder.core.values.task import Budget
from coder.core.values.verdict import Counts, VerdictKind

SCRIPTED = "scripted"
"""Name of the model that answers from each task's script."""
NO_MODEL_NAME = "none"
"""Model name of strategies that ask none."""
VOLATILE_FIELDS = ("seconds", "session")
"""Fields of an outcome that differ from run to run."""
RATE = re.compile(r", [\d,.]+ a second")
"""Matches the machine's speed in a summary."""


class Job(Value):
    """One run of one task under one strategy and model."""

    task: str
    digest: str
    """Digest of the task's files."""
    strategy: str
    model: str
    seed: int
    budget: Budget

    @property
    def key(self) -> str:
        """Key that is equal for jobs that need not be run twice."""
        return sha256(self.model_dump_json().encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        return f"{self.task}, {self.strategy}, {self.model}, seed {self.seed}"


class Outcome(Value):
    """Result of one job."""

    job: Job
    solvable: bool
    verdict: VerdictKind | None
    """None if the session failed."""
    summary: str
    delivered: bool
    hidden: Counts
    """Counts of the hidden tests on the delivered change; all zero without one."""
    passes_hidden: bool
    hidden_problem: str = ""
    """Reason why the hidden tests say nothing of the fix: the machine or the sandbox lacks something."""
    attempts: int
    spent: UsageTotals
    roles: Mapping[str, UsageTotals] = Field(default_factory=dict)
    seconds: float
    session: str
    diff: str

    @property
    def proven(self) -> bool:
        return self.verdict is VerdictKind.PROVEN

    @property
    def wrongly_proven(self) -> bool:
        """Whether it is PROVEN although the hidden tests fail."""
        return self.proven and not self.passes_hidden and not self.hidden_problem

    def stable_fields(self) -> dict[str, object]:
        """Return all fields but times, rates and session names."""
        return {
            **self.model_dump(mode="json", exclude={*VOLATILE_FIELDS}),
            "summary": RATE.sub("", self.summary),
        }


def plan_jobs(
    tasks: Iterable[tuple[str, str]],
    *,
    strategies: Sequence[str],
    models: Sequence[str],
    seeds: int,
    budget: Budget,
) -> tuple[Job, ...]:
    """Return a job for each task (name and digest), strategy, model and seed.

    There is one job without a model for a strategy that asks none.
    """
    all_jobs = (
        Job(task=name, digest=digest, strategy=strategy, model=model, seed=seed, budget=budget)
        for strategy in strategies
        for model in ((NO_MODEL_NAME,) if strategy == "offline" else models)
        for seed in range(1, seeds + 1)
        for name, digest in tasks
    )
    return tuple(all_jobs)


def append_outcome(file: Path, outcome: Outcome) -> None:
    """Append one outcome to a file."""
    with file.open("a", encoding="utf-8") as stream:
        stream.write(outcome.model_dump_json() + "\n")


def read_outcomes(file: Path) -> tuple[Outcome, ...]:
    """Return the newest outcome of each job in a file; incomplete or incompatible lines are ignored."""
    outcomes: dict[str, Outcome] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            outcome = Outcome.model_validate(json.loads(line))
        except (json.JSONDecodeError, ValidationError):
            continue
        outcomes[outcome.job.key] = outcome
    return tuple(outcomes.values())
