"""`coder log`: list and show stored sessions."""

import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from coder.cli.options import AttemptOption, SessionArgument
from coder.cli.running import confirm_change
from coder.core.errors import CoderError, UserError
from coder.core.text import sanitize_text
from coder.files.regular_files import state_directory
from coder.repo.git import find_checkout, find_git, find_root, is_in_use, session_lock

if TYPE_CHECKING:
    from coder.core.values import Usage
    from coder.session.log import StoredSession
    from coder.wiring.conversations import ConversationPoint


app = typer.Typer(
    help="List sessions; show one, or its diff.", rich_markup_mode=None, invoke_without_command=True
)
LISTING_HEAD = f"{'session':<20}  requests  {'outcome':<14}  {'model':<24}  {'cost':>13}  request"


@app.callback()
def listing(
    context: typer.Context,
    everywhere: Annotated[bool, typer.Option("--all", help="Sessions of all repositories.")] = False,
) -> None:
    """List this repository's sessions, the newest first."""
    if context.invoked_subcommand is not None:
        return
    lines = session_lines(None if everywhere else find_root(Path()))
    if lines:
        print(LISTING_HEAD, *lines, sep="\n")
    else:
        print('No sessions yet. Start one: coder fix "what is wrong"')


def session_lines(repository: "Path | None") -> "list[str]":
    """Return a line for each session of a repository, or of all, the newest first.

    A last line counts the sessions whose log cannot be read.
    """
    from coder.session.log import stored_sessions

    problems: list[str] = []
    sessions = [*stored_sessions(repository, on_problem=problems.append)]
    undone = _find_undone(repository, sessions) if repository else frozenset()
    lines = []
    for session in sessions:
        place = "" if repository else f"  ({session.started.repository})"
        lines.append(f"{_session_line(session, undone=undone)}{place}")
    if problems and lines:
        lines.append(f"{len(problems)} not listed: {problems[0]}")
    return lines


def _find_undone(repository: Path, sessions: "Iterable[StoredSession]") -> "frozenset[str]":
    """Return the commits of finished sessions that were delivered in a repository, and taken back."""
    from coder.repo.delivery import find_undone

    commits = {session.delivery.commit for session in sessions if session.delivery} - {""}
    try:
        return find_undone(find_git(repository), commits) if commits else frozenset()
    except CoderError:  # the sessions are listed all the same
        return frozenset()


def _session_line(session: "StoredSession", *, undone: "frozenset[str]") -> str:
    from coder.session.log import list_conversation
    from coder.ui.lines import format_money

    kind, issue = _describe_outcome(session)
    if session.delivery and session.delivery.commit in undone:
        kind += ", undone"
    spent = session.finished.spent if session.finished else None
    cost = format_money(spent) if spent and spent.requests else ""
    name = f"{session.directory.name:<20}  {len(list_conversation(session.directory)):>8}"
    return f"{name}  {kind:<14}  {session.started.model:<24.24}  {cost:>13}  {issue}"


def _describe_outcome(session: "StoredSession") -> tuple[str, str]:
    """Return the outcome of a session in a word, and the first line of its request."""
    from coder.core.state import outcome_label

    unfinished = "running" if is_in_use(session.directory) else "cut off"
    kind = outcome_label(session.finished) if session.finished else unfinished
    return kind, sanitize_text(session.started.task.issue.partition("\n")[0][:60])


def _find(id: str) -> Path:
    """Return the directory of a session; `last` is the newest in this repository."""
    from coder.session.log import find_session

    return find_session(id, repository=find_root(Path()) if id == "last" else None)


Grouping = Literal["day", "month", "model"]
"""Units by which costs are added up."""


@app.command()
def cost(by: Annotated[Grouping, typer.Option(help="What to add up by.")] = "day") -> None:
    """Add up what all sessions have spent; days and months are those of UTC.

    The price of some requests may not be known: they are counted beside what is known.
    """
    print("\n".join(cost_lines(by)))


def cost_lines(by: Grouping) -> list[str]:
    """Return a table of what all sessions have spent."""
    from coder.wiring.conversations import read_spending

    groups: dict[str, list[Usage]] = {}
    for session, model, requests in read_spending():
        day = f"{session[:4]}-{session[4:6]}-{session[6:8]}"
        groups.setdefault({"day": day, "month": day[:7], "model": model}[by], []).extend(requests)
    if not groups:
        return ["No session has asked a model yet."]
    width = max(len(by), *map(len, groups))
    head = (by, "requests", "input tokens", "cached tokens", "output tokens", "cost")
    return [
        "  ".join([f"{first:<{width}}", *(f"{cell:>13}" for cell in cells)])
        for first, *cells in (head, *(_cost_row(key, requests) for key, requests in groups.items()))
    ]


def _cost_row(key: str, requests: "list[Usage]") -> tuple[object, ...]:
    """Return the cells of a group, such as `$0.12 and 3 requests of unknown price` for the last one."""
    from coder.wiring.conversations import known_cost

    known, unpriced = known_cost(requests), sum(usage.cost_usd is None for usage in requests)
    cost = f"${known:.4f}"
    if unpriced:
        rest = f"{unpriced} request{'s' if unpriced > 1 else ''} of unknown price"
        cost = f"{cost} and {rest}" if known else rest
    tokens = ("input_tokens", "cached_tokens", "output_tokens")
    return (key, len(requests), *(sum(getattr(usage, name) for usage in requests) for name in tokens), cost)


Restore = Literal["both", "conversation", "code"]
"""Parts of a session that go back to an earlier point."""


@app.command()
def rewind(
    point: Annotated[
        str,
        typer.Argument(
            metavar="ID@N", help="A session and the number of a request of its conversation, from 1."
        ),
    ] = "last",
    restore: Annotated[
        Restore, typer.Option(help="What goes back; the other stays as it is.", show_default="both")
    ] = "both",
) -> None:
    """Go back to before request N of a conversation (the newest one without @N), and go on from there.

    Nothing is deleted: the session that is left behind, its branch and its commits stay as they are.
    """
    from coder.wiring.conversations import go_back

    found = go_back(point, find_checkout(Path()).root, restore=restore)
    print(f"{describe_point(found)}\nTo go on from there: coder resume {found.session}")


def describe_point(point: "ConversationPoint") -> str:
    """Return where a conversation goes on, for the user."""
    lines = [
        f"Back before request {point.request}; nothing was deleted.",
        *(
            f"Your branch holds the change of {name}; to take it back: coder undo {name}"
            for name in point.applied
        ),
    ]
    return "\n".join(lines)


@app.command()
def show(id: SessionArgument = "last") -> None:
    """Show a session again as it went."""
    from coder.core.events import SessionFinished, SessionStarted, newest_event
    from coder.session.log import read_records
    from coder.ui.lines import LinePrinter, PipedConsole, print_summary

    directory = _find(id)
    records = read_records(directory)
    started, finished = newest_event(records, SessionStarted), newest_event(records, SessionFinished)
    console = PipedConsole(highlight=False)
    printer = LinePrinter(console, verbose=True, send=lambda _: None, has_summary=finished is not None)
    for record in records:
        printer.print_record(record)
    if finished is not None:
        is_judged = started is not None and started.task.given
        print_summary(console, finished, session=directory.name, is_judged=is_judged)


@app.command()
def context(id: SessionArgument = "last") -> None:
    """Show what fills the context window of a session's model."""
    from coder.core.state import describe_context
    from coder.session.log import read_records

    directory = _find(id)
    print("\n".join(describe_context(read_records(directory))))


@app.command()
def diff(id: SessionArgument = "last", attempt: AttemptOption = None) -> None:
    """Print a session's fix, or its best attempt, as a diff."""
    from coder.core.events import FilesChanged, newest_event
    from coder.repo.history import delivered_diff
    from coder.session.log import boundary_events, read_records
    from coder.session.report import best_attempt, find_attempt
    from coder.ui.lines import PipedConsole, print_diff

    directory = _find(id)
    start_event, finish_event = boundary_events(directory)
    records = read_records(directory)
    delivery = finish_event.delivery if finish_event else None
    if attempt is not None:
        delivery, text = None, find_attempt(records, attempt).diff
    elif start_event and delivery:
        text = delivered_diff(Path(start_event.repository), delivery)
    else:
        best = best_attempt(records)
        changed = newest_event(records, FilesChanged)
        text = best.diff if best else changed.diff if changed else ""
    if not text:
        raise UserError(f"Session {directory.name} changed nothing.")
    print_diff(PipedConsole(highlight=False), sanitize_text(text) if sys.stdout.isatty() else text)


@app.command()
def evidence(
    id: SessionArgument = "last",
    json: Annotated[bool, typer.Option("--json", help="All of it, as evidence.json.")] = False,
    in_toto: Annotated[
        bool, typer.Option("--in-toto", help="All of it, as an in-toto statement (predicate test-result).")
    ] = False,
) -> None:
    """Print what a session's verdict rests on; `coder verify --check` reads --json and --in-toto."""
    from coder.core.attestation import build_attestation, build_statement
    from coder.core.verdict_summary import markdown_report
    from coder.session.log import boundary_events, read_records

    directory = _find(id)
    finished = boundary_events(directory)[1]
    branch = finished.delivery.branch if finished and finished.delivery else ""
    statement = build_attestation(read_records(directory))
    if statement is None:
        raise UserError(f"Session {directory.name} came to no verdict, so there is no evidence.")
    if in_toto:
        text = dumps(build_statement(statement), indent=2, ensure_ascii=False) + "\n"
    else:
        text = (
            statement.model_dump_json(indent=2) + "\n"
            if json
            else markdown_report(statement.verdict, change=branch or "")
        )
    print(text, end="")


DAY_SECONDS = 86_400
KINDS = {
    "sessions": "sessions",
    "index": "indexes, and what was learnt of test suites",
    "overlays": "installed packages",
    "clones": "repositories of batches",
    "hooks": "sessions of other agents",
    "history": "messages that earlier versions kept beside the sessions",
}
"""Purpose of each directory of the state, by its name."""


class StoredItem(NamedTuple):
    """A file or directory that can be removed by itself."""

    path: Path
    bytes: int
    used: float
    """Seconds since the epoch."""


def clean(
    older_than: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="Remove what was not used for so many days."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Show what sessions, indexes and packages occupy; with --older-than, remove what is old.

    Branches and commits stay, and so does a session that a newer one continues. A removed session can no
    longer be shown, continued, applied or undone by its id.
    """
    from coder.session.log import list_conversation
    from coder.wiring.conversations import recover_sessions

    recover_sessions()
    state, now = state_directory(), time.time()
    items = {name: list(_find_items(state / name)) for name in KINDS}
    for name, purpose in KINDS.items():
        print(f"{_format_size(items[name]):>9}  {len(items[name]):>5}  {purpose}")
    if older_than is None:
        print(f"In {state}. To remove what is old: coder clean --older-than 30")
        return
    since = now - older_than * DAY_SECONDS
    continued: set[Path] = set()  # at any distance: their record belongs to the newer ones
    for item in items["sessions"]:
        if item.used >= since:
            with suppress(UserError):  # a record that this version cannot read
                continued.update(list_conversation(item.path)[:-1])
    old = [
        item for group in items.values() for item in group if item.used < since and item.path not in continued
    ]
    if not old:
        print("Nothing is that old.")
        return
    summary = f"{len(old)} of these, {_format_size(old)}"
    if not yes and not confirm_change(f"Remove {summary}?"):
        print("Nothing was removed.")
        return
    print(f"Removed {_format_size([item for item in old if _remove(item.path)])}.")


def _find_items(directory: Path) -> Iterator[StoredItem]:
    for path in sorted(directory.glob("*")):
        files = [path, *path.rglob("*")] if path.is_dir() and not path.is_symlink() else [path]
        stats = [file.lstat() for file in files if file.exists() or file.is_symlink()]
        if stats:
            yield StoredItem(
                path, sum(stat.st_blocks * 512 for stat in stats), max(stat.st_mtime for stat in stats)
            )


def _format_size(items: list[StoredItem]) -> str:
    return f"{sum(item.bytes for item in items) / 1e6:,.1f} MB"


def _remove(path: Path) -> bool:
    """Remove a file or directory; return whether that was done: a session in use stays."""
    try:
        if not path.is_dir():
            path.unlink(missing_ok=True)
            return True
        with session_lock(path) if (path / "lock").exists() else nullcontext():
            shutil.rmtree(path)
    except (UserError, OSError):
        return False
    return True
