"""Execution of benchmark jobs, each in a process and a repository of its own."""

import asyncio
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from coder.bench.outcome import SCRIPTED, Job, Outcome
from coder.bench.suites import SuiteTask
from coder.core.errors import CoderError
from coder.core.events import SessionFinished
from coder.core.values.task import Mode, Task
from coder.core.values.verdict import Counts, TestReport
from coder.patching import apply
from coder.repo.init import init_repository
from coder.sandbox.backends.backend import SandboxBackend
from coder.settings import Config, load_config
from coder.verify.results.failure_reasons import environment_problem
from coder.wiring.approach import Approach, choose_approach
from coder.wiring.inspection import make_sandbox
from coder.wiring.project_runtime import build_project_runtime
from coder.wiring.scripted_session import scripted_approach
from coder.wiring.session import open_session

TIDYING_SECONDS = 10.0
BUILD = "build"
"""Strategy of a job that builds new code, as `coder build` does, instead of fixing an issue."""


class JobFailed(CoderError):
    """A job could not be run; nothing is recorded, so that it is tried again."""


def run_jobs(
    pairs: Sequence[tuple[Job, SuiteTask]], *, state: Path, walls: SandboxBackend | None, processes: int
) -> Iterator[tuple[Job, Outcome | JobFailed]]:
    """Run jobs in parallel and yield each result as it arrives; their sessions are stored in `state`."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        processes, mp_context=context, initializer=_initialize_worker, initargs=(str(state),)
    ) as pool:
        waiting = {pool.submit(run_job, job, task, walls): job for job, task in pairs}
        try:
            for done in as_completed(waiting):
                try:
                    end: Outcome | JobFailed = done.result()
                except (CoderError, OSError, BrokenExecutor) as error:
                    end = JobFailed(str(error))
                yield waiting[done], end
        except BaseException:  # on interruption, running jobs are not waited for
            pool.shutdown(wait=False, cancel_futures=True)
            _terminate(multiprocessing.active_children())
            raise


def _terminate(children: Sequence[BaseProcess]) -> None:
    """Terminate processes, and kill those that do not end in time."""
    for child in children:
        child.terminate()
    for child in children:
        child.join(TIDYING_SECONDS)
        child.kill()


def _initialize_worker(state: str) -> None:
    """Prepare a worker process: it exits on SIGTERM and leaves Ctrl-C to its parent."""
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    os.environ["XDG_STATE_HOME"] = state
    os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
    for variable in (
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
    ):  # the user's active environment belongs to none of these repositories
        os.environ.pop(variable, None)


def run_job(job: Job, task: SuiteTask, walls: SandboxBackend | None) -> Outcome:
    """Run a session on a task and the hidden tests on its result.

    Raises:
        CoderError: the session could not be run at all.
    """
    with tempfile.TemporaryDirectory(prefix="coder-bench-") as name:
        root = Path(name).resolve() / task.name
        task.unpack(root)
        init_repository(root, message="Begin")
        config = load_config(root, _flags(job, task))
        finish_event, session = _session(job, task, config, root=root, walls=walls)
        diff = finish_event.delivery.diff if finish_event.delivery else ""
        report = (
            _run_hidden_tests(task, config, diff, Path(name).resolve() / "judged" / task.name, walls)
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
        passes_hidden=report is not None
        and not report.problem
        and not report.failures
        and report.outcome_counts.passed > 0,
        attempts=finish_event.attempts,
        spent=finish_event.spent,
        roles=finish_event.roles or ({"executor": finish_event.spent} if finish_event.spent.requests else {}),
        seconds=finish_event.seconds,
        session=session,
        diff=diff,
    )


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


def _session(
    job: Job, task: SuiteTask, config: Config, *, root: Path, walls: SandboxBackend | None
) -> tuple[SessionFinished, str]:
    session_task = Task(
        issue=task.issue,
        directory=root,
        test_command=config.test,
        mode=_mode(job),
        dry_run=True,
        trusted=True,
        budget=job.budget,
    )
    with open_session(
        session_task,
        config,
        chosen_approach=_approach(job, task, config),
        root=root,
        walls=walls,
        attended=False,
    ) as handle:
        finish_event = asyncio.run(handle.session.run())
    if finish_event.kind is None:
        raise JobFailed(finish_event.summary)
    return finish_event, handle.id


def _mode(job: Job) -> Mode:
    return "build" if job.strategy == BUILD else "fix"


def _approach(job: Job, task: SuiteTask, config: Config) -> Approach:
    if job.model == SCRIPTED:
        return scripted_approach(task.script, config, mode=_mode(job))
    return choose_approach(config, model_name=config.model, mode=_mode(job))


def _run_hidden_tests(
    task: SuiteTask, config: Config, diff: str, tree: Path, walls: SandboxBackend | None
) -> TestReport:
    """Run the hidden tests on a fresh copy with the change."""
    tree.parent.mkdir(parents=True)
    task.unpack(tree)
    apply(diff, tree)
    task.reveal(tree)
    hidden_task = Task(issue=task.issue, directory=tree, test_command=config.test)
    with make_sandbox(walls) as sandbox:
        runner = build_project_runtime(hidden_task, config, root=tree, sandbox=sandbox).runner()
        return runner.run(tree, task.hidden_tests)
