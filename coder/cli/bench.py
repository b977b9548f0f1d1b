"""`coder bench`: benchmark strategies and models on tasks with known answers."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import LIMITS, Options, open_executor, with_options
from coder.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coder.bench.runner import Job, Outcome
    from coder.bench.suites import SuiteTask
    from coder.wiring.session import RuntimeOptions
RUNS = "runs.jsonl"


@with_options("on", "attempts", *LIMITS, "test", "trust", "unsafe_no_sandbox")
def bench(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            help="A file of SWE-bench rows (.jsonl); a folder of tasks; `starter` (bugs) or `challenges` "
            "(code to build).",
        ),
    ],
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A strategy, or `build`, which builds code; may be repeated.",
            show_default="linear; offline without a model",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROVIDER:NAME",
            help="A model, or `scripted`: what each task's script says; may be repeated.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How often each is run.")] = 1,
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this task; may be repeated.", show_default="all"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results are kept.", show_default="bench-SUITE")
    ] = None,
    checkouts: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="For rows: where checkouts with environments lie, called INSTANCE or OWNER__NAME.",
        ),
    ] = None,
    *,
    options: Options,
) -> int:
    """Run a suite of tasks and write what came of it: tables, logs, predictions.jsonl for rows.

    What was run already is not run again: repeat the command to go on where it stopped. Exit codes: 0, 1
    where a run failed, 2 wrong use, 130 interrupted.
    """
    from coder.bench.runner import plan_jobs as planned
    from coder.bench.runner import read_outcomes, write_predictions
    from coder.bench.suites import load_suite
    from coder.core.events import Budget
    from coder.wiring.session import RuntimeOptions

    if options.on.startswith("ray"):
        raise UserError("coder bench runs on this machine: --on local:N.")
    directory = output or Path(f"bench-{Path(suite).resolve().name}")
    if has_rows := suite.endswith(".jsonl"):
        runtime = RuntimeOptions(
            test_command=options.test, trusted=options.trust, unsafe=options.unsafe_no_sandbox
        )
        _make_tasks(Path(suite), directory / "tasks", runtime, checkouts=checkouts, only=task or ())
    folder = str(directory / "tasks") if has_rows else suite
    tasks = {suite_task.name: suite_task for suite_task in load_suite(folder, task or ())}
    budget = Budget(
        usd=options.settings["max_usd"],
        tokens=options.max_tokens,
        seconds=options.max_seconds,
        requests=options.max_requests,
        attempts=options.attempts or 3,
    )
    strategies = strategy or (["linear"] if model else ["offline"])
    if not model and any(name != "offline" for name in strategies):
        raise UserError("Name a model for these strategies: --model PROVIDER:NAME, or --model scripted.")
    digests = [(name, suite_task.digest()) for name, suite_task in tasks.items()]
    plan = planned(digests, strategies=strategies, models=model or (), seeds=seeds, budget=budget)
    directory.mkdir(parents=True, exist_ok=True)
    try:
        failure_count = _run(plan, tasks, directory, on=options.on, unsafe=options.unsafe_no_sandbox)
    except KeyboardInterrupt:
        print(
            f"Interrupted; what is done is kept in {directory}: repeat the command to go on.", file=sys.stderr
        )
        return 130
    keys = {job.key for job in plan}
    outcomes = [outcome for outcome in read_outcomes(directory / RUNS) if outcome.job.key in keys]
    if has_rows:
        write_predictions(directory, outcomes)
    _write(directory, outcomes)
    return 1 if failure_count else 0


def _make_tasks(
    file: Path, folder: Path, runtime: "RuntimeOptions", *, checkouts: Path | None, only: "Sequence[str]"
) -> None:
    """Make the tasks of a suite of rows of SWE-bench."""
    from coder.bench import suites

    if checkouts is None:
        raise UserError("Rows of SWE-bench need the checkouts of their repositories: --checkouts DIR.")
    rows = suites.read_rows(file, _report_progress)
    suites.make_benchmark(
        rows, folder, checkouts=checkouts, only=tuple(only), options=runtime, report=_report_progress
    )
    if not any(folder.glob("*/task.toml")):
        raise UserError(f"{file} gives no task that can be judged here; the reasons stand above.")


def _report_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _run(
    plan: "Sequence[Job]", tasks: "dict[str, SuiteTask]", directory: Path, *, on: str, unsafe: bool
) -> int:
    """Run and record the jobs that are not recorded yet; return how many failed."""
    from coder.bench.runner import append_outcome, hidden_test_label, read_outcomes, run_jobs, verdict_label
    from coder.sandbox.choice import require_backend

    known_keys = {outcome.job.key for outcome in read_outcomes(directory / RUNS)}
    missing = [job for job in plan if job.key not in known_keys]
    if len(missing) < len(plan):
        print(f"{len(plan) - len(missing)} of {len(plan)} runs are there already.", file=sys.stderr)
    if not missing:
        return 0
    failure_count = 0
    pairs = [(job, tasks[job.task]) for job in missing]
    require_backend(unsafe=unsafe)
    with open_executor(on or "local") as executor:
        results = run_jobs(pairs, directory=directory, unsafe=unsafe, executor=executor)
        for number, (job, result) in enumerate(results, 1):
            if isinstance(result, str):
                failure_count += 1
                text = f"not run: {result}"
            else:
                append_outcome(directory / RUNS, result)
                hidden = hidden_test_label(result)
                text = f"{verdict_label(result)}, hidden tests: {hidden}, {result.seconds:.1f} s"
            _report_progress(f"{number} of {len(missing)}  {job.label}: {text}")
    return failure_count


def _write(directory: Path, outcomes: "Sequence[Outcome]") -> None:
    from coder.bench.runner import results_csv, results_markdown

    table = results_markdown(outcomes)
    (directory / "table.md").write_text(table, encoding="utf-8")
    (directory / "results.csv").write_text(results_csv(outcomes), encoding="utf-8")
    print(table.partition("\n\n")[0])
    print(f"\nAll of it: {directory / 'table.md'}, results.csv (pandas.read_csv), {RUNS}, logs/")
