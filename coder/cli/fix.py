"""`coder fix`: fix an issue."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from coder.cli.options import (
    ApproveOption,
    ContinueOption,
    JsonOption,
    ModelOption,
    NotTestOption,
    RepositoryOption,
    RequestsOption,
    SecondsOption,
    ServerOption,
    SessionOption,
    SuiteOption,
    TestEditsOption,
    TestOption,
    TokensOption,
    TrustOption,
    UnsafeOption,
    UsdOption,
    VerboseOption,
    continued_session,
    limit_flags,
    read_plan,
)
from coder.cli.requests import run_request


class StrategyName(StrEnum):
    """Names of strategies for --strategy."""

    linear = "linear"
    plan = "plan"
    tree = "tree"
    committee = "committee"
    auto = "auto"
    offline = "offline"


def fix(
    issue: Annotated[
        str, typer.Argument(metavar="ISSUE", help="What is wrong: text, @file, or - for standard input.")
    ],
    repo: RepositoryOption = Path(),
    continues: ContinueOption = False,
    session: SessionOption = None,
    model: ModelOption = None,
    strategy: Annotated[
        StrategyName | None,
        typer.Option(help="How to go about it.", show_default="linear; offline without a model"),
    ] = None,
    offline_first: Annotated[
        bool | None,
        typer.Option(
            "--offline-first/--no-offline-first", help="Search ten seconds before a model.", show_default="on"
        ),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use no model and no network: --strategy offline.")
    ] = False,
    base_url: ServerOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the fix as a diff; leave nothing in the repository.")
    ] = False,
    attempts: Annotated[
        int | None,
        typer.Option(min=1, help="Failed attempts allowed, over all branches of a tree.", show_default="3"),
    ] = None,
    test: TestOption = None,
    not_test: NotTestOption = None,
    suite: SuiteOption = None,
    base: Annotated[
        str | None, typer.Option(metavar="REV", help="Start from REV, without uncommitted work.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Change nothing but this path or glob; may be repeated."),
    ] = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_seconds: SecondsOption = None,
    max_requests: RequestsOption = None,
    planner_model: Annotated[str | None, typer.Option(metavar="NAME", help="The model that plans.")] = None,
    reviewer_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model that reviews.")
    ] = None,
    fallback_model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Goes on when the model is down; may be repeated."),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=5,
            help="Candidates of a tree at once; never more than attempts are left.",
            show_default="3",
        ),
    ] = None,
    review_rounds: Annotated[
        int | None, typer.Option(min=0, help="Times that a review is answered.", show_default="2")
    ] = None,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Show a plan and change nothing: --strategy plan.")
    ] = False,
    plan: Annotated[
        Path | None,
        typer.Option(metavar="FILE.md", help="Run this plan, such as one of --plan-only, edited."),
    ] = None,
    minimise: Annotated[
        bool, typer.Option("--minimise", help="Deliver only the hunks that the verdict needs.")
    ] = False,
    keep_steps: Annotated[
        bool, typer.Option("--keep-steps", help="Deliver each step as a commit, the verdict on the last.")
    ] = False,
    accept_test_edits: TestEditsOption = False,
    approve: ApproveOption = None,
    trust: TrustOption = False,
    unsafe_no_sandbox: UnsafeOption = False,
    json: JsonOption = False,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the fix there as a diff, too; with --plan-only the plan."),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Bring a PROVEN fix onto the current branch.")
    ] = False,
    verbose: VerboseOption = False,
) -> int:
    """Fix an issue on a branch of its own, and prove it with tests.

    SIGUSR1 while impacted tests or the suite run: deliver now, by what has run so far; PASSING at most.

    Exit codes: 0 PROVEN, 3 PASSING, 4 GAVE UP, 5 LIMIT, 6 BROKEN, 7 INCONCLUSIVE, 2 wrong use, 130
    interrupted.
    """
    from coder.core.errors import UserError

    if merge and dry_run:
        raise UserError(
            "--merge brings the fix onto your branch and --dry-run leaves nothing: give one of them."
        )
    if offline and (model or strategy not in (None, StrategyName.offline)):
        raise UserError("--offline works without a model: leave --model and --strategy away.")
    if plan is not None and (plan_only or offline or strategy not in (None, StrategyName.plan)):
        raise UserError("--plan runs a plan: leave --plan-only, --offline and any other --strategy away.")
    if plan_only and (offline or strategy not in (None, StrategyName.plan)):
        raise UserError("--plan-only shows a plan: leave --offline and any other --strategy away.")
    earlier = continued_session(newest=continues, session=session)
    if earlier and base is not None:
        raise UserError("--continue starts where a session ended and --base elsewhere: give one of them.")
    if earlier and merge:
        raise UserError("--merge brings one commit alone: continue without it, then: coder apply last")
    own_plan = read_plan(plan) if plan is not None else None
    if own_plan is not None and own_plan.components:
        raise UserError(f"{plan} is a plan of components. To build them: coder build GOAL --plan {plan}")
    allowed_paths = tuple(path.removeprefix("./") for path in only or ())
    strategy_name = "offline" if offline else "plan" if plan_only or plan else strategy and strategy.value
    flags: dict[str, Any] = {
        "model": model,
        "strategy": strategy_name,
        "base_url": base_url,
        "attempts": attempts,
        "test": test,
    }
    flags |= {"approve": approve and approve.value, "suite": suite and suite.value}
    flags |= limit_flags(max_usd, max_tokens, max_seconds, max_requests)
    flags |= {"offline_first": offline_first, "width": width, "review_rounds": review_rounds}
    flags |= {
        "planner_model": planner_model,
        "reviewer_model": reviewer_model,
        "fallback_models": fallback_model and tuple(fallback_model),
    }
    fields = {
        "continues": earlier,
        "base": base,
        "only": allowed_paths,
        "dry_run": dry_run,
        "merge": merge,
        "minimise": minimise,
        "keep_steps": keep_steps,
        "accept_test_edits": accept_test_edits,
        "unrelated_tests": tuple(not_test or ()),
        "plan_only": plan_only,
        "plan": own_plan,
    }
    return run_request(
        "fix",
        issue,
        repo,
        flags=flags,
        fields=fields,
        trusted=trust,
        unsafe=unsafe_no_sandbox,
        json=json,
        output=output,
        verbose=verbose,
    )
