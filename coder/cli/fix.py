"""Commands that change code: fix, do, ask, run, resume, build, demo."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import (
    CHANGING,
    CONVERSATION,
    LIMITS,
    MODEL,
    RUNNING,
    Options,
    is_at_terminal,
    read_issue,
    read_plan,
    read_request,
    with_options,
)
from coder.core.errors import UserError
from coder.core.text import sanitize_text
from coder.repo.git import find_checkout

if TYPE_CHECKING:
    from coder.cli.forges import ForgeIssue
    from coder.core.events import Mode, SessionFinished, Source, Task

COMMAND_MODES: "Mapping[str, Mode]" = {"fix": "fix", "do": "change", "ask": "ask", "plan": "fix"}
"""Modes of sessions by those of custom commands."""
PARALLEL_STRATEGIES = ("tree", "committee", "auto")


@with_options(
    *CHANGING, *("not_test", "on", "strategy", "offline", "dry_run", "plan_only", "plan", "output", "pr")
)
def fix(
    issue: Annotated[
        str, typer.Argument(metavar="ISSUE", help="What is wrong: text, @file, or - for standard input.")
    ],
    base: Annotated[
        str | None, typer.Option(metavar="REV", help="Start from REV, without uncommitted work.")
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Bring a PROVEN fix onto the current branch.")
    ] = False,
    *,
    options: Options,
) -> int:
    """Fix an issue on a branch of its own, and prove it with tests.

    The address of an issue at GitHub, GitLab or Gitea is fetched, with its comments.

    SIGUSR1 while tests beside the fix's own run: deliver now, by what has run so far.

    Exit codes: 0 PROVEN and FIXED or as --require says, 3 PASSING, 4 GAVE UP, 5 LIMIT, 7 NOT TESTED, 2 wrong
    use, 130 interrupted.
    """
    if options.on and options.strategy not in PARALLEL_STRATEGIES:
        raise UserError(
            "--on distributes the branches of a tree: add --strategy tree, committee or auto. To fix many "
            "issues: coder batch"
        )
    plan = read_plan(options.plan) if options.plan is not None else None
    if plan is not None and plan.components:
        raise UserError(
            f"{options.plan} is a plan of components. To build them: coder build GOAL --plan {options.plan}"
        )
    from coder.core.events import Task

    request = Task(issue=issue, directory=options.repo, base=base, merge=merge, plan=plan)
    return _run_request(request, options)


@with_options(*CHANGING, "not_test", "dry_run", "output", "pr")
def do(
    change: Annotated[
        str, typer.Argument(metavar="CHANGE", help="What to change: text, @file, or - for standard input.")
    ],
    *,
    options: Options,
) -> int:
    """Make any change but a fix, such as a feature or a refactoring, on a branch of its own.

    No failing test is sought first; PASSING, exit code 3, is its usual end: --require passing makes it 0.
    """
    from coder.core.events import Task

    return _run_request(Task(issue=change, mode="change", directory=options.repo), options)


@with_options(*CONVERSATION, *MODEL, *LIMITS, *RUNNING, "on", "offline", "output")
def ask(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="Text, @file, or - for standard input.")
    ],
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Research it in parts, in parallel and in rounds; the answer is a checked report."
        ),
    ] = False,
    max_iterations: Annotated[
        int | None,
        typer.Option(min=1, max=10, metavar="N", help="With --deep: rounds of research.", show_default="3"),
    ] = None,
    document: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A text to read beside the repository; repeatable."),
    ] = None,
    url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL", help="A page to read, of a host in your setting `url_hosts` (repeatable)."
        ),
    ] = None,
    *,
    options: Options,
) -> int:
    """Answer a question about the repository with places in its code; nothing is changed.

    Exit codes: 0 answered, 4 no answer, 5 LIMIT, 2 wrong use, 130 interrupted.
    """
    if options.on and not deep:
        raise UserError("--on distributes the researchers of --deep: give both or neither.")
    if max_iterations is not None and not deep:
        raise UserError("--max-iterations limits the rounds of --deep: give both or neither.")
    from coder.core.events import Task

    request = Task(
        issue=question,
        mode="ask",
        directory=options.repo,
        deep=deep,
        iterations=max_iterations or 3,
        sources=_collect_sources(options.repo, document or (), url or ()),
    )
    return _run_request(request, options)


@with_options(*CHANGING, "dry_run")
def run(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Its name; without one, all are listed.")
    ] = "",
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORDS]...", help="What its placeholders stand for.")
    ] = None,
    *,
    options: Options,
) -> int:
    """Run a command of your own or of a trusted repository: a request that is kept as a Markdown file.

    They lie in .agents/commands and .claude/commands; skills can be run as well.
    """
    from coder.core.events import Task
    from coder.settings import is_trusted
    from coder.wiring.extensions import find_commands, require_command

    root = find_checkout(options.repo).root
    trusted = options.trust or is_trusted(root)
    if not name:
        commands = find_commands(root, trusted=trusted)
        print(
            *(f"{found.name:<16} {sanitize_text(found.description)}" for found in commands.values()), sep="\n"
        )
        return 0
    command = require_command(root, name, trusted=trusted)
    text = command.expand(" ".join(words or ()))
    request = Task(issue=text, mode=COMMAND_MODES[command.mode], directory=options.repo)
    options = replace(options, plan_only=command.mode == "plan")
    return _run_session(request, options, mentions=text).exit_code


def _collect_sources(repo: Path, documents: Sequence[Path], urls: Sequence[str]) -> "tuple[Source, ...]":
    """Return the texts beside the repository that the user allows for a question."""
    if not (documents or urls):
        return ()
    from coder.cli.question_sources import collect_sources
    from coder.settings import load_config

    return collect_sources(documents, urls, load_config(find_checkout(repo).root, {}).url_hosts)


def _run_request(request: "Task", options: Options) -> int:
    """Run a request of the user as a session and return its exit code.

    Its issue is as given on the command line: text, @file, - or an issue's address.
    """
    given = read_request(
        request.issue, fetches=request.mode != "ask", is_offline=options.settings["strategy"] == "offline"
    )
    if options.pr:
        _require_trust(options)
    request = request.model_copy(update={"issue": given.issue, "origin": given.origin})
    finish_event = _run_session(request, options, mentions=given.mentions)
    if options.pr:
        _open_draft(finish_event, given.address, options)
    return finish_event.exit_code


def _require_trust(options: Options) -> None:
    """Refuse to push from an untrusted repository, whose configuration the user's git follows."""
    from coder.settings import is_trusted

    root = find_checkout(options.repo).root
    if not (options.trust or is_trusted(root)):
        raise UserError(
            f"--pr pushes with your own git, as this repository configures it: coder trust {root}"
        )


def _open_draft(finish_event: "SessionFinished", issue: "ForgeIssue | None", options: Options) -> None:
    """Open a draft of a change that the user accepts, and print its address."""
    delivery = finish_event.delivery
    if delivery is None or not delivery.branch or finish_event.exit_code:
        print("No draft was opened, because there is no branch that fulfils --require.", file=sys.stderr)
        return
    from coder.cli.forges import open_draft

    checkout = find_checkout(options.repo)
    title = checkout.git.call("log", "-1", "--format=%s", delivery.commit).stdout.decode().strip()
    address = open_draft(
        checkout.root, issue=issue, branch=delivery.branch, title=title, verdict=finish_event.verdict
    )
    print(f"Draft: {sanitize_text(address)}", file=sys.stderr if options.json else sys.stdout)


def _run_session(request: "Task", options: Options, *, mentions: str) -> "SessionFinished":
    """Run a request whose text is known; files and symbols that `mentions` names are attached to it."""
    from coder.cli.running import run_task

    if request.mode == "fix" and options.only_paths and not request.base:
        _require_match(options.repo, options.only_paths)
    return run_task(request, options, mentions=mentions).finish_event


def _require_match(repo: Path, patterns: Sequence[str]) -> None:
    """Refuse --only if no file of the repository matches any of its paths."""
    from coder.files.regular_files import project_files
    from coder.workspace.workspace import matches_path

    root = find_checkout(repo).root
    is_match = any(
        (root / pattern).exists() or any(matches_path(path, pattern) for path in project_files(root))
        for pattern in patterns
    )
    if not is_match:
        raise UserError(
            f"--only {' --only '.join(patterns)} matches no file in {root}; nothing was started. Name a path "
            "or glob from the root of the repository."
        )


@with_options(*MODEL, "unsafe_no_sandbox", "inline", "screen_reader")
def resume(
    id: Annotated[
        str, typer.Argument(metavar="[ID]", help="A session's id, its beginning or its end, or `last`.")
    ] = "last",
    *,
    options: Options,
) -> int:
    """Go on with an earlier session: its conversation, and the change that it delivered.

    In a pipe, continue it with coder fix, do or ask and --session ID.
    """
    if not is_at_terminal():
        from coder.session.log import find_session

        session = find_session(id, repository=find_checkout(Path()).root).name
        raise UserError(
            f"resume opens the interface, which needs a terminal. In a pipe: coder do --session {session} "
            "'what to change'"
        )
    from coder.cli.tui import run_tui

    run_tui(Path(), flags=options.settings, unsafe=options.unsafe_no_sandbox, resumed=id)
    return 0


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


@with_options(*MODEL, "offline", "unsafe_no_sandbox")
def demo(*, options: Options) -> int:
    """Watch coder fix a real bug in a small repository that it brings along; no key needed."""
    from coder.cli.running import run_task
    from coder.core.events import Task
    from coder.repo.repository import init_repository

    directory = _unpack()
    init_repository(directory, message="Worklog 0.3.0")
    issue = (directory / "ISSUE.md").read_text(encoding="utf-8").strip()
    print(f"A small project, worklog, now lies in {directory}. Somebody has reported a bug:\n")
    print("\n".join(f"    {line}".rstrip() for line in issue.splitlines()), end="\n\n")
    print(f"What you would type there: coder fix @ISSUE.md{' --offline' if options.offline else ''}\n")
    handle = run_task(
        Task(issue=issue, directory=directory),
        # The interpreter that runs coder has pytest; an active environment may not.
        replace(
            options,
            repo=directory,
            test=f"{sys.executable} -m pytest",
            trust=True,
        ),
    )
    code = handle.finish_event.exit_code
    print(f"\nLook around:     cd {directory} && git log --all --oneline --notes=coder")
    print("On your own:     cd your/repository && coder fix 'what is wrong'")
    return code


def _unpack() -> Path:
    """Copy the demo's files into a new temporary directory."""
    import shutil
    import tempfile
    from importlib.resources import as_file, files

    directory = Path(tempfile.mkdtemp(prefix="coder-demo-")).resolve() / "worklog"
    with as_file(files("coder.demo") / "project") as project:
        shutil.copytree(project, directory, ignore=shutil.ignore_patterns("__pycache__"))
    return directory
