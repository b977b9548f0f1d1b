"""`coder hook`: have coder judge what other coding agents leave, and what git pushes."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import RepositoryOption, TestOption, TrustOption, UnsafeOption

if TYPE_CHECKING:
    from coder.hooks.agents import Agent
    from coder.hooks.judging import Judge

BROKEN = 6
app = typer.Typer(
    help="Have coder judge what other coding agents leave, and what git pushes.",
    rich_markup_mode=None,
)


class HookOwner(StrEnum):
    """Programs that have a hook."""

    claude = "claude"
    codex = "codex"
    gemini = "gemini"
    git = "git"


OwnerArgument = Annotated[
    HookOwner, typer.Argument(help="Claude Code, Codex, Gemini CLI, or git (before a push).")
]
UserOption = Annotated[
    bool, typer.Option("--user", help="In your own settings, for all repositories, instead of this one's.")
]
RoundsOption = Annotated[int, typer.Option(min=0, help="Times that an agent is sent back in one turn.")]


@app.command()
def install(
    owner: OwnerArgument,
    user: UserOption = False,
    rounds: RoundsOption = 3,
    repo: RepositoryOption = Path(),
    unsafe_no_sandbox: UnsafeOption = False,
) -> None:
    """Install the hook; all other settings and hooks are kept.

    When the agent ends its turn, `coder verify` judges what it left. BROKEN and NOT FIXED send it back with
    the reasons. Before a push, BROKEN refuses it.
    """
    from coder.hooks.agents import AGENTS, install_entries, own_program
    from coder.hooks.git_hook import install_hook
    from coder.repo.existing_change import find_hooks_directory

    options = "--unsafe-no-sandbox " if unsafe_no_sandbox else ""
    if owner is HookOwner.git:
        _refuse_user(user)
        path = install_hook(find_hooks_directory(repo), program=own_program(), options=options)
        print(f"{path} has coder judge each push. To push all the same: git push --no-verify")
        return
    agent = AGENTS[owner.value]
    path = _settings_path(agent, repo, user=user)
    limit = "" if rounds == 3 else f" --rounds {rounds}"
    command = f"{own_program()} hook run {agent.name} {options}".rstrip() + limit
    state = "has" if install_entries(path, agent, command) else "already had"
    print(f"{path} {state} coder judge what {agent.name} leaves. {agent.remark}".rstrip())


@app.command()
def remove(owner: OwnerArgument, user: UserOption = False, repo: RepositoryOption = Path()) -> None:
    """Remove the hook; all other settings and hooks are kept."""
    from coder.hooks.agents import AGENTS, remove_entries
    from coder.hooks.git_hook import remove_hook
    from coder.repo.existing_change import find_hooks_directory

    if owner is HookOwner.git:
        _refuse_user(user)
        path = find_hooks_directory(repo)
        was_there = remove_hook(path)
    else:
        path = _settings_path(AGENTS[owner.value], repo, user=user)
        was_there = remove_entries(path, AGENTS[owner.value])
    print(f"Removed from {path}." if was_there else f"There is no hook of coder's in {path}.")


@app.command()
def run(
    owner: OwnerArgument,
    arguments: Annotated[list[str] | None, typer.Argument(help="Those of git's pre-push hook.")] = None,
    rounds: RoundsOption = 3,
    unsafe_no_sandbox: UnsafeOption = False,
) -> int:
    """Judge, as an installed hook does: the event is read from standard input.

    An agent gets the answer as JSON. Exit codes: 0, or 1 where a push is refused.
    """
    from functools import partial

    from coder import api

    judge = partial(api.verify, unsafe_no_sandbox=unsafe_no_sandbox)
    if owner is HookOwner.git:
        return _judge_push(judge, remote=(arguments or [""])[0])
    import json

    from coder.core.text import sanitize_text
    from coder.hooks.agents import AGENTS
    from coder.hooks.judging import answer_agent

    try:
        event = json.loads(sys.stdin.read())
    except ValueError:
        event = None
    if not isinstance(event, dict):
        print("coder hook run reads an agent's event, a JSON object, from standard input.", file=sys.stderr)
        return 1  # not 2, by which agents mean a refusal
    answer = answer_agent(AGENTS[owner.value], event, rounds=rounds, judge=judge)
    if answer:
        print(json.dumps({name: sanitize_text(text) for name, text in answer.items()}))
    return 0


def _judge_push(judge: "Judge", *, remote: str) -> int:
    from coder.core.errors import CoderError
    from coder.core.text import sanitize_text
    from coder.hooks.judging import judge_push

    code = 0
    try:
        for branch, result in judge_push(Path(), sys.stdin.read(), remote=remote, judge=judge):
            text = f"coder verify {branch.name}: {result.label}. {result.summary}"
            if result.exit_code == BROKEN:
                text += f"\n\n{result.report}\nNot pushed. To push all the same: git push --no-verify"
                code = 1
            print(sanitize_text(text), file=sys.stderr)
    except CoderError as error:
        print(f"coder could not judge the push: {sanitize_text(str(error))}", file=sys.stderr)
    return code


def _settings_path(agent: "Agent", repo: Path, *, user: bool) -> Path:
    """Return the settings file behind all links.

    Raises:
        UserError: a link of the repository leads out of it.
    """
    from coder.core.errors import UserError
    from coder.repo.git import find_git

    root = (Path.home() if user else find_git(repo).directory).resolve()
    path = (root / agent.settings).resolve()
    if not user and not path.is_relative_to(root):
        raise UserError(f"{agent.settings} leads out of the repository, to {path}: nothing was changed.")
    return path


def _refuse_user(user: bool) -> None:
    from coder.core.errors import UserError

    if user:
        raise UserError("git has no hooks of the user's own: install it in each repository, without --user.")


def watch(
    against: Annotated[
        str | None,
        typer.Option(metavar="REV", help="What to compare with.", show_default="HEAD at the start"),
    ] = None,
    issue: Annotated[
        str, typer.Option(metavar="ISSUE", help="What the edits are for, as for fix.", show_default="unknown")
    ] = "",
    repo: RepositoryOption = Path(),
    test: TestOption = None,
    trust: TrustOption = False,
    unsafe_no_sandbox: UnsafeOption = False,
) -> int:
    """Judge the uncommitted work, and commits made meanwhile, whenever edits come to rest; Ctrl-C ends it.

    Whoever edits, you or any agent: each state gets a line with its verdict, and BROKEN or NOT FIXED its
    tests. Nothing is changed, and no model is asked.
    """
    import sys
    import time
    from functools import partial

    from coder import api
    from coder.cli.options import read_issue
    from coder.core.errors import UserError
    from coder.core.text import sanitize_text
    from coder.hooks.judging import watch_verdicts
    from coder.repo.git import find_checkout

    base = find_checkout(repo).git.resolve_commit(against) if against else ""
    if base is None:
        raise UserError(f"There is no commit {against!r} to compare with.")
    judge = partial(
        api.verify,
        issue=read_issue(issue) if issue else "",
        test_command=test,
        trust=trust,
        unsafe_no_sandbox=unsafe_no_sandbox,
    )
    print("Watching; each state in which edits come to rest is judged. Ctrl-C ends it.", file=sys.stderr)
    try:
        for verdict in watch_verdicts(repo, base=base, judge=judge):
            label = f"{verdict.result.label}  " if verdict.result else ""
            print(sanitize_text(f"{time.strftime('%H:%M:%S')}  {label}{verdict.text}"), flush=True)
            judged = verdict.result.verdict if verdict.result else None
            for result in (*judged.broken, *judged.still_red) if judged else ():
                print(sanitize_text(f"          {result.id}"), flush=True)
    except KeyboardInterrupt:
        print("Watched no longer; nothing was changed.", file=sys.stderr)
    return 0
