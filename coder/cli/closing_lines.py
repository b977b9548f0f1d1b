"""Lines that the interface leaves on the terminal: a transcript, and how to go on."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from coder.core.events import Record, SessionFinished
    from coder.session.log import EventLog


def print_closing_lines(
    log: "EventLog | None", root: Path, *, transcript: "Sequence[EventLog]" = (), is_told: bool = False
) -> None:
    """Print a transcript of sessions, what became of the newest one, and how to go on with it.

    If its outcome `is_told` already, only the latter.
    """
    from rich.console import Console

    from coder.core.events import SessionFinished, SessionStarted
    from coder.ui.console import PipedConsole

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
    from coder.repo.delivery.checkout import has_delivery
    from coder.repo.delivery.commits import has_change
    from coder.repo.git import find_checkout
    from coder.ui.summary import summary_lines

    git, delivery = find_checkout(root).git, finished.delivery
    is_undone = delivery is not None and not has_delivery(git, delivery)
    if delivery is not None and delivery.commit and not is_undone and has_change(git, delivery.commit):
        finished = finished.model_copy(update={"delivery": delivery.model_copy(update={"merged": True})})
    for line in summary_lines(finished, session=session):
        is_outdated = is_undone and line.plain.startswith("next")
        console.print("next     it was taken back since" if is_outdated else line)


def _print_session(console: "Console", records: "Sequence[Record]") -> None:
    """Print a request, what was done about it, and the diff or report that came of it."""
    from rich.text import Text

    from coder.core.events import SessionFinished, SessionStarted
    from coder.core.values.text import sanitize_text
    from coder.ui.lines import LinePrinter
    from coder.ui.summary import print_result

    for record in records[:1]:
        if isinstance(record.event, SessionStarted):
            console.print(Text(f"> {sanitize_text(record.event.task.issue)}", "bold"))
    printer = LinePrinter(console, verbose=False, send=lambda _: None)
    asyncio.run(printer.replay(_iterate(records)))
    if records and isinstance(finished := records[-1].event, SessionFinished):
        print_result(console, finished)


async def _iterate(records: "Sequence[Record]") -> "AsyncIterator[Record]":
    for record in records:
        yield record
