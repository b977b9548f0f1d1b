"""`coder mcp`: the library's functions as tools of the Model Context Protocol."""

from pathlib import Path
from threading import Event, Timer

import typer

from coder.cli.options import RepositoryOption, UnsafeOption
from coder.core.errors import UserError

app = typer.Typer(
    help="Serve verify, locate, apply and fix to other programs (Model Context Protocol).",
    rich_markup_mode=None,
)


@app.callback()
def options() -> None:
    """Serve verify, locate, apply and fix to other programs (Model Context Protocol)."""


@app.command()
def serve(repo: RepositoryOption = Path(), unsafe_no_sandbox: UnsafeOption = False) -> None:
    """Serve the tools verify, locate, locate_fault, apply and fix over standard input and output.

    They work on one repository. Nobody is asked anything; commands and tests run in the sandbox.
    """
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise UserError(
            "The MCP server needs the package mcp: install it beside coder, pip install 'mcp>=2.3,<3'."
        )
    from coder.cli.ending import end_now
    from coder.cli.mcp_front import McpFront

    closed = Event()

    def close() -> None:
        closed.set()
        timer = Timer(CLOSE_SECONDS, end_now, (0,))
        timer.daemon = True
        timer.start()

    front = McpFront()
    front.start(on_close=close)
    from coder.api.mcp_server import build_server, serve_streams
    from coder.repo.git import find_checkout

    find_checkout(repo)
    server = build_server(repo.resolve(), unsafe_no_sandbox=unsafe_no_sandbox, closed=closed)
    serve_streams(server, requests=front.requests, write=front.write)


CLOSE_SECONDS = 8.0
"""Time for the work in progress to end in order when the client has gone."""
