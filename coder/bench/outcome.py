"""What is to be run, what came of it, and the file where that is kept."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from pydantic import Field, ValidationError

from coder.core.messages import Spent
from coder.core.values.base import Value
from coder.core.values.task import Budget
from coder.core.values.verdict import Counts, VerdictKind

SCRIPTED = "scripted"
"""The model that answers from each task's script."""
NOBODY = "none"
"""In the place of a model where none is asked."""
UNSTEADY = ("seconds", "session")
"""Fields of an outcome that differ from run to run."""
RATE = re.compile(r", [\d,.]+ a second")
"""What a summary says of the machine's speed."""


class Job(Value):
    """One task under one strategy and model, once."""

    task: str
    digest: str
    """Of the task's files."""
    strategy: str
    model: str
    seed: int
    budget: Budget

    @property
    def key(self) -> str:
        """Equal for jobs that need not be run twice."""
        return sha256(self.model_dump_json().encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        return f"{self.task}, {self.strategy}, {self.model}, seed {self.seed}"


class Outcome(Value):
    """How one job ended."""

    job: Job
    solvable: bool
    verdict: VerdictKind | None
    """None: the session failed."""
    summary: str
    delivered: bool
    hidden: Counts
    """Of the hidden tests on what was delivered; all zero where nothing was."""
    passes_hidden: bool
    hidden_problem: str = ""
    """Why the hidden tests say nothing of the fix: what this machine, or the sandbox, keeps from them."""
    attempts: int
    spent: Spent
    roles: Mapping[str, Spent] = Field(default_factory=dict)
    seconds: float
    session: str
    diff: str

    @property
    def proven(self) -> bool:
        return self.verdict is VerdictKind.PROVEN

    @property
    def wrongly_proven(self) -> bool:
        """Is it PROVEN, and do the hidden tests know better?"""
        return self.proven and not self.passes_hidden and not self.hidden_problem

    def steady(self) -> dict[str, object]:
        """All but times, rates and names of sessions."""
        return {**self.model_dump(mode="json", exclude={*UNSTEADY}), "summary": RATE.sub("", self.summary)}


def jobs(
    tasks: Iterable[tuple[str, str]],
    *,
    strategies: Sequence[str],
    models: Sequence[str],
    seeds: int,
    budget: Budget,
) -> tuple[Job, ...]:
    """Every task (name and digest) under every strategy, model and seed; without a model where the strategy asks none."""
    made = (
        Job(task=name, digest=digest, strategy=strategy, model=model, seed=seed, budget=budget)
        for strategy in strategies
        for model in ((NOBODY,) if strategy == "offline" else models)
        for seed in range(1, seeds + 1)
        for name, digest in tasks
    )
    return tuple(made)


def record(file: Path, outcome: Outcome) -> None:
    """Append one outcome, at once."""
    with file.open("a", encoding="utf-8") as kept:
        kept.write(outcome.model_dump_json() + "\n")


def recorded(file: Path) -> tuple[Outcome, ...]:
    """The outcomes of a file, the newest of each job; a torn last line, or one of another version, counts as nothing."""
    found: dict[str, Outcome] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            outcome = Outcome.model_validate(json.loads(line))
        except (json.JSONDecodeError, ValidationError):
            continue
        found[outcome.job.key] = outcome
    return tuple(found.values())
