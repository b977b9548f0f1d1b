"""`coder do` and `coder ask`: a change that is no bug, and a question."""

import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coder.cli.options import (
    ApproveOption,
    ContinueOption,
    RepositoryOption,
    SessionOption,
    SuiteOption,
    TrustOption,
    UnsafeOption,
    continued_session,
    read_issue,
)

if TYPE_CHECKING:
    from coder.core.values.task import Mode, Task
    from coder.settings import Config

ModelOption = Annotated[str | None, typer.Option(metavar="PROVIDER:NAME", help="The model to use.")]
ServerOption = Annotated[str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server to use.")]
UsdOption = Annotated[float | None, typer.Option(metavar="X", help="Money limit.")]
TokensOption = Annotated[int | None, typer.Option(metavar="N", help="Token limit.")]
SecondsOption = Annotated[float | None, typer.Option(metavar="N", help="Time limit.")]
RequestsOption = Annotated[int | None, typer.Option(metavar="N", help="Limit of requests to models.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line instead of text.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show what tools answer.")]


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
    test: Annotated[
        str | None, typer.Option(metavar="CMD", help="The project's test command.", show_default="found out")
    ] = None,
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
        "max_usd": None if max_usd is None else Decimal(str(max_usd)),
        "max_tokens": max_tokens,
        "max_seconds": max_seconds,
        "max_requests": max_requests,
    }
    return _run(
        "change",
        read_issue(change),
        repo,
        flags,
        fields={
            "continues": continued_session(newest=continues, session=session),
            "dry_run": dry_run,
            "only": tuple(path.removeprefix("./") for path in only or ()),
        },
        trust=trust,
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
    flags: dict[str, Any] = {
        "model": model,
        "base_url": base_url,
        "max_usd": None if max_usd is None else Decimal(str(max_usd)),
        "max_tokens": max_tokens,
        "max_seconds": max_seconds,
        "max_requests": max_requests,
    }
    return _run(
        "ask",
        read_issue(question),
        repo,
        flags,
        fields={"continues": continued_session(newest=continues, session=session)},
        trust=trust,
        unsafe=unsafe_no_sandbox,
        json=json,
        output=output,
        verbose=verbose,
    )


def _run(
    mode: "Mode",
    text: str,
    repo: Path,
    flags: dict[str, Any],
    *,
    fields: dict[str, Any],
    trust: bool,
    unsafe: bool,
    json: bool,
    output: Path | None,
    verbose: bool,
) -> int:
    from coder.wiring.preparation import make_task

    def task(root: Path, config: "Config") -> "Task":
        return make_task(text, config, directory=root, mode=mode, **fields)

    try:
        from coder.cli.running import run_task

        handle = run_task(
            repo,
            task,
            flags=flags,
            trusted=trust,
            unsafe=unsafe,
            json=json,
            output=output,
            verbose=verbose,
            mode=mode,
        )
    except KeyboardInterrupt:
        print("Interrupted before the work began; your files are as they were.", file=sys.stderr)
        return 130
    return handle.finish_event.exit_code
