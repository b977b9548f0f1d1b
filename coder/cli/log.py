"""`coder log`: what sessions did."""

from typing import TYPE_CHECKING

import typer

from coder.cli.options import SessionArgument

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer(help="List sessions; show one, or its diff.", rich_markup_mode=None, invoke_without_command=True)


@app.callback()
def listing(context: typer.Context) -> None:
    """List sessions, the newest last."""
    if context.invoked_subcommand is not None:
        return
    from coder.store.jsonl import ends
    from coder.ui.text import printable

    known = _sessions()
    for directory in known:
        started, finished = ends(directory)
        kind = (finished.kind.value if finished.kind else "stopped") if finished else "cut off"
        issue = printable(started.task.issue.splitlines()[0][:70]) if started else ""
        print(f"{directory.name}  {kind:<13} {started.repository if started else '':<30} {issue}")
    if not known:
        print('No sessions yet. Start one: coder fix "what is wrong"')


@app.command()
def show(id: SessionArgument) -> None:
    """Show a session again as it went."""
    import asyncio

    from rich.console import Console

    from coder.loop.log import EventLog
    from coder.store.jsonl import ends, find, read
    from coder.ui.lines import Lines
    from coder.ui.summary import show as show_summary
    from coder.wiring import sessions_directory

    directory = find(sessions_directory(), id)
    log = EventLog(records=read(directory))
    log.close()
    console = Console(highlight=False)
    asyncio.run(Lines(console, verbose=True, send=lambda _: None).replay(log.follow()))
    if (finished := ends(directory)[1]) is not None:
        show_summary(console, finished, session=directory.name)


@app.command()
def diff(id: SessionArgument) -> None:
    """Print a session's fix, or its last attempt, as a diff."""
    from coder.core.errors import UserError
    from coder.core.events import FilesChanged
    from coder.store.jsonl import ends, find, read
    from coder.wiring import sessions_directory

    directory = find(sessions_directory(), id)
    finished = ends(directory)[1]
    changes = [record.event.diff for record in read(directory) if isinstance(record.event, FilesChanged)]
    text = finished.delivery.diff if finished and finished.delivery else next(reversed(changes), "")
    if not text:
        raise UserError(f"Session {directory.name} changed nothing.")
    print(text, end="" if text.endswith("\n") else "\n")


def _sessions() -> "list[Path]":
    from coder.store.jsonl import listing as stored
    from coder.wiring import sessions_directory

    return stored(sessions_directory())
