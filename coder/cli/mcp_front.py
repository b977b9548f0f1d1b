"""Front of the MCP server: it answers a client's opening requests while the server is being loaded.

Clients offer a model the tools that are there when its first request is built, and the protocol library takes
seconds to load. Every message is passed on to the server as well, whose own answers to these requests are
dropped: it is in the state that the client takes it to be in.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from coder import __version__
from coder.core.text import parse_json

ANSWERS = Path(__file__).with_name("mcp_answers.json")
"""Responses of the server, kept current by tests/test_mcp_server.py."""
OPENING_SECONDS = 0.5
"""Time for the client to ask before the server is loaded, which slows the answers down."""
MODERN_KEY = "io.modelcontextprotocol/protocolVersion"
"""Marks requests since revision 2026-07-28, which have no handshake."""


class McpFront:
    """Owns the process's standard streams; what others print goes to standard error."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered: list[object] = []
        self._listed = threading.Event()
        self._answers: dict[str, Any] = parse_json(
            ANSWERS.read_text(encoding="utf-8").replace("{version}", __version__)
        )
        for results in (self._answers["results"], self._answers["modern"]["results"]):
            results["tools/list"]["tools"] = self._answers["tools"]
        self._input, self._output = (take_over(fd) for fd in (0, 1))
        reader, writer = os.pipe()
        self.requests = os.fdopen(reader, "rb")
        """Messages of the client, for the server."""
        self._requests = os.fdopen(writer, "wb", buffering=0)

    def start(self, *, on_close: Callable[[], None]) -> None:
        """Begin to answer, and give the client a moment to ask; `on_close` is called when it has gone."""
        threading.Thread(target=self._read, args=(on_close,), daemon=True).start()
        self._listed.wait(OPENING_SECONDS)

    def write(self, line: str) -> None:
        """Send a message of the server, unless the client has this answer already."""
        if self._answered:
            message = parse_json(line)
            if "method" not in message and message.get("id") in self._answered:
                self._answered.remove(message["id"])
                return
        self._send(line)

    def _read(self, on_close: Callable[[], None]) -> None:
        with self._requests as server:
            for line in self._input:
                self._answer(line)
                server.write(line)
        self._listed.set()
        on_close()

    def _answer(self, line: bytes) -> None:
        try:
            message = parse_json(line)
        except ValueError:
            return
        result = self._result(message) if isinstance(message, dict) and "id" in message else None
        if b'"tools/list"' in line:
            self._listed.set()
        if result is not None:
            self._answered.append(message["id"])
            self._send(_compact({"jsonrpc": "2.0", "id": message["id"], "result": result}))

    def _result(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of a request that needs no server; None for all others."""
        method, parameters = str(message.get("method")), message.get("params") or {}
        modern, handshakes = self._answers["modern"], self._answers["handshakes"]
        version = (parameters.get("_meta") or {}).get(MODERN_KEY)
        if version is not None:
            return dict(modern["results"].get(method, {})) or None if version == modern["version"] else None
        result = dict(self._answers["results"].get(method, {})) or None
        if result is not None and method == "initialize":
            requested = parameters.get("protocolVersion")
            result["protocolVersion"] = requested if requested in handshakes else handshakes[-1]
        return result

    def _send(self, line: str) -> None:
        with self._lock:
            self._output.write(line.encode())
            self._output.flush()


def _compact(message: dict[str, Any]) -> str:
    """Return a line as the server's own transport writes it."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False) + "\n"


def take_over(fd: int) -> BinaryIO:
    """Return a private duplicate of a standard stream, which itself leads nowhere from now on."""
    private = os.dup(fd)
    diversion = os.open(os.devnull, os.O_RDONLY) if fd == 0 else os.dup(2)
    os.dup2(diversion, fd)
    os.close(diversion)
    if fd == 1:
        sys.stdout = sys.stderr
    return os.fdopen(private, "rb" if fd == 0 else "wb")
