"""`coder review`: have a change read, beside what the tests say about it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coder.cli.options import (
    AgainstOption,
    JsonOption,
    ModelOption,
    PurposeOption,
    RepositoryOption,
    RequestsOption,
    SecondsOption,
    ServerOption,
    SuiteOption,
    TestOption,
    TokensOption,
    TrustOption,
    UnsafeOption,
    UsdOption,
    VerboseOption,
    limit_flags,
    read_issue,
)

if TYPE_CHECKING:
    from coder.core.values.task import Task
    from coder.settings import Config


def review(
    change: Annotated[
        str | None,
        typer.Argument(
            metavar="REV|DIFF",
            help="A commit, branch, range A..B, file with a diff, - for a diff on standard input, or #N for "
            "a pull request that is fetched.",
            show_default="the uncommitted work",
        ),
    ] = None,
    against: AgainstOption = None,
    issue: PurposeOption = "",
    repo: RepositoryOption = Path(),
    model: ModelOption = None,
    base_url: ServerOption = None,
    test: TestOption = None,
    suite: SuiteOption = None,
    max_usd: UsdOption = None,
    max_tokens: TokensOption = None,
    max_seconds: SecondsOption = None,
    max_requests: RequestsOption = None,
    trust: TrustOption = False,
    unsafe_no_sandbox: UnsafeOption = False,
    json: JsonOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Judge a change by its tests and have it read: correctness, tests, simplicity, security.

    Beside each finding stands what the tests have seen there. Nothing is changed.

    Exit codes: those of coder verify.
    """
    from coder.cli.running import run_task
    from coder.cli.verify import read_diff
    from coder.repo.git import find_checkout
    from coder.settings import load_config
    from coder.ui.review_report import review_lines
    from coder.wiring.approach import judging_approach, reviewing_approach
    from coder.wiring.preparation import UNKNOWN_PURPOSE, make_task

    flags: dict[str, Any] = {
        "model": model,
        "base_url": base_url,
        "test": test,
        "suite": suite and suite.value,
        **limit_flags(max_usd, max_tokens, max_seconds, max_requests),
    }
    revision = _resolve_pull_request(change, repo) if change and change.startswith("#") else change
    judging, existing_task = judging_approach(
        repo, diff=read_diff(revision, repo), revision=revision, against=against
    )
    config = load_config(find_checkout(repo).root, flags)

    def task(root: Path, config: "Config") -> "Task":
        purpose = read_issue(issue) if issue else existing_task.issue
        return make_task(
            purpose or UNKNOWN_PURPOSE,
            config,
            directory=root,
            base=existing_task.base,
            given=True,
            needs_ties=bool(issue),
        )

    handle = run_task(
        repo,
        task,
        flags=flags,
        trusted=trust,
        unsafe=unsafe_no_sandbox,
        json=json,
        output=None,
        verbose=verbose,
        chosen_approach=reviewing_approach(judging, config, model_name=model),
    )
    finish_event = handle.finish_event
    if finish_event.verdict and not json:
        print("", *review_lines(handle.log.records, finish_event.verdict), sep="\n")
    return finish_event.exit_code


def _resolve_pull_request(number: str, repo: Path) -> str:
    """Return the fetched reference of a pull request or merge request; nothing is fetched here.

    Raises:
        UserError: no reference of it is here.
    """
    from coder.core.errors import UserError
    from coder.repo.git import find_checkout

    git = find_checkout(repo).git
    digits = number.removeprefix("#")
    names = (f"refs/pull/{digits}/head", f"refs/remotes/origin/pr/{digits}", f"refs/heads/pr-{digits}")
    for name in names:
        if digits.isdigit() and git.resolve_commit(name):
            return name
    raise UserError(
        f"The pull request {number} is not fetched: git fetch origin pull/{digits}/head:pr-{digits} && "
        f"coder review {number}"
    )
