"""`coder fix`: fix an issue."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coder.cli.options import (
    ApproveOption,
    ContinueOption,
    InlineOption,
    JsonOption,
    ModelOption,
    NotTestOption,
    RepositoryOption,
    RequestsOption,
    ScreenReaderOption,
    SecondsOption,
    ServerOption,
    SessionOption,
    StrategyName,
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
    read_issue,
    read_plan,
    typed_mentions,
)

if TYPE_CHECKING:
    from coder.core.task import Mode, Source, Task
    from coder.settings import Config


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


def do(
    change: Annotated[
        str, typer.Argument(metavar="CHANGE", help="What to change: text, @file, or - for standard input.")
    ],
    repo: RepositoryOption = Path(),
    continues: ContinueOption = False,
    session: SessionOption = None,
    model: ModelOption = None,
    base_url: ServerOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the change as a diff; leave nothing in the repository.")
    ] = False,
    attempts: Annotated[
        int | None, typer.Option(min=1, help="Failed attempts allowed.", show_default="3")
    ] = None,
    test: TestOption = None,
    not_test: NotTestOption = None,
    suite: SuiteOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Change nothing but this path or glob; may be repeated."),
    ] = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_seconds: SecondsOption = None,
    max_requests: RequestsOption = None,
    approve: ApproveOption = None,
    trust: TrustOption = False,
    unsafe_no_sandbox: UnsafeOption = False,
    json: JsonOption = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the change there as a diff, too.")
    ] = None,
    verbose: VerboseOption = False,
) -> int:
    """Make any change but a fix, such as a feature or a refactoring, on a branch of its own.

    No failing test is sought first; PASSING is its usual end. Exit codes: as those of coder fix.
    """
    flags: dict[str, Any] = {
        "model": model,
        "base_url": base_url,
        "attempts": attempts,
        "test": test,
        "suite": suite and suite.value,
        "approve": approve and approve.value,
        **limit_flags(max_usd, max_tokens, max_seconds, max_requests),
    }
    fields = {
        "continues": continued_session(newest=continues, session=session),
        "dry_run": dry_run,
        "only": tuple(path.removeprefix("./") for path in only or ()),
        "unrelated_tests": tuple(not_test or ()),
    }
    return run_request(
        "change",
        change,
        repo,
        flags=flags,
        fields=fields,
        trusted=trust,
        unsafe=unsafe_no_sandbox,
        json=json,
        output=output,
        verbose=verbose,
    )


def ask(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="Text, @file, or - for standard input.")
    ],
    repo: RepositoryOption = Path(),
    continues: ContinueOption = False,
    session: SessionOption = None,
    model: ModelOption = None,
    base_url: ServerOption = None,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Research it in parts, in parallel and in rounds; the answer is a checked report."
        ),
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use no model: answer what search and history can.")
    ] = False,
    max_iterations: Annotated[
        int | None,
        typer.Option(min=1, max=10, metavar="N", help="With --deep: rounds of research.", show_default="3"),
    ] = None,
    document: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A text to read beside the repository; may be repeated."),
    ] = None,
    url: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A page to read, of a host in your setting `url_hosts`; again."),
    ] = None,
    dependency: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An installed package to read the sources of; again."),
    ] = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_seconds: SecondsOption = None,
    max_requests: RequestsOption = None,
    trust: TrustOption = False,
    unsafe_no_sandbox: UnsafeOption = False,
    json: JsonOption = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Write the answer there, too.")
    ] = None,
    verbose: VerboseOption = False,
) -> int:
    """Answer a question about the repository with places in its code; nothing is changed.

    Exit codes: 0 answered, 4 no answer, 5 LIMIT, 2 wrong use, 130 interrupted.
    """
    from coder.core.errors import UserError

    if offline and (deep or model or base_url):
        raise UserError("--offline works without a model: leave --deep, --model and --base-url away.")
    if max_iterations is not None and not deep:
        raise UserError("--max-iterations limits the rounds of --deep: give both or neither.")
    flags: dict[str, Any] = {
        "model": model,
        "base_url": base_url,
        "strategy": "offline" if offline else None,
        **limit_flags(max_usd, max_tokens, max_seconds, max_requests),
    }
    return run_request(
        "ask",
        question,
        repo,
        flags=flags,
        fields={
            "continues": continued_session(newest=continues, session=session),
            "deep": deep,
            "iterations": max_iterations or 3,
            "sources": _collect_sources(repo, document or (), url or (), dependency or ()),
        },
        trusted=trust,
        unsafe=unsafe_no_sandbox,
        json=json,
        output=output,
        verbose=verbose,
    )


def _collect_sources(
    repo: Path, documents: Sequence[Path], urls: Sequence[str], dependencies: Sequence[str]
) -> "tuple[Source, ...]":
    """Return the texts beside the repository that the user allows for a question."""
    if not (documents or urls or dependencies):
        return ()
    from coder.cli.question_sources import collect_sources
    from coder.repo.git import find_checkout
    from coder.settings import load_config

    root = find_checkout(repo).root
    hosts = load_config(root, {}).url_hosts
    return collect_sources(root, documents=documents, urls=urls, dependencies=dependencies, hosts=hosts)


def run_request(
    mode: "Mode",
    argument: str,
    repo: Path,
    *,
    flags: Mapping[str, Any],
    fields: Mapping[str, Any],
    trusted: bool,
    unsafe: bool,
    json: bool,
    output: Path | None,
    verbose: bool,
) -> int:
    """Run a request of the user as a session and return its exit code; `fields` are those of the task.

    `argument` is the request as given on the command line: text, @file or -.

    Raises:
        UserError: before anything was started.
    """
    text = read_issue(argument)
    try:
        from coder.cli.running import run_task
        from coder.repo.git import find_checkout
        from coder.wiring.preparation import make_task, read_attachments

        def task(directory: Path, config: "Config") -> "Task":
            if mode == "fix" and not fields.get("base"):
                _require_match(find_checkout(directory).root, fields.get("only", ()))
            attachments = read_attachments(typed_mentions(argument), find_checkout(directory).root, config)
            return make_task(text, config, directory=directory, mode=mode, attachments=attachments, **fields)

        handle = run_task(
            repo,
            task,
            flags=flags,
            trusted=trusted,
            unsafe=unsafe,
            json=json,
            output=output,
            verbose=verbose,
            mode=mode,
            continues=fields["continues"],
        )
    except KeyboardInterrupt:
        print("Interrupted before the work began; your files are as they were.", file=sys.stderr)
        return 130
    return handle.finish_event.exit_code


def _require_match(root: Path, patterns: Sequence[str]) -> None:
    """Refuse --only if no file of the repository matches any of its paths.

    Raises:
        UserError: none does.
    """
    from coder.core.errors import UserError
    from coder.verify.impact.import_graph import project_files
    from coder.workspace.workspace import matches_path

    is_match = any(
        (root / pattern).exists() or any(matches_path(path, pattern) for path in project_files(root))
        for pattern in patterns
    )
    if patterns and not is_match:
        raise UserError(
            f"--only {' --only '.join(patterns)} matches no file in {root}; nothing was started. Name a path "
            "or glob from the root of the repository."
        )


def resume(
    id: Annotated[
        str, typer.Argument(metavar="[ID]", help="A session's id, its beginning or its end, or `last`.")
    ] = "last",
    model: Annotated[str | None, typer.Option(metavar="PROVIDER:NAME", help="The model to use.")] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server to use.")
    ] = None,
    unsafe_no_sandbox: UnsafeOption = False,
    inline: InlineOption = False,
    screen_reader: ScreenReaderOption = False,
) -> int:
    """Go on with an earlier session: its conversation, and the change that it delivered.

    In a pipe, continue it with coder fix, do or ask and --session ID.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print(
            f"The interface needs a terminal. In a pipe: coder do --session {id} 'what to change'",
            file=sys.stderr,
        )
        return 2
    from coder.cli.tui import run_tui

    flags = {
        "model": model,
        "base_url": base_url,
        "inline": inline or None,
        "screen_reader": screen_reader or None,
    }
    run_tui(Path(), flags=flags, unsafe=unsafe_no_sandbox, resumed=id)
    return 0
