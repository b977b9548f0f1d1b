"""`coder resume`: go on with an earlier session in the interface."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from coder.cli.options import InlineOption, ScreenReaderOption, UnsafeOption


def resume(
    id: Annotated[
        str, typer.Argument(metavar="[ID]", help="A session's id, its beginning or its end, or `last`.")
    ] = "last",
    model: Annotated[str | None, typer.Option(metavar="PROVIDER:NAME", help="The model to use.")] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server to use.")
    ] = None,
    unsafe_no_sandbox: UnsafeOption = False,
    inline: InlineOption = False,
    screen_reader: ScreenReaderOption = False,
) -> int:
    """Go on with an earlier session: its conversation, and the change that it delivered.

    In a pipe, continue it with coder fix, do or ask and --session ID.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print(
            f"The interface needs a terminal. In a pipe: coder do --session {id} 'what to change'",
            file=sys.stderr,
        )
        return 2
    from coder.cli.tui import run_tui

    flags = {
        "model": model,
        "base_url": base_url,
        "inline": inline or None,
        "screen_reader": screen_reader or None,
    }
    run_tui(Path(), flags=flags, unsafe=unsafe_no_sandbox, resumed=id)
    return 0
