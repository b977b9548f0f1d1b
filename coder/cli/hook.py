"""`coder hook`: have coder judge what other coding agents leave, and what git pushes."""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from coder.cli.options import (
    Options,
    RepositoryOption,
    UnsafeOption,
    is_at_terminal,
    read_issue,
    with_options,
)
from coder.core.errors import CoderError, UserError
from coder.core.text import parse_json, sanitize_text
from coder.repo.git import find_checkout, find_git

if TYPE_CHECKING:
    from coder.api import Result
    from coder.hooks.agents import Agent

app = typer.Typer(
    help="Have coder judge what other coding agents leave, and what git pushes.",
    rich_markup_mode=None,
)


OwnerArgument = Annotated[
    Literal["claude", "codex", "gemini", "qwen", "git"],
    typer.Argument(
        metavar="AGENT", help="claude, codex, gemini, qwen (when a turn ends) or git (before a push)."
    ),
]
UserOption = Annotated[
    bool, typer.Option("--user", help="In your own settings, for all repositories, instead of this one's.")
]
TeamOption = Annotated[
    bool,
    typer.Option("--team", help="In the file that is committed, where there is one of your own beside it."),
]
AbsoluteOption = Annotated[
    bool, typer.Option("--absolute", help="Start this installation by its path, not `coder` on PATH.")
]
RememberTrustOption = Annotated[bool, typer.Option("--trust", help="Trust this repository from now on.")]
HEARTBEAT_SECONDS = 10.0
"""Interval in which a push says that it is still judged."""


@app.command()
def install(
    owner: OwnerArgument,
    user: UserOption = False,
    team: TeamOption = False,
    absolute: AbsoluteOption = False,
    trust: RememberTrustOption = False,
    repo: RepositoryOption = Path(),
    unsafe_no_sandbox: UnsafeOption = False,
) -> None:
    """Install the hook; all other settings and hooks are kept.

    When the agent ends its turn, `coder verify` judges what it changed. BROKEN and NOT FIXED send it back
    with the reasons. Before a push, they refuse it, unless only tests are pushed.
    """
    from coder.hooks.agents import AGENTS, find_program, hook_command, install_entries
    from coder.hooks.git_hook import install_hook

    program = find_program(absolute=absolute)
    options = ["--unsafe-no-sandbox"] if unsafe_no_sandbox else []
    if owner == "git":
        path = install_hook(_git_hooks(repo, user), program=program, options=options)
        print(f"{path} has coder judge each push. To push anyway: git push --no-verify")
    else:
        agent = AGENTS[owner]
        path = _settings_paths(agent, repo, user=user)[-1 if team else 0]
        is_changed = install_entries(path, agent, hook_command(agent, program, options))
        print(f"{path} {'has' if is_changed else 'already had'} coder judge what {agent.title} leaves.")
        if agent.remark:
            print(agent.remark)
    if not user:
        print(_settle_trust(repo, trust=trust))


@app.command()
def remove(owner: OwnerArgument, user: UserOption = False, repo: RepositoryOption = Path()) -> None:
    """Remove the hook; all other settings and hooks are kept."""
    from coder.hooks.agents import AGENTS, remove_entries
    from coder.hooks.git_hook import remove_hook

    if owner == "git":
        paths = [_git_hooks(repo, user)]
        removed = [path for path in paths if remove_hook(path)]
    else:
        paths = _settings_paths(AGENTS[owner], repo, user=user)
        removed = [path for path in paths if remove_entries(path, AGENTS[owner])]
    for path in removed:
        print(f"Removed from {path}.")
    if not removed:
        print(f"There is no hook of coder's in {' or '.join(map(str, paths))}.")


@app.command()
def run(
    owner: OwnerArgument,
    arguments: Annotated[list[str] | None, typer.Argument(help="Those of git's pre-push hook.")] = None,
    unsafe_no_sandbox: UnsafeOption = False,
) -> int:
    """Judge, as an installed hook does: the event is read from standard input.

    An agent gets the answer as JSON. Exit codes: 0, or 1 where a push is refused.
    """
    if owner == "git":
        return _judge_push(remote=(arguments or [""])[0], unsafe_no_sandbox=unsafe_no_sandbox)
    return _answer_event(owner, unsafe_no_sandbox=unsafe_no_sandbox)


def _answer_event(owner: str, *, unsafe_no_sandbox: bool) -> int:
    """Read an agent's event from standard input and print the answer as JSON; return the exit code."""
    from coder.hooks.agents import AGENTS
    from coder.hooks.judging import answer_agent

    agent = AGENTS[owner]
    try:
        event = parse_json(sys.stdin.read())
    except ValueError:
        event = None
    if not isinstance(event, dict):
        print("coder hook run reads an agent's event, a JSON object, from standard input.", file=sys.stderr)
        return 1  # not 2, by which agents mean a refusal
    answer = answer_agent(
        agent,
        event,
        judge=partial(_judge_turn, unsafe_no_sandbox=unsafe_no_sandbox),
        project=os.environ.get(agent.project_variable, ""),
    )
    if answer:
        print(json.dumps({name: sanitize_text(text) for name, text in answer.items()}))
    if message := answer.get("systemMessage"):
        print(sanitize_text(message), file=sys.stderr)  # not all agents show the message without an interface
    return 0


MARGIN_SECONDS = 60.0
"""A check ends so long before the time limit of its hook."""


def _judge_turn(**change: Any) -> "Result":
    """Judge in time for the hook's limit, and end in order when the agent stops the hook."""
    from coder import api  # which takes long to load, and only a change is judged
    from coder.cli.running import clean_up_if_killed, end_on_signals
    from coder.hooks.agents import SECONDS

    stop = Event()
    timer = Timer(SECONDS - MARGIN_SECONDS, stop.set)
    timer.daemon = True
    timer.start()
    try:
        with clean_up_if_killed(), end_on_signals(stop.set):
            return api.verify(**change, in_turn=True, stop=stop)
    finally:
        timer.cancel()


def _judge_push(*, remote: str, unsafe_no_sandbox: bool) -> int:
    from coder import api
    from coder.core.verdict_summary import summary_text
    from coder.hooks.judging import is_push_refused, judge_push

    code = 0

    def judge(commit: str, **options: Any) -> "Result":
        print("coder judges the push (git push --no-verify skips this)", file=sys.stderr)
        with _show_heartbeat("coder judges the push"):
            return api.verify(commit, unsafe_no_sandbox=unsafe_no_sandbox, **options)

    try:
        for branch, result in judge_push(Path(), sys.stdin.read(), remote=remote, judge=judge):
            if result is None:
                text = f"coder: {branch.name} is not judged, because {branch.obstacle}."
                print(sanitize_text(text), file=sys.stderr)
                continue
            text = f"coder verify {branch.name}: {result.label}. {result.summary}"
            if is_push_refused(branch, result):
                lines = summary_text(result.verdict, session=result.session) if result.verdict else text
                ending = "Not pushed. To push anyway: git push --no-verify"
                text = f"coder verify {branch.name}:\n{lines}\n{ending}"
                code = 1
            print(sanitize_text(text), file=sys.stderr)
    except CoderError as error:
        print(f"coder could not judge the push: {sanitize_text(str(error))}", file=sys.stderr)
    return code


@contextmanager
def _show_heartbeat(activity: str) -> Iterator[None]:
    """Say on standard error, every ten seconds of the block, that it is still at work."""
    end = Event()

    def show() -> None:
        seconds = 0.0
        while not end.wait(HEARTBEAT_SECONDS):
            seconds += HEARTBEAT_SECONDS
            print(f"{activity} ({seconds:.0f} s)", file=sys.stderr, flush=True)

    Thread(target=show, daemon=True).start()
    try:
        yield
    finally:
        end.set()


def _git_hooks(repo: Path, user: bool) -> Path:
    from coder.repo.history import find_hooks_directory

    if user:
        raise UserError("git has no hooks of the user's own: install it in each repository, without --user.")
    return find_hooks_directory(repo)


def _settings_paths(agent: "Agent", repo: Path, *, user: bool) -> list[Path]:
    """Return the settings files behind all links, in a repository the user's own first."""
    root = (Path.home() if user else find_git(repo).directory).resolve()
    names = [agent.settings] if user else [*filter(None, [agent.personal]), agent.settings]
    paths = [(root / name).resolve() for name in names]
    for name, path in zip(names, paths, strict=True):
        if not user and not path.is_relative_to(root):
            raise UserError(f"{name} leads out of the repository, to {path}: nothing was changed.")
    return paths


def _settle_trust(repo: Path, *, trust: bool) -> str:
    """Ask for trust where it is missing and somebody can answer; return what is true then."""
    from coder.settings import is_trusted, trust_repository

    root = find_git(repo).directory
    question = f"Trust {root}, so that its tests may run here?"
    if not is_trusted(root) and (trust or (is_at_terminal() and typer.confirm(question))):
        trust_repository(root)
    if is_trusted(root):
        return f"Trust: {root} is trusted."
    return (
        f"Trust: {root} is not trusted: without a full sandbox nothing is judged. If it is yours: "
        f"coder trust {root}"
    )


@with_options("repo", "test", "trust", "unsafe_no_sandbox")
def watch(
    against: Annotated[
        str | None,
        typer.Option(metavar="REV", help="What to compare with.", show_default="HEAD at the start"),
    ] = None,
    issue: Annotated[
        str, typer.Option(metavar="ISSUE", help="What the edits are for, as for fix.", show_default="unknown")
    ] = "",
    *,
    options: Options,
) -> int:
    """Judge the uncommitted work, and commits made meanwhile, whenever edits come to rest; Ctrl-C ends it.

    Whoever edits, you or any agent: each state gets a line with its verdict, and BROKEN or NOT FIXED its
    tests. Nothing is changed, and no model is asked.
    """
    from coder import api
    from coder.hooks.judging import QUIET_SECONDS, join_names, watch_verdicts

    repo = options.repo
    checkout = find_checkout(repo)
    base = checkout.git.resolve_commit(against) if against else checkout.head
    if base is None:
        raise UserError(f"There is no commit {against!r} to compare with.")

    def judge(**change: Any) -> "Result":
        with _show_heartbeat("judging"):
            return api.verify(
                issue=read_issue(issue) if issue else "",
                test_command=options.test,
                trust=options.trust,
                unsafe_no_sandbox=options.unsafe_no_sandbox,
                **change,
            )

    def report_start(changed: Sequence[str]) -> None:
        _print_event(f"judging {join_names(changed)}")

    _print_event(
        f"watching {checkout.root} against {against or 'HEAD'} ({base[:10]}): each state in "
        f"which edits rest for {QUIET_SECONDS:.0f} s is judged; Ctrl-C ends it"
    )
    try:
        for verdict in watch_verdicts(repo, base=base, judge=judge, report_start=report_start):
            label = f"{verdict.result.label}  " if verdict.result else ""
            judged = verdict.result.verdict if verdict.result else None
            _print_event(f"{label}{judged.headline if judged else verdict.text}")
            for result in judged.failures if judged else ():
                print(sanitize_text(f"          {result.id}"), flush=True)
    except KeyboardInterrupt:
        print("Watched no longer; nothing was changed.", file=sys.stderr)
    return 0


def _print_event(text: str) -> None:
    print(sanitize_text(f"{time.strftime('%H:%M:%S')}  {text}"), flush=True)
