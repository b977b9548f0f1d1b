"""Entry point: answers --version immediately and leaves the rest to the command line."""

import gc
import io
import os
import sys
from types import TracebackType
from typing import TextIO


def main() -> None:
    """Run the command line: every expected error is one line, and every end has its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from coder import __version__

        try:
            print(f"coder {__version__}", flush=True)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that the interpreter's end is quiet
            raise SystemExit(2) from None
        return
    if sys.platform == "win32":
        print(
            "coder runs on Linux and macOS. On Windows, run it inside WSL: learn.microsoft.com/windows/wsl",
            file=sys.stderr,
        )
        raise SystemExit(2)
    _open_missing_streams()
    _leave_missing_directory()
    _remove_current_directory()
    _remove_relative_search_directories()
    _configure_encodings(sys.stdin, sys.stdout, sys.stderr)
    sys.excepthook = _print_masked_traceback
    # Objects of imports and the index stay alive: collecting every 700 objects takes a seventh of the time of
    # a short command.
    gc.set_threshold(50_000)
    code = _run_until_signal()
    # The last collection would walk all objects of the providers' libraries, which takes a second at exit.
    gc.freeze()
    raise SystemExit(code)


def _run_until_signal() -> object:
    """Run the command line; SIGINT and SIGTERM interrupt it, and end this process soon in any case."""
    from coder.cli.running import COMMAND_SECONDS, INTERRUPTED, end_now, end_on_signals

    with end_on_signals(_interrupt, seconds=COMMAND_SECONDS):
        try:
            code: object = _run()
        except (KeyboardInterrupt, SystemExit) as error:
            code = error.code if isinstance(error, SystemExit) else INTERRUPTED
    if code == INTERRUPTED:
        end_now()  # the interpreter's own end takes seconds on a busy machine, and waits for threads
    return code


def _interrupt() -> None:
    raise KeyboardInterrupt


def _run() -> int:
    opens_interface = not sys.argv[1:] and "_CODER_COMPLETE" not in os.environ
    if opens_interface and sys.stdin.isatty() and sys.stdout.isatty():
        # Without the parser of the command line, which takes as long as half of a Textual application.
        from coder.cli.running import report_errors
        from coder.cli.tui import run_tui

        return report_errors(lambda: run_tui(flags={}))
    from coder.cli.app import run_command_line

    return run_command_line()


def _open_missing_streams() -> None:
    """Let a closed standard stream be one that reads nothing, or that nobody reads."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _print_masked_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback like Python, with secrets masked, because crash reports are shared."""
    import traceback

    from coder.permissions.secrets import Secrets, secret_environment_values

    report = "".join(traceback.format_exception(kind, error, trace))
    print(Secrets(own=secret_environment_values(os.environ)).mask(report), end="", file=sys.stderr)


def _configure_encodings(stdin: TextIO, *outputs: TextIO) -> None:
    """Read stdin as UTF-8 and replace characters that the terminal's encoding lacks by question marks."""
    if isinstance(stdin, io.TextIOWrapper):
        stdin.reconfigure(encoding="utf-8", errors="replace")
    for output in outputs:
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="replace")


def _leave_missing_directory() -> None:
    """End with one sentence if the current directory was removed; hooks go on, since an event has its own.

    An agent may remove its own worktree; git runs no hook in such a place.
    """
    try:
        os.getcwd()  # noqa: PTH109 (this runs before anything else is imported)
    except OSError:
        if sys.argv[1:3] == ["hook", "run"] or "--help" in sys.argv[1:]:
            os.chdir("/")
            return
        print("coder: The current directory no longer exists. Change to one that does.", file=sys.stderr)
        raise SystemExit(2) from None


def _remove_current_directory() -> None:
    """Remove the current directory from the import path: it is the user's repository."""
    current = os.getcwd()  # noqa: PTH109 (this runs before anything else is imported)
    if sys.path and sys.path[0] in ("", current) and not __file__.startswith(os.path.join(current, "coder")):  # noqa: PTH118
        del sys.path[0]


def _remove_relative_search_directories() -> None:
    """Remove relative directories from PATH: a repository's own `git` or `python3` would be started."""
    if "PATH" in os.environ:
        directories = os.environ["PATH"].split(os.pathsep)
        os.environ["PATH"] = os.pathsep.join(name for name in directories if os.path.isabs(name))  # noqa: PTH117


if __name__ == "__main__":
    main()
