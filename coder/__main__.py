"""The entry point: answers --version at once, leaves the rest to the command line."""

import gc
import io
import os
import sys
from types import TracebackType
from typing import TextIO


def main() -> None:
    """Run the command line; every expected error is one line, and every end has its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from coder import __version__

        print(f"coder {__version__}")
        return
    if sys.platform == "win32":
        print(
            "coder runs on Linux and macOS. On Windows, run it inside WSL: learn.microsoft.com/windows/wsl",
            file=sys.stderr,
        )
        raise SystemExit(2)
    _forget_current_directory()
    _speak_any_encoding(sys.stdin, sys.stdout, sys.stderr)
    sys.excepthook = _crashed
    gc.set_threshold(
        50_000
    )  # what imports and an index make is kept: looking through it every 700 objects is a seventh of a short command
    from coder.cli.app import run

    code = run()
    gc.freeze()  # the last collection would walk all that the providers' libraries have loaded: a second at exit, for nothing
    raise SystemExit(code)


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback as Python does, but with no secret in it: crash reports are passed on."""
    import traceback

    from coder.permissions.secrets import Secrets, own_values

    told = "".join(traceback.format_exception(kind, error, trace))
    print(Secrets(own=own_values(os.environ)).masked(told), end="", file=sys.stderr)


def _speak_any_encoding(stdin: TextIO, *outputs: TextIO) -> None:
    """Read UTF-8, as from files; what the terminal's encoding has no sign for is a question mark, and never the end of a session."""
    if isinstance(stdin, io.TextIOWrapper):
        stdin.reconfigure(encoding="utf-8", errors="replace")
    for output in outputs:
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="replace")


def _forget_current_directory() -> None:
    """`python -m coder` imports from the current directory first, and that is somebody's repository."""
    here = os.getcwd()  # noqa: PTH109 (this runs before anything else is imported)
    if sys.path and sys.path[0] in ("", here) and not __file__.startswith(os.path.join(here, "coder")):  # noqa: PTH118
        del sys.path[0]


if __name__ == "__main__":
    main()
