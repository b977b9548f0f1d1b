"""`coder mcp` and `coder acp`: coder as a server of agents or an editor, and MCP servers that it uses."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from coder.cli.options import LIMITS, MODEL, Options, RepositoryOption, UnsafeOption, with_options
from coder.core.errors import UserError
from coder.repo.git import find_checkout, find_root

app = typer.Typer(
    help="Serve coder to other programs, or list servers whose tools it uses (Model Context Protocol).",
    rich_markup_mode=None,
)


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
    from coder.cli.running import end_without_client, take_over_stream

    requests, answers = take_over_stream(0), take_over_stream(1)
    from coder.api.mcp_server import serve_repository

    find_checkout(repo)
    serve_repository(
        repo.resolve(),
        requests,
        answers,
        unsafe_no_sandbox=unsafe_no_sandbox,
        on_close=end_without_client,
    )


ServerName = Annotated[
    str, typer.Argument(metavar="NAME", help="The server's name, of letters, digits and -.")
]


@app.command(name="list")
def list_all(repo: RepositoryOption = Path()) -> None:
    """List the servers: your own, and those that the repository's .mcp.json names."""
    from coder.wiring.extensions import list_servers, user_file

    servers = list_servers(find_root(repo))
    for name, entry, source, is_used in servers:
        remark = "" if is_used else ", not started: the repository is not trusted (coder trust)"
        print(f"{name}  {entry.text}  ({source}{remark})")
    if not servers:
        print(f"There are none. Yours go into {user_file()}, in the form of other clients (mcpServers).")


@app.command()
def test(name: ServerName, repo: RepositoryOption = Path()) -> int:
    """Start a server as a session does, and list its tools."""
    from coder.core.text import shorten_line
    from coder.wiring.extensions import LISTED_CHARACTERS, list_servers, open_servers

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


@with_options(*MODEL, *LIMITS, "unsafe_no_sandbox")
def acp(*, options: Options) -> int:
    """Serve an editor over standard input and output (Agent Client Protocol): Zed, JetBrains, Neovim.

    The editor starts this command. Each of its conversations works on the repository of its directory.
    """
    from importlib.util import find_spec

    if find_spec("acp") is None:
        raise UserError(
            "Editors need the package agent-client-protocol: install it beside coder, "
            "pip install 'agent-client-protocol>=1.0.0rc3,<2'."
        )
    from coder.cli.editor import serve_editor

    serve_editor(options.settings, unsafe=options.unsafe_no_sandbox)
    return 0
