"""Execution of one session with a front end, from the command line to its exit code."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from coder.cli.apply import can_review, review_on_terminal
from coder.core.errors import UserError
from coder.core.events import DeliverNow, Stop
from coder.core.values import Mode, Task
from coder.repo.existing_change import delivered_diff
from coder.settings import Config
from coder.ui import jsonl, summary
from coder.ui.lines import LinePrinter, PipedConsole
from coder.wiring.preparation import prepare_session
from coder.wiring.session import Approach, SessionHandle

if TYPE_CHECKING:
    from coder.core.events import Record, SessionFinished
    from coder.session.log import EventLog


def run_task(
    directory: Path,
    task: Callable[[Path, Config], Task],
    *,
    flags: Mapping[str, Any],
    trusted: bool,
    unsafe: bool,
    json: bool,
    output: Path | None,
    verbose: bool,
    chosen_approach: Approach | None = None,
    mode: Mode = "fix",
    continues: str = "",
) -> SessionHandle:
    """Open, run and show a session, and return it.

    Without `chosen_approach` the configuration decides on it, by `mode`. `continues` names the session that
    this one goes on from.

    Raises:
        UserError: before anything was started.
    """
    signal.signal(signal.SIGUSR1, lambda *_: None)  # too early to deliver; by default it would end coder
    attended = sys.stdin.isatty() and sys.stdout.isatty() and not json
    setup = prepare_session(
        directory,
        flags=flags,
        trusted=trusted,
        unsafe=unsafe,
        chosen_approach=chosen_approach,
        mode=mode,
        continues=continues,
        confirm=typer.confirm if attended else None,
    )
    console = PipedConsole(highlight=False)
    if not json:
        console.print(
            Text(f"{setup.approach.model.name}: {setup.approach.reason}", "dim"),
            soft_wrap=not console.is_terminal,
        )
    new_task = task(directory, setup.config)
    with setup.open_session(new_task, attended=attended) as handle:
        asyncio.run(_run_and_show(handle, console, json=json, verbose=verbose))
    finish_event = handle.finish_event
    if new_task.dry_run and finish_event.delivery and attended and can_review():
        review_on_terminal(
            delivered_diff(setup.root, finish_event.delivery),
            purpose="read",
            title="Dry run",
            verdict=finish_event.verdict,
        )
    if output is not None and finish_event.delivery:
        _write(
            output,
            delivered_diff(setup.root, finish_event.delivery),
            kind="diff",
            recovery_command="coder log diff last",
        )
    elif output is not None and (new_task.plan_only or mode == "ask") and finish_event.exit_code == 0:
        kind = "answer" if mode == "ask" else "plan"
        _write(output, f"{finish_event.report}\n", kind=kind, recovery_command="coder log show last")
    if not json:
        summary.print_summary(console, finish_event, session=handle.id)
    if handle.start_whole_suite() and not json:
        console.print(
            f"later    the whole suite now runs in the background; the result: coder log show {handle.id}",
            soft_wrap=not console.is_terminal,
        )
    return handle


async def _run_and_show(handle: SessionHandle, console: Console, *, json: bool, verbose: bool) -> None:
    """Run the session with one follower.

    The first Ctrl-C stops it in order, the second immediately; SIGUSR1 cuts large test runs short.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _request_stop, handle, number)
    loop.add_signal_handler(signal.SIGUSR1, handle.session.send, DeliverNow())
    records = handle.log.follow()
    lines = LinePrinter(console, verbose=verbose, send=handle.session.send)
    follower = asyncio.ensure_future(jsonl.write_records(records) if json else lines.show(records))
    session_run = asyncio.ensure_future(handle.session.run())
    await asyncio.wait({session_run, follower}, return_when=asyncio.FIRST_COMPLETED)
    if not session_run.done():  # the reader is gone, such as after `| head`
        handle.session.send(Stop())
    await session_run
    await follower


def _request_stop(handle: SessionHandle, number: int) -> None:
    handle.session.send(Stop())
    asyncio.get_running_loop().add_signal_handler(number, os._exit, 130)


def _write(path: Path, text: str, *, kind: str, recovery_command: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"The {kind} could not be written to {path}: {error.strerror}. It is kept: {recovery_command}"
        ) from None
    print(f"The {kind} is in {path}.", file=sys.stderr)


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
    from coder.core.values import sanitize_text
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
