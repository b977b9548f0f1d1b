"""Execution of benchmark jobs, each in a process and a repository of its own."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

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


class JobFailed(CoderError):
    """A job could not be run; nothing is recorded, so that it is tried again."""


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


@dataclass(frozen=True, kw_only=True)
class JobCall:
    job: Job
    task: SuiteTask
    unsafe: bool
    state: Path


@dataclass(frozen=True)
class JobPackage:
    outcome: Outcome
    log: bytes


def run_jobs(
    pairs: Sequence[tuple[Job, SuiteTask]],
    *,
    directory: Path,
    unsafe: bool,
    executor: Executor,
) -> Iterator[tuple[Job, Outcome | JobFailed]]:
    """Run jobs in parallel and yield each result as it arrives; logs of their sessions go to `directory`."""
    jobs = {job.key: job for job, _ in pairs}
    state = directory.resolve() / "state"
    calls = ((job.key, JobCall(job=job, task=task, unsafe=unsafe, state=state)) for job, task in pairs)
    for event in executor.run(_call_job, calls):
        match event:
            case CallFinished(key=key, result=package):
                file = directory / log_file(package.outcome)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(package.log)
                yield jobs[key], package.outcome
            case CallFailed(key=key, reason=reason):
                yield jobs[key], JobFailed(reason)


def log_file(outcome: Outcome) -> Path:
    """Return the place of a session's log below the directory of results."""
    return Path("logs", f"{outcome.session}.jsonl")


def _call_job(call: JobCall, _emit: Emit) -> JobPackage:
    """Run a job in a worker process, away from the user's own environment."""
    os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):  # the active environment belongs to no repository here
        os.environ.pop(variable, None)
    os.environ["XDG_STATE_HOME"] = str(call.state)
    outcome = run_job(call.job, call.task, require_backend(unsafe=call.unsafe))
    return JobPackage(outcome, (sessions_directory() / outcome.session / "events.jsonl").read_bytes())


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
        finish_event = asyncio.run(handle.session.run())
    if finish_event.kind is None:
        raise JobFailed(finish_event.summary)
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
