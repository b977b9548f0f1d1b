"""`coder mcp`: coder as a server of the Model Context Protocol, and the servers whose tools it may use."""

import sys
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from coder.cli.options import RepositoryOption, UnsafeOption
from coder.core.errors import UserError
from coder.repo.git import find_checkout, find_root

app = typer.Typer(
    help="Serve coder to other programs, or add servers whose tools it may use (Model Context Protocol).",
    rich_markup_mode=None,
)


@app.callback()
def options() -> None:
    """Serve coder to other programs, or add servers whose tools it may use (Model Context Protocol)."""


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
    from coder.cli.ending import end_without_client
    from coder.cli.terminal import take_over_stream

    requests, answers = take_over_stream(0), take_over_stream(1)
    from coder.api.mcp_server import build_server, serve_streams

    find_checkout(repo)
    closed = Event()

    def close() -> None:
        closed.set()
        end_without_client()

    server = build_server(repo.resolve(), unsafe_no_sandbox=unsafe_no_sandbox, closed=closed)
    serve_streams(server, requests, answers, on_close=close)


ServerName = Annotated[
    str, typer.Argument(metavar="NAME", help="The server's name, of letters, digits and -.")
]


@app.command()
def add(
    name: ServerName,
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND... | URL", help="What starts it, behind --; or its address."),
    ],
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A variable for the command, such as 'KEY=${KEY}' (repeatable)."
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="A header for the address (repeatable)."),
    ] = None,
) -> None:
    """Add a server whose tools models may use: its command (stdio) or its address (streamable HTTP).

    Each call asks you first, unless a rule allows it: allow = ["mcp__NAME__*"]. For example: coder mcp add
    time -- uvx mcp-server-time
    """
    import re

    from coder.wiring.mcp_client import ServerEntry, user_file, write_entry

    if not re.fullmatch(r"[A-Za-z0-9-]+", name):
        raise UserError(f"{name!r} is no name of a server: use letters, digits and -.")
    is_url = command[0].startswith(("http://", "https://"))
    if (is_url and (len(command) > 1 or env)) or (header and not is_url):
        raise UserError("An address takes --header, a command its words and --env.")
    entry = ServerEntry(
        command="" if is_url else command[0],
        args=tuple(command[1:]),
        env=_read_pairs(env, "="),
        url=command[0] if is_url else "",
        headers=_read_pairs(header, ":"),
    )
    write_entry(name, entry)
    print(f"{name} is in {user_file()}. Try it: coder mcp test {name}")


def _read_pairs(texts: "list[str] | None", mark: str) -> dict[str, str]:
    """Read `NAME=VALUE` or `NAME: VALUE`."""
    pairs = [text.partition(mark) for text in texts or ()]
    if wrong := [name for name, found, _ in pairs if not (found and name.strip())]:
        raise UserError(f"{wrong[0]!r} has not the form NAME{mark}VALUE.")
    return {name.strip(): value.strip() for name, _, value in pairs}


@app.command(name="list")
def list_all(repo: RepositoryOption = Path()) -> None:
    """List the servers: your own, and those that the repository's .mcp.json names."""
    from coder.wiring.mcp_client import list_servers

    servers = list_servers(find_root(repo))
    for name, entry, source, is_used in servers:
        remark = "" if is_used else ", not started: the repository is not trusted (coder trust)"
        print(f"{name}  {entry.text}  ({source}{remark})")
    if not servers:
        print("There are none. To add one: coder mcp add time -- uvx mcp-server-time")


@app.command()
def test(name: ServerName, repo: RepositoryOption = Path()) -> int:
    """Start a server as a session does, and list its tools."""
    from coder.core.text import shorten_line
    from coder.wiring.mcp_client import LISTED_CHARACTERS, list_servers, open_servers

    root = find_root(repo)
    server = next((server for server in list_servers(root) if server.name == name), None)
    if server is None:
        raise UserError(f"There is no server {name}. All: coder mcp list")
    if not server.is_used:
        raise UserError(
            f"{name} is the repository's, which is not trusted: nothing was started. See: coder trust"
        )
    with open_servers(sys.stderr) as servers:
        for problem in servers.connect([server], directory=root):
            print(problem, file=sys.stderr)
            return 1
        for found in servers.tools:
            print(f"{found.name}  {shorten_line(found.description, 80)}")
        size = sum(len(found.definition) for found in servers.tools)
        use = "searched when needed" if size > LISTED_CHARACTERS else "part of each request"
        print(f"{len(servers.tools)} tools, about {size // 4:,} tokens: {use}")
    return 0


@app.command()
def remove(name: ServerName) -> None:
    """Remove one of your own servers."""
    from coder.wiring.mcp_client import read_entries, user_file, write_entry

    if name not in read_entries(user_file()):
        raise UserError(f"You have no server {name}. All: coder mcp list")
    write_entry(name, None)
    print(f"{name} is removed.")
