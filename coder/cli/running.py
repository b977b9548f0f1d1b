"""Execution of one session with a front end, from the command line to its exit code."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from coder.cli.terminal import can_review, review_on_terminal
from coder.core.errors import UserError
from coder.core.events import DeliverNow, Stop
from coder.core.task import Mode, Task
from coder.repo.existing_change import delivered_diff
from coder.settings import Config
from coder.ui import jsonl, summary
from coder.ui.lines import LinePrinter, PipedConsole
from coder.wiring.session import Approach, SessionHandle, prepare_session

if TYPE_CHECKING:
    pass


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
