"""`coder build`: new code in components, in a new directory or in the current repository."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from coder.cli.options import (
    CONVERSATION,
    LIMITS,
    MODEL,
    RUNNING,
    Options,
    read_issue,
    read_plan,
    with_options,
)
from coder.core.errors import UserError
from coder.repo.git import find_checkout

FIRST_COMMIT = "Begin"


@with_options(
    *CONVERSATION, *MODEL, *LIMITS, *RUNNING, "approve", "install", "on", "plan_only", "plan", "output"
)
def build(
    goal: Annotated[
        str, typer.Argument(metavar="GOAL", help="What to build: text, @file, or - for standard input.")
    ],
    into: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Build in this directory, made with a repository if it is new."),
    ] = None,
    single_file: Annotated[
        bool, typer.Option("--single-file", help="Merge the components into one file.")
    ] = False,
    max_iterations: Annotated[
        int, typer.Option(min=1, help="Rounds of fixes after a review, and again after tests.")
    ] = 3,
    *,
    options: Options,
) -> int:
    """Build new Python code: a plan of components, each written with its tests, reviewed, tested.

    FIXED is its usual end, PROVEN where the goal itself names what the tests call. Exit codes: as those of
    coder fix.
    """
    from coder.cli.running import run_task
    from coder.core.events import Task

    text = read_issue(goal)
    plan = read_plan(options.plan) if options.plan is not None else None
    if plan is not None and not plan.components:
        raise UserError(
            f"{options.plan} is the plan of a fix. A plan of components: coder build GOAL --plan-only"
        )
    is_new = into is not None and _prepare_directory(into)
    request = Task(
        issue=text,
        mode="build",
        directory=into or options.repo,
        single_file=single_file,
        plan=plan,
    )
    handle = run_task(
        request,
        # The first run of the tests comes before any fix.
        replace(options, trust=options.trust or is_new, attempts=max_iterations + 1),
    )
    finish_event = handle.finish_event
    if is_new and into is not None and finish_event.delivery and finish_event.delivery.commit:
        from coder.cli.apply import apply_session

        print(apply_session(into, handle.id), file=sys.stderr if options.json else sys.stdout)
    return finish_event.exit_code


def _prepare_directory(directory: Path) -> bool:
    """Make the directory a repository if it is none; return whether it holds no files yet."""
    from coder.repo.repository import init_user_repository

    if (directory / ".git").exists():
        root = find_checkout(directory).root
        return not any(path.name != ".git" for path in root.iterdir())
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError(
            f"{directory} holds files and is no repository: commit them, or name a new directory."
        )
    place = directory.resolve()
    outer = next((parent for parent in place.parents if (parent / ".git").exists()), None)
    if outer is not None:
        raise UserError(
            f"{directory} lies inside the repository {outer}: omit --into to build there, or name a "
            "directory outside."
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{directory} cannot be made: {error.strerror}.") from None
    if remark := init_user_repository(place, message=FIRST_COMMIT).remark:
        print(remark, file=sys.stderr)
    return True
