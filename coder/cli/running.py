"""Execution of a command to its exit code: session, terminal, errors as one line, signals in order."""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from coder.core.errors import CoderError, UserError
from coder.core.text import sanitize_text
from coder.files.regular_files import config_directory, sessions_directory, state_directory
from coder.repo.git import find_checkout

if TYPE_CHECKING:
    from rich.console import Console

    from coder.cli.options import Options
    from coder.core.events import Record, SessionFinished, Task
    from coder.session.log import EventLog
    from coder.session.session import Session
    from coder.wiring.session import Approach, Connect

INTERRUPTED = 130
"""Exit code of an interrupted command."""
SESSION_SECONDS = 1.0
"""Time for a session to end in order: its log gets a last event, and its worktrees are removed."""
COMMAND_SECONDS = 0.5
"""Time for everything else to end in order."""
CLEANUP_SECONDS = 0.4
"""Time to remove worktrees after that; what is left is removed by the next session."""


def run_task(
    request: "Task",
    options: "Options",
    *,
    mentions: str = "",
    approach: "Approach | None" = None,
    quiet: bool = False,
    change: str = "",
) -> "Session":
    """Open, run and show a session about a request, and return it.

    What nobody has set in the request follows from options and settings. Files and symbols that `mentions`
    names with `@` are attached to it.

    One that is `quiet` shows nothing but problems, on stderr, before its summary, unless --verbose asks for
    more. `change` is what names a change to `coder verify`.

    Without `approach` the configuration decides on it, by the request's mode.

    Raises:
        UserError: before anything was started.
    """
    import asyncio

    import typer
    from rich.text import Text

    from coder.cli.options import is_at_terminal
    from coder.core.events import DeliverNow, Stop
    from coder.repo.history import delivered_diff
    from coder.session.log import run_and_follow
    from coder.ui import jsonl
    from coder.ui.lines import LinePrinter, PipedConsole, print_summary, read_answer
    from coder.wiring.session import prepare_session

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
        loop, send = runner.get_loop(), handle.send
        stop = partial(loop.call_soon_threadsafe, send, Stop())
        with end_on_signals(stop, end_part=handle.end_examination), runner:
            lines = LinePrinter(
                console,
                verbose=options.verbose,
                send=send,
                read_line=read_answer if attended else None,
                has_summary=True,
                quiet=quiet,
            )
            loop.add_signal_handler(signal.SIGUSR1, send, DeliverNow())
            records = handle.log.follow()
            shown = jsonl.write_records(records) if json else lines.show(records)
            runner.run(run_and_follow(handle, shown))
            # The result comes before the end of the runner, which waits for threads that are still busy.
            finish_event = handle.finish_event
            if not json:
                console = PipedConsole(highlight=False) if quiet else console
                print_summary(console, finish_event, session=handle.id, is_judged=task.given, change=change)
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


def _open_stages(stack: ExitStack, place: str) -> "Connect":
    """Return what runs parts of a session's stages at a place that the user names."""
    from coder.cli.options import open_executor
    from coder.wiring.elsewhere import StageRunner

    return stack.enter_context(StageRunner(stack.enter_context(open_executor(place)))).connect


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


@contextmanager
def end_on_signals(
    request_end: Callable[[], object],
    *,
    seconds: float = SESSION_SECONDS,
    end_part: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Call `request_end` on the first SIGINT or SIGTERM in the block, after which the process has `seconds`.

    Then, or on a second signal, it ends whatever its threads do; their commands are killed by the sandbox,
    whose pipes close. Signals that are ignored count as well: shells ignore SIGINT for what they start in the
    background. Where `end_part` returns True it has ended a part of the work alone, and the rest goes on.
    """
    is_ending = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        if is_ending.is_set():
            end_now()
        if end_part():
            return
        is_ending.set()
        threading.Thread(target=_end_later, args=(seconds,), daemon=True).start()
        try:
            request_end()
        finally:  # not before: an error of a terminated git must not be the result of the work
            threading.Thread(target=_terminate_children, daemon=True).start()

    previous = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


RECOVERY = "from coder.wiring.conversations import recover_sessions; recover_sessions()"


@contextmanager
def clean_up_if_killed() -> Iterator[None]:
    """Have a process of its own remove this one's worktrees, should it be killed in the block.

    Agents kill a hook that the user interrupts, or whose time is over, and no session may follow.
    """
    script = 'read -r line || exec "$0" -P -c "$1"'
    with subprocess.Popen(
        ["/bin/sh", "-c", script, sys.executable, RECOVERY], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, cwd="/", start_new_session=True, text=True,
    ) as guard:  # fmt: skip
        try:
            yield
        finally:
            guard.communicate("ended\n")


def _end_later(seconds: float) -> None:
    time.sleep(seconds)
    end_now()


def end_without_client() -> None:
    """End this process after 8 seconds, in which the work in progress ends in order."""
    timer = threading.Timer(8.0, end_now, (0,))
    timer.daemon = True
    timer.start()


def end_now(exit_code: int = INTERRUPTED) -> NoReturn:
    """Remove the worktrees of this process's sessions as far as that is quick, and end it."""
    cleanup = threading.Thread(target=_clean_up, daemon=True)
    cleanup.start()
    cleanup.join(CLEANUP_SECONDS)
    os._exit(exit_code)


def _clean_up() -> None:
    from coder.repo.repository import remove_own_traces

    _terminate_children()
    remove_own_traces(sessions_directory())
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    atexit._run_exitfuncs()  # of temporary directories


def _terminate_children() -> None:
    """Terminate child processes of this process's own session, such as git, which then removes its locks.

    Left alone are those in sessions of their own: the sandbox's, which end with this process, and a git that
    writes the user's files.
    """
    from coder.sandbox.launcher import descendants, parents

    for pid in descendants(os.getpid(), parents()):
        with suppress(OSError):
            if os.getsid(pid) == os.getsid(0):
                os.kill(pid, signal.SIGTERM)


def report_errors(
    run: Callable[[], object], *, on_error: Callable[[str, int], None] = lambda _message, _code: None
) -> int:
    """Run a command and return its exit code; an expected error is one line on standard error.

    `on_error` receives that line, without its beginning, and the exit code.
    """
    try:
        code = run()
        sys.stdout.flush()  # here, since the interpreter's own flush, at its end, knows no exit code
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except OSError as error:
        message = _describe_os_error(error)
        print(f"coder: {sanitize_text(message)}", file=sys.stderr)
        on_error(message, 2)
        return 2
    except CoderError as error:
        message = sanitize_text(_mask_secrets(str(error)))
        error_code = 2 if isinstance(error, UserError) else 1
        print(f"coder: {message}", file=sys.stderr)
        on_error(message, error_code)
        return error_code
    return code if isinstance(code, int) else 0


LEAST_FREE_BYTES = 1 << 20


def _describe_os_error(error: OSError) -> str:
    """Return what could not be read or written, and what to do."""
    reason, file = error.strerror or str(error), error.filename
    if file is None:
        _discard_output()
        state = state_directory()
        place = next(path for path in (state, *state.parents) if path.exists())
        is_full = shutil.disk_usage(place).free < LEAST_FREE_BYTES
        return f"{f'A file in {state}' if is_full else 'The output'} could not be written: {reason}."
    path = Path(os.fsdecode(file)) if isinstance(file, str | bytes) else Path()
    variables = {"XDG_STATE_HOME": state_directory(), "XDG_CONFIG_HOME": config_directory()}
    for variable, directory in variables.items():
        if path.is_relative_to(directory) or directory.is_relative_to(path):
            return (
                f"{path} cannot be used: {reason}. coder keeps its {variable[4:-5].lower()} in {directory}: "
                f"make that yours to write, or name another place with {variable}."
            )
    return f"{path}: {reason}."


def _discard_output() -> None:
    """Discard what is still buffered for a reader that is gone, so that the interpreter's end is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _mask_secrets(text: str) -> str:
    """Mask secrets in an error message, which may quote a server that quotes a key."""
    from coder.permissions.secrets import Secrets, secret_environment_values

    return Secrets(own=secret_environment_values(os.environ)).mask(text)


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
