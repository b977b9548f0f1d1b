"""Execution of one session with a front end, from the command line to its exit code."""

import asyncio
import os
import signal
import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import typer
from rich.text import Text

from coder.cli.ending import INTERRUPTED, end_on_signals
from coder.cli.options import Options, is_at_terminal
from coder.cli.terminal import can_review, review_on_terminal
from coder.core.errors import UserError
from coder.core.events import DeliverNow, Stop
from coder.core.task import Task
from coder.repo.history import delivered_diff
from coder.session.log import run_and_follow
from coder.ui import describe, jsonl
from coder.ui.lines import LinePrinter, PipedConsole, read_answer
from coder.wiring.session import Approach, Connect, SessionHandle, prepare_session


def run_task(
    request: Task,
    options: Options,
    *,
    mentions: str = "",
    approach: Approach | None = None,
    quiet: bool = False,
    change: str = "",
) -> SessionHandle:
    """Open, run and show a session about a request, and return it.

    What nobody has set in the request follows from options and settings. Files and symbols that `mentions`
    names with `@` are attached to it.

    One that is `quiet` shows nothing but problems, on stderr, before its summary, unless --verbose asks for
    more. `change` is what names a change to `coder verify`.

    Without `approach` the configuration decides on it, by the request's mode.

    Raises:
        UserError: before anything was started.
    """
    ignore_early_deadline()
    json, mode, continues, output = options.json, request.mode, options.continued_session, options.output
    quiet = quiet and not options.verbose
    attended = is_at_terminal() and not json
    console = PipedConsole(highlight=False, stderr=quiet)
    if output is not None:
        check_writable(output, kind="answer" if mode == "ask" else "diff")
    with ExitStack() as stack:
        try:
            setup = prepare_session(
                request.directory,
                flags=options.settings,
                trusted=options.trust,
                unsafe=options.unsafe_no_sandbox,
                approach=approach,
                mode=mode,
                continues=continues,
                confirm=typer.confirm if attended else None,
                ask=(lambda question, answer: str(typer.prompt(question, answer))) if attended else None,
            )
            if setup.approach.reason and not (json or quiet):
                console.print(
                    Text(f"{setup.approach.model.name}: {setup.approach.reason}", "dim"),
                    soft_wrap=not console.is_terminal,
                )
            stated = request.model_copy(
                update={
                    "continues": continues,
                    "only": options.only_paths,
                    "dry_run": options.dry_run,
                    "plan_only": options.plan_only,
                    "accept_test_edits": bool(options.accept_test_edits),
                    "unrelated_tests": (*request.unrelated_tests, *(options.not_test or ())),
                }
            )
            task = setup.complete(stated, mentions=mentions)
            connect = _open_stages(stack, options.on) if options.on else None
            handle = stack.enter_context(setup.open(task, attended=attended, connect=connect))
        except KeyboardInterrupt:
            print("Interrupted before the work began; your files are as they were.", file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None
        runner = asyncio.Runner()
        with _stop_on_signals(handle, runner.get_loop()), runner:
            lines = LinePrinter(
                console,
                verbose=options.verbose,
                send=handle.session.send,
                read_line=read_answer if attended else None,
                has_summary=True,
                quiet=quiet,
            )
            runner.run(_run_and_show(handle, lines, json=json))
            # The result comes before the end of the runner, which waits for threads that are still busy.
            finish_event = handle.finish_event
            if task.dry_run and finish_event.delivery and attended and can_review():
                review_on_terminal(
                    delivered_diff(setup.root, finish_event.delivery),
                    purpose="read",
                    title="Dry run",
                    verdict=finish_event.verdict,
                )
            if not json:
                console = PipedConsole(highlight=False) if quiet else console
                describe.print_summary(
                    console, finish_event, session=handle.id, is_judged=task.given, change=change
                )
        ignore_early_deadline()  # the end of the loop has set the default again
    if output is not None and finish_event.delivery:
        kind, text, kept = "diff", delivered_diff(setup.root, finish_event.delivery), "log diff last"
    elif output is not None and (task.plan_only or mode == "ask") and finish_event.exit_code == 0:
        kind, kept = "answer" if mode == "ask" else "plan", "log show last"
        text = f"{finish_event.report}\n"
    else:
        return handle
    write_output(output, text, kind=kind, kept=kept)
    print(f"The {kind} is in {output}.", file=sys.stderr)
    return handle


def _open_stages(stack: ExitStack, place: str) -> Connect:
    """Return what runs parts of a session's stages at a place that the user names."""
    from coder.executors.local import open_executor
    from coder.wiring.elsewhere import StageRunner

    executor = stack.enter_context(open_executor(place))
    return stack.enter_context(StageRunner(executor)).connect


def ignore_early_deadline() -> None:
    """Ignore SIGUSR1 where nothing can be delivered early; by default it would end coder."""
    signal.signal(signal.SIGUSR1, lambda *_: None)


def check_writable(file: Path, *, kind: str) -> None:
    """Refuse a file that cannot be written, before anything is run.

    Raises:
        UserError: it cannot be written.
    """
    if file.is_dir() or not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise UserError(
            f"The {kind} cannot be written to {file}: see that its directory exists and is yours."
        )


async def _run_and_show(handle: SessionHandle, lines: LinePrinter, *, json: bool) -> None:
    """Run the session with one follower; SIGUSR1 cuts large test runs short."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, handle.session.send, DeliverNow())
    records = handle.log.follow()
    await run_and_follow(handle.session, jsonl.write_records(records) if json else lines.show(records))


def _stop_on_signals(handle: SessionHandle, loop: asyncio.AbstractEventLoop) -> AbstractContextManager[None]:
    """Stop the session in order on SIGINT or SIGTERM, and end this process if that takes long."""
    return end_on_signals(
        lambda: loop.call_soon_threadsafe(handle.session.send, Stop()),
        end_part=handle.session.end_examination,
    )


def write_output(path: Path, text: str, *, kind: str, kept: str) -> None:
    """Write what the user wants in a file, too; `kept` is the command that shows it otherwise.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"The {kind} could not be written to {path}: {error.strerror}. It is kept: coder {kept}"
        ) from None
