"""Output on a terminal beside a session: reviews of a diff, closing lines, settings of the interface."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from coder.core.errors import UserError
from coder.core.text import sanitize_text
from coder.repo.git import find_checkout

if TYPE_CHECKING:
    from rich.console import Console

    from coder.core.events import Record, SessionFinished
    from coder.session.log import EventLog


def confirm_change(question: str) -> bool:
    """Ask whether to go on.

    Raises:
        UserError: nobody can answer.
    """
    import typer

    if not sys.stdin.isatty():
        raise UserError(f"{question} This is not interactive, so nothing was done. To confirm: add --yes.")
    return typer.confirm(question, err=True)


def print_closing_lines(
    log: "EventLog | None", root: Path, *, transcript: "Sequence[EventLog]" = (), is_told: bool = False
) -> None:
    """Print a transcript of sessions, what became of the newest one, and how to go on with it.

    If its outcome `is_told` already, only the latter.
    """
    from rich.console import Console

    from coder.core.events import SessionFinished, SessionStarted
    from coder.ui.lines import PipedConsole

    console: Console = PipedConsole(highlight=False)
    for session in transcript:
        _print_session(console, session.records)
    records = log.records if log is not None else ()
    if not records or not isinstance(started := records[0].event, SessionStarted):
        return
    if not is_told and isinstance(finished := records[-1].event, SessionFinished):
        _print_outcome(console, finished, root, session=started.session)
    console.print(f"resume   coder resume {started.session}")


def _print_outcome(console: "Console", finished: "SessionFinished", root: Path, *, session: str) -> None:
    from coder.repo.checkout import has_delivery
    from coder.repo.delivery import has_change
    from coder.ui.lines import summary_lines

    git, delivery = find_checkout(root).git, finished.delivery
    is_undone = delivery is not None and not has_delivery(git, delivery)
    if delivery is not None and delivery.commit and not is_undone and has_change(git, delivery.commit):
        finished = finished.model_copy(update={"delivery": delivery.model_copy(update={"merged": True})})
    for line in summary_lines(finished, session=session):
        is_outdated = is_undone and line.plain.startswith("next")
        console.print("next     undone since" if is_outdated else line)


def _print_session(console: "Console", records: "Sequence[Record]") -> None:
    """Print a request, what was done about it, and the diff or report that came of it."""
    from rich.text import Text

    from coder.core.events import SessionFinished, SessionStarted
    from coder.ui.lines import LinePrinter, print_result

    for record in records[:1]:
        if isinstance(record.event, SessionStarted):
            console.print(Text(f"> {sanitize_text(record.event.task.issue)}", "bold"))
    printer = LinePrinter(console, verbose=False, send=lambda _: None)
    for record in records:
        printer.print_record(record)
    if records and isinstance(finished := records[-1].event, SessionFinished):
        print_result(console, finished)


def take_over_stream(fd: int) -> BinaryIO:
    """Return a private duplicate of a standard stream, which itself leads nowhere from now on."""
    private = os.dup(fd)
    diversion = os.open(os.devnull, os.O_RDONLY) if fd == 0 else os.dup(2)
    os.dup2(diversion, fd)
    os.close(diversion)
    if fd == 1:
        sys.stdout = sys.stderr
    return os.fdopen(private, "rb" if fd == 0 else "wb")
