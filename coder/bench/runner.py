"""Execution of benchmark jobs, each in a process and a repository of its own, and tables of the results."""

import asyncio
import csv
import io
import json
import math
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from coder.bench.suites import SuiteTask
from coder.core.errors import CoderError
from coder.core.events import Budget, Mode, SessionFinished, Task
from coder.core.values import UsageTotals, Value
from coder.core.verdict import Counts, TestReport, VerdictKind
from coder.executors.executor import CallFailed, CallFinished, Emit, Executor
from coder.files.regular_files import sessions_directory
from coder.patching import apply
from coder.repo.repository import init_repository
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.choice import BackendChoice, require_backend
from coder.settings import Config, load_config
from coder.verify.results import environment_problem
from coder.wiring.project_runtime import build_project_runtime, make_sandbox
from coder.wiring.session import SessionSetup, prepare_session, scripted_approach

BUILD = "build"
"""Strategy of a job that builds new code, as `coder build` does, instead of fixing an issue."""


class Job(Value):
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
    def fixed(self) -> bool:
        return self.verdict is not None and self.verdict.shows_fix

    @property
    def wrongly_proven(self) -> bool:
        """Whether it is PROVEN although the hidden tests fail."""
        return self.proven and self._is_wrong

    @property
    def _is_wrong(self) -> bool:
        return not self.passes_hidden and not self.hidden_problem

    @property
    def wrongly_fixed(self) -> bool:
        """Whether it is delivered as FIXED or PROVEN although the hidden tests fail."""
        return self.fixed and self.delivered and self._is_wrong


def run_jobs(
    pairs: Sequence[tuple[Job, SuiteTask]],
    *,
    directory: Path,
    unsafe: bool,
    executor: Executor,
) -> Iterator[tuple[Job, Outcome | str]]:
    """Run jobs in parallel and yield each outcome, or why there is none, as it arrives.

    Logs of their sessions go to `directory`.
    """
    jobs = {job.key: job for job, _ in pairs}
    state = directory.resolve() / "state"
    calls = ((job.key, (job, task, unsafe, state)) for job, task in pairs)
    for event in executor.run(_call_job, calls):
        match event:
            case CallFinished(key=key, result=(outcome, log)):
                file = directory / "logs" / f"{outcome.session}.jsonl"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(log)
                yield jobs[key], outcome
            case CallFailed(key=key, reason=reason):
                yield jobs[key], reason


def _call_job(call: tuple[Job, SuiteTask, bool, Path], _emit: Emit) -> tuple[Outcome, bytes]:
    """Run a job in a worker process, away from the user's own environment; return its outcome and log."""
    job, task, unsafe, state = call
    os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):  # the active environment belongs to no repository here
        os.environ.pop(variable, None)
    os.environ["XDG_STATE_HOME"] = str(state)
    outcome = run_job(job, task, require_backend(unsafe=unsafe))
    return outcome, (sessions_directory() / outcome.session / "events.jsonl").read_bytes()


def run_job(job: Job, task: SuiteTask, backend: SandboxBackend | None) -> Outcome:
    """Run a session on a task and the hidden tests on its result.

    Raises:
        CoderError: the session could not be run at all.
    """
    with tempfile.TemporaryDirectory(prefix="coder-bench-") as name:
        root = Path(name).resolve() / task.name
        task.unpack(root)
        init_repository(root, message="Begin")
        setup = _prepare(job, task, root=root, backend=backend)
        config = setup.config
        finish_event, session = _run_session(setup, job, task)
        diff = finish_event.delivery.diff if finish_event.delivery else ""
        report = (
            _run_hidden_tests(task, config, diff, Path(name).resolve() / "judged" / task.name, backend)
            if diff
            else None
        )
    return Outcome(
        job=job,
        solvable=task.facts.solvable,
        verdict=finish_event.kind,
        summary=finish_event.summary,
        delivered=bool(diff),
        hidden=report.outcome_counts if report else Counts(),
        hidden_problem=_hidden_problem(report) if report else "",
        passes_hidden=report is not None and _passes(task, report),
        attempts=finish_event.attempts,
        spent=finish_event.spent,
        roles=finish_event.roles or ({"executor": finish_event.spent} if finish_event.spent.requests else {}),
        seconds=finish_event.seconds,
        session=session,
        diff=diff,
    )


def _passes(task: SuiteTask, report: TestReport) -> bool:
    """Tell whether the hidden tests pass: those of the task if it names them, else all."""
    if report.problem:
        return False
    if task.facts.fail_to_pass:
        green = {result.id for result in report.results if result.green}
        return green.issuperset((*task.facts.fail_to_pass, *task.facts.pass_to_pass))
    return not report.failures and report.outcome_counts.passed > 0


def _hidden_problem(report: TestReport) -> str:
    """Return why the hidden tests say nothing; empty if they do.

    Either a problem of the run, or what the machine lacks if that explains all failures.
    """
    if report.problem is not None:
        return report.problem.text
    problems = [environment_problem(result.failure) if result.failure else "" for result in report.failures]
    return ", ".join(dict.fromkeys(problems)) if problems and all(problems) else ""


def _flags(job: Job, task: SuiteTask) -> dict[str, Any]:
    """Return the job's settings, which override the user's own like command-line flags.

    Strategies are compared without a search before the model.
    """
    model = None if job.model == SCRIPTED else job.model
    test = task.facts.test or f"{sys.executable} -m pytest"
    return {
        "strategy": None if job.strategy == BUILD else job.strategy,
        "model": model,
        "test": test,
        "attempts": job.budget.attempts,
        "offline_first": False,
        "seed": job.seed,
    }


def _prepare(job: Job, task: SuiteTask, *, root: Path, backend: SandboxBackend | None) -> SessionSetup:
    flags, mode = _flags(job, task), _mode(job)
    is_scripted = job.model == SCRIPTED
    return prepare_session(
        root,
        flags=flags,
        trusted=True,
        approach=scripted_approach(task.script, load_config(root, flags), mode=mode) if is_scripted else None,
        mode=mode,
        sandbox=BackendChoice(backend=backend),
    )


def _run_session(setup: SessionSetup, job: Job, task: SuiteTask) -> tuple[SessionFinished, str]:
    request = Task(issue=task.issue, directory=setup.root, mode=_mode(job), dry_run=True)
    with setup.open(setup.complete(request).model_copy(update={"budget": job.budget})) as handle:
        finish_event = asyncio.run(handle.run())
    if finish_event.kind is None:
        raise CoderError(finish_event.summary)  # nothing is recorded, so that it is tried again
    return finish_event, handle.id


def _mode(job: Job) -> Mode:
    return "build" if job.strategy == BUILD else "fix"


def _run_hidden_tests(
    task: SuiteTask, config: Config, diff: str, tree: Path, backend: SandboxBackend | None
) -> TestReport:
    tree.parent.mkdir(parents=True)
    task.unpack(tree)
    apply(diff, tree)
    task.reveal(tree)
    hidden_task = Task(issue=task.issue, directory=tree, test_command=config.test)
    with make_sandbox(backend) as sandbox:
        runner = build_project_runtime(hidden_task, config, root=tree, sandbox=sandbox).runner()
        return runner.run(tree, task.hidden_tests)


SCRIPTED = "scripted"
"""Name of the model that answers from each task's script."""
NO_MODEL_NAME = "none"


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
    with file.open("a", encoding="utf-8") as stream:
        stream.write(outcome.model_dump_json() + "\n")


def read_outcomes(file: Path) -> tuple[Outcome, ...]:
    """Return the newest outcome of each job in a file; incomplete or incompatible lines are ignored."""
    outcomes: dict[str, Outcome] = {}
    for line in file.read_text(encoding="utf-8").split("\n") if file.is_file() else ():
        try:
            outcome = Outcome.model_validate(json.loads(line))
        except (json.JSONDecodeError, ValidationError):
            continue
        outcomes[outcome.job.key] = outcome
    return tuple(outcomes.values())


V = TypeVar("V")


def results_markdown(outcomes: Sequence[Outcome]) -> str:
    """Return a table with a row for each strategy and model, then one with a row for each run."""
    groups = [_row(GROUP_COLUMNS, group) for group in group_outcomes(outcomes)]
    runs = [_row(RUN_COLUMNS, outcome) for outcome in sort_outcomes(outcomes)]
    note = (
        "Shares are of the tasks that can be solved, with 95 % intervals (Wilson); attempts and what "
        "follows are means of a run."
    )
    tables = markdown_table([*GROUP_COLUMNS], groups), markdown_table([*RUN_COLUMNS], runs)
    return f"{tables[0]}\n\n{note}\n\n{tables[1]}\n"


def _row(columns: Mapping[str, Callable[[V], object]], value: V) -> list[str]:
    return [str(cell(value)) for cell in columns.values()]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def sort_outcomes(outcomes: Sequence[Outcome]) -> list[Outcome]:
    names = ("task", "strategy", "model", "seed")
    return sorted(outcomes, key=lambda outcome: [getattr(outcome.job, name) for name in names])


def group_outcomes(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Return the runs of each strategy and model, sorted by name."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.job.strategy, outcome.job.model), []).append(outcome)
    return [group for _, group in sorted(groups.items())]


def format_share(truths: Iterable[bool]) -> str:
    """Format how many are true, with Wilson's interval, such as `7 of 11 (64 %, 35 to 85)`."""
    values = [*truths]
    if not values:
        return "none"
    count, of = sum(values), len(values)
    low, high = wilson_interval(count, of)
    return f"{count} of {of} ({100 * count / of:.0f} %, {100 * low:.0f} to {100 * high:.0f})"


def _share_of_solvable(name: str) -> "Callable[[Sequence[Outcome]], object]":
    return lambda group: format_share(getattr(outcome, name) for outcome in group if outcome.solvable)


def _mean(group: Sequence[Outcome], number: Callable[[Outcome], float]) -> float:
    return statistics.fmean(map(number, group))


def _mean_usd(group: Sequence[Outcome]) -> Decimal | None:
    """Return the mean cost of a run; None if a price is unknown."""
    prices = [outcome.spent.cost_usd for outcome in group]
    known = [price for price in prices if price is not None]
    return sum(known, Decimal(0)) / len(known) if len(known) == len(prices) else None


def _mean_tokens(group: Sequence[Outcome]) -> str:
    """Return means of the tokens sent, cached and received."""
    names = ("input_tokens", "cached_tokens", "output_tokens")
    return ", ".join(f"{_mean(group, lambda outcome: getattr(outcome.spent, name)):.0f}" for name in names)  # noqa: B023


def format_usd(usd: object) -> str:
    return "not known" if usd is None else f"{usd:.4f}"


def verdict_label(outcome: Outcome) -> str:
    return outcome.verdict.value if outcome.verdict else "failed"


def hidden_test_label(outcome: Outcome) -> str:
    """Describe the result of the hidden tests in a few words."""
    if not outcome.delivered:
        return "nothing delivered"
    if outcome.hidden_problem:
        return f"could not be run: {outcome.hidden_problem}"
    return (
        "pass"
        if outcome.passes_hidden
        else f"{outcome.hidden.failed} fail"
        if outcome.hidden.failed
        else "could not be run"
    )


def _roles_json(outcome: Outcome) -> str:
    return json.dumps({role: spent.model_dump(mode="json") for role, spent in sorted(outcome.roles.items())})


GROUP_COLUMNS: Mapping[str, Callable[[Sequence[Outcome]], object]] = {
    "strategy": lambda group: group[0].job.strategy,
    "model": lambda group: group[0].job.model,
    "runs": len,
    "PROVEN": _share_of_solvable("proven"),
    "PROVEN or FIXED": _share_of_solvable("fixed"),
    "solved by hidden tests": _share_of_solvable("passes_hidden"),
    "wrongly PROVEN": lambda group: sum(outcome.wrongly_proven for outcome in group),
    "wrongly FIXED": lambda group: sum(outcome.wrongly_fixed for outcome in group),
    "rightly left alone": lambda group: format_share(
        not outcome.delivered for outcome in group if not outcome.solvable
    ),
    "attempts": lambda group: f"{_mean(group, lambda outcome: outcome.attempts):.1f}",
    "requests": lambda group: f"{_mean(group, lambda outcome: outcome.spent.requests):.1f}",
    "tokens in, cached, out": _mean_tokens,
    "USD": lambda group: format_usd(_mean_usd(group)),
    "seconds": lambda group: f"{_mean(group, lambda outcome: outcome.seconds):.1f}",
}
"""Cells of a row for each strategy and model."""
JOB_COLUMNS: Mapping[str, Callable[[Outcome], object]] = {
    "task": lambda outcome: outcome.job.task,
    "strategy": lambda outcome: outcome.job.strategy,
    "model": lambda outcome: outcome.job.model,
    "seed": lambda outcome: outcome.job.seed,
}
RUN_COLUMNS: Mapping[str, Callable[[Outcome], object]] = {
    **JOB_COLUMNS,
    "verdict": verdict_label,
    "hidden tests": hidden_test_label,
    "attempts": lambda outcome: outcome.attempts,
    "requests": lambda outcome: outcome.spent.requests,
    "tokens": lambda outcome: outcome.spent.input_tokens + outcome.spent.output_tokens,
    "USD": lambda outcome: format_usd(outcome.spent.cost_usd),
    "seconds": lambda outcome: f"{outcome.seconds:.1f}",
    "explanation": lambda outcome: "" if outcome.delivered else " ".join(outcome.summary.split()),
}
"""Cells of a row for each run."""
CSV_COLUMNS: Mapping[str, Callable[[Outcome], object]] = {
    **JOB_COLUMNS,
    "solvable": lambda outcome: outcome.solvable,
    "verdict": verdict_label,
    "passes_hidden": lambda outcome: outcome.passes_hidden,
    "hidden_problem": lambda outcome: outcome.hidden_problem,
    "hidden_passed": lambda outcome: outcome.hidden.passed,
    "hidden_failed": lambda outcome: outcome.hidden.failed,
    "delivered": lambda outcome: outcome.delivered,
    "attempts": lambda outcome: outcome.attempts,
    "requests": lambda outcome: outcome.spent.requests,
    "input_tokens": lambda outcome: outcome.spent.input_tokens,
    "cached_tokens": lambda outcome: outcome.spent.cached_tokens,
    "output_tokens": lambda outcome: outcome.spent.output_tokens,
    "cost_usd": lambda outcome: outcome.spent.cost_usd,
    "tokens_by_role": _roles_json,
    "seconds": lambda outcome: round(outcome.seconds, 3),
    "session": lambda outcome: outcome.session,
    "summary": lambda outcome: outcome.summary,
}


def results_csv(outcomes: Sequence[Outcome]) -> str:
    """Return CSV with a row for each run."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(CSV_COLUMNS)
    rows.writerows([cell(outcome) for cell in CSV_COLUMNS.values()] for outcome in sort_outcomes(outcomes))
    return text.getvalue()


Z = 1.959963984540054
"""Quantile of the normal distribution for 95 % intervals."""


def wilson_interval(count: int, of: int) -> tuple[float, float]:
    """Return Wilson's score interval for a share, from 0 to 1."""
    if of == 0:
        return 0.0, 1.0
    share, square = count / of, Z * Z / of
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return (max(0.0, middle - half) if count else 0.0), (min(1.0, middle + half) if count < of else 1.0)


PREDICTIONS = "predictions.jsonl"


def write_predictions(directory: Path, outcomes: Sequence[Outcome]) -> list[Path]:
    """Write the changes of each strategy and model as `swebench` evaluates them, and return the files.

    A file holds one change an instance, that of the first seed; if there is one strategy and model, it is
    predictions.jsonl.
    """
    groups: dict[str, dict[str, Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.job.seed):
        name = f"coder-{outcome.job.strategy}-{outcome.job.model}"
        groups.setdefault(name, {}).setdefault(outcome.job.task, outcome)
    files = []
    for name, by_instance in sorted(groups.items()):
        part = re.sub(r"[^\w.-]", "-", name)
        file = directory / (PREDICTIONS if len(groups) == 1 else f"predictions-{part}.jsonl")
        lines = (
            json.dumps({"instance_id": instance, "model_name_or_path": name, "model_patch": outcome.diff})
            for instance, outcome in sorted(by_instance.items())
        )
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files.append(file)
    return files
