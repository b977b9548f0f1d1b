"""Answers of the MCP server that it need not be loaded for.

Run: `python -m docs.generators.mcp_answers > coder/cli/mcp_answers.json`.
"""

import json
import os
from pathlib import Path
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from coder import __version__
from coder.api.mcp_server import build_server, serve_streams
from coder.cli.mcp_front import MODERN_KEY

CLIENT = {"name": "generator", "version": "1"}


def collect_answers() -> dict[str, Any]:
    """Return the results of the opening requests: with a handshake, and of the newest revision."""
    results = [_collect_legacy(version) for version in HANDSHAKE_PROTOCOL_VERSIONS]
    for version, result in zip(HANDSHAKE_PROTOCOL_VERSIONS, results, strict=True):
        assert result["initialize"].pop("protocolVersion") == version
        assert result == results[0], "the front takes them to be the same in all of these revisions"
    meta = {
        MODERN_KEY: LATEST_MODERN_VERSION,
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    requests = [(method, {"_meta": meta}) for method in ("server/discover", "tools/list")]
    modern = {"version": LATEST_MODERN_VERSION, "results": _exchange(requests)}
    answers: list[Any] = [results[0], modern["results"]]
    tools = [answer["tools/list"].pop("tools") for answer in answers]
    assert tools[0] == tools[1], "the front takes them to be the same in all revisions"
    return {
        "handshakes": HANDSHAKE_PROTOCOL_VERSIONS,
        "results": results[0],
        "modern": modern,
        "tools": tools[0],
    }


def _collect_legacy(version: str) -> dict[str, Any]:
    handshake = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return _exchange([("initialize", handshake), ("tools/list", {})])


def _exchange(requests: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    reader, writer = os.pipe()
    lines: list[str] = []
    with os.fdopen(writer, "wb") as file:
        for number, (method, parameters) in enumerate(requests):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
            file.write(f"{json.dumps(message)}\n".encode())
            if method == "initialize":
                file.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    serve_streams(build_server(Path()), requests=os.fdopen(reader, "rb"), write=lines.append)
    answers = {message["id"]: message for message in map(json.loads, lines)}
    return {method: answers[number]["result"] for number, (method, _) in enumerate(requests)}


def render_answers() -> str:
    """Return the file's text; `{version}` stands for the version of coder."""
    text = json.dumps(collect_answers(), indent=1, ensure_ascii=False)
    return text.replace(f'"{__version__}"', '"{version}"') + "\n"


if __name__ == "__main__":
    print(render_answers(), end="")
