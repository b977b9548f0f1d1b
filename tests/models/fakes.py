"""Loopback servers that answer as each provider's documentation shows, turn by turn."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The model's answer to one request, or its failure."""

    text: str = ""
    reasoning: str = ""
    """Signed as `seal` if the wire has signatures."""
    calls: tuple[tuple[str, str], ...] = ()
    """(name, arguments as JSON text)."""
    finish: str = ""
    """`length`, `refusal` or `odd`; empty is what the content implies."""
    input_tokens: int = 100
    cached_tokens: int = 40
    output_tokens: int = 7
    status: int = 200
    retry_after: str = ""
    error: str = ""
    """`overflow`, `no_tools` or a message of its own."""
    cut: bool = False
    """The stream ends cleanly before it says how the reply finished."""
    dropped: bool = False
    """The connection breaks in the middle."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of the stream, beyond the usual ones."""
    garbage: bytes = b""
    """Bytes sent instead of the rest."""
    stalls: bool = False
    """Nothing is sent after the text until the client disconnects."""


Wire = Callable[[Turn], list[bytes]]
"""The events of a stream, the last of them its end."""
Errors = Callable[[Turn], dict[str, Any]]


class FakeServer(ThreadingHTTPServer):
    """Server that answers the first request with the first turn, and so on; one request too many is a 418."""

    daemon_threads = True

    def __init__(
        self, stream: Wire, error: Errors, turns: list[Turn], handler: type[BaseHTTPRequestHandler]
    ) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.stream = stream
        self.error = error
        self.turns = list(turns)
        self.requests: list[dict[str, Any]] = []
        self.gone = threading.Event()
        """Set when the client has disconnected during a stalled stream."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class FakeHandler(BaseHTTPRequestHandler):
    """One connection to a Fake."""

    protocol_version = "HTTP/1.1"
    server: FakeServer

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        self.server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        turn = (
            self.server.turns.pop(0)
            if self.server.turns
            else Turn(status=418, error="the script of this fake is at its end")
        )
        if turn.status == 200:
            self._stream(turn)
        else:
            self._refuse(turn)

    def _refuse(self, turn: Turn) -> None:
        body = json.dumps(self.server.error(turn)).encode()
        self.send_response(turn.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if turn.retry_after:
            self.send_header("Retry-After", turn.retry_after)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, turn: Turn) -> None:
        self.send_response(200)
        headers = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **dict(turn.headers)}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        self.connection.settimeout(10)
        try:
            for event in self.server.stream(turn):
                self._chunk(event)
            if turn.dropped:
                self.connection.shutdown(socket.SHUT_RDWR)
            elif not turn.stalls:
                self._chunk(b"")
            elif self.connection.recv(1) == b"":
                self.server.gone.set()
        except ConnectionError:
            self.server.gone.set()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


@contextmanager
def serve(
    stream: Wire, error: Errors, turns: list[Turn], handler: type[BaseHTTPRequestHandler] = FakeHandler
) -> Iterator[FakeServer]:
    """Yield a fake server that runs for the duration of the block."""
    with running(fake := FakeServer(stream, error, turns, handler)):
        yield fake


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[str]:
    """Run a server for the duration of the block, and yield its URL."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class AnswerServer(ThreadingHTTPServer):
    """Server that answers GET with the value at the path, and 404 elsewhere."""

    daemon_threads = True
    answers: Mapping[str, bytes]


class AnswerHandler(BaseHTTPRequestHandler):
    """One request to a Shelf."""

    server: AnswerServer

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        body = self.server.answers.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")


@contextmanager
def serve_answers(answers: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the URL of a server with these answers, for the duration of the block."""
    server = AnswerServer(("127.0.0.1", 0), AnswerHandler)
    server.answers = answers
    with running(server) as url:
        yield url
