"""`coder do` and `coder ask`: a change that is no bug, and a question."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    TestOption,
    TokensOption,
    TrustOption,
    UnsafeOption,
    UsdOption,
    VerboseOption,
    continued_session,
    limit_flags,
    read_issue,
    typed_mentions,
)

if TYPE_CHECKING:
    from coder.core.values.task import Mode, Source, Task
    from coder.settings import Config


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
