"""Uses of loopback and Unix sockets, with the result of each printed: the same in a sandbox and without."""

import asyncio
import ctypes
import errno
import http.client
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.managers import SyncManager
from pathlib import Path
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
ANY, LOOPBACK = ("0.0.0.0", 0), ("127.0.0.1", 0)


def attempt(name: str, use: Callable[[], object]) -> None:
    """Print what a use of sockets returns, or its error."""
    try:
        outcome = use()
    except OSError as error:
        outcome = errno.errorcode.get(error.errno or 0, error.errno)
    print(name, outcome, flush=True)


def talk(server: socket.socket, client: socket.socket, address: Any) -> bytes:
    """Send a byte from a server to a client that connects to it."""
    with server, client:
        client.connect(address)
        accepted, _ = server.accept()
        with accepted:
            accepted.sendall(b"x")
        return client.recv(2)


def check(result: int) -> int:
    """Raise the error of a function of the C library that has failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def listen(family: int, address: Any, backlog: int = 5) -> socket.socket:
    server = socket.socket(family)
    server.bind(address)
    server.listen(backlog)
    return server


def meet(server_family: int, bound: object, client_family: int, host: str) -> bytes:
    server = listen(server_family, bound)
    return talk(server, socket.socket(client_family), (host, server.getsockname()[1]))


def meet_by_path(path: str, kind: int = socket.SOCK_STREAM) -> tuple[object, ...]:
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(path)
    server.listen()
    name, mode = server.getsockname(), oct(Path(path).stat().st_mode)
    received = talk(server, socket.socket(socket.AF_UNIX, kind), path)
    Path(path).unlink()
    return name, mode, received


def connect_in_steps() -> tuple[int, ...]:
    """Return the error numbers of calls to connect a socket that does not wait."""
    with listen(socket.AF_INET, LOOPBACK) as server, socket.socket() as client:
        client.setblocking(False)
        first = client.connect_ex(server.getsockname())
        time.sleep(0.1)
        return first, client.connect_ex(server.getsockname()), client.connect_ex(server.getsockname())


def reconnect() -> bytes:
    """Dissolve a connection and make another with the same socket."""
    with listen(socket.AF_INET, LOOPBACK) as server, socket.socket() as client:
        client.connect(server.getsockname())
        libc.connect(client.fileno(), bytes(16), 16)
        server.accept()[0].close()
        return talk(server, client, server.getsockname())


def wait_for_place(family: int, address: Any) -> tuple[object, ...]:
    """Connect to a server whose queue is full: the call waits, and holds up no other."""
    server = listen(family, address, backlog=0)
    first, second = socket.socket(family), socket.socket(family)
    first.connect(server.getsockname())
    done = threading.Event()

    def connect() -> None:
        second.connect(server.getsockname())
        done.set()

    thread = threading.Thread(target=connect)
    thread.start()
    was_early = done.wait(0.3)
    others = meet(socket.AF_INET, LOOPBACK, socket.AF_INET, "127.0.0.1")
    server.settimeout(10)
    accepted = [server.accept() for _ in range(2)]
    thread.join()
    return was_early, others, len(accepted), done.is_set()


def interrupt_while_waiting() -> str:
    """Kill a process whose connection waits."""
    server = listen(socket.AF_UNIX, "interrupted", backlog=0)
    first = socket.socket(socket.AF_UNIX)
    first.connect("interrupted")
    child = os.fork()
    if child == 0:
        socket.socket(socket.AF_UNIX).connect("interrupted")
        os._exit(0)
    time.sleep(0.2)
    os.kill(child, signal.SIGKILL)
    server.close()
    return signal.Signals(os.waitpid(child, 0)[1]).name


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_arguments: object) -> None:
        return


def serve_http() -> bytes:
    server = http.server.ThreadingHTTPServer(("localhost", 0), QuietHandler)
    threading.Thread(target=server.serve_forever).start()
    content = fetch(server.server_port)
    server.shutdown()
    return content


def serve_http_in_child() -> bytes:
    command = [sys.executable, "-u", "-m", "http.server", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        port = int(child.stdout.readline().partition(" port ")[2].split()[0])
        content = fetch(port)
        child.kill()
    return content


def fetch(port: int) -> bytes:
    connection = http.client.HTTPConnection("localhost", port)
    connection.request("GET", "/content")
    content = connection.getresponse().read()
    connection.close()
    return content


async def serve_asynchronously() -> tuple[bytes, ...]:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "localhost", 0)
    reader, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
    by_path = await asyncio.start_unix_server(greet, "asynchronous")
    other_reader, other_writer = await asyncio.open_unix_connection("asynchronous")
    received = await reader.read(), await other_reader.read()
    for end in (writer, other_writer, server, by_path):
        end.close()
    return received


def share_state() -> dict[str, int]:
    with SyncManager() as manager:
        shared = manager.dict()
        shared["key"] = 1
        return dict(shared)


def share_port() -> bool:
    """Set an option that only lets others share the port."""
    with socket.create_server(LOOPBACK, reuse_port=True) as server:
        return bool(server.getsockname()[1])


def main() -> None:
    Path("content").write_text("content")
    old, new = socket.AF_INET, socket.AF_INET6
    attempt("manager", share_state)  # these two fork, which Python warns of beside threads
    attempt("killed", interrupt_while_waiting)
    attempt("loopback", lambda: meet(old, LOOPBACK, old, "127.0.0.1"))
    attempt("by name", lambda: meet(old, ("localhost", 0), old, "localhost"))
    attempt("all addresses", lambda: meet(old, ANY, old, "127.0.0.1"))
    attempt("to all addresses", lambda: meet(old, LOOPBACK, old, "0.0.0.0"))
    attempt("other loopback address", lambda: meet(old, ANY, old, "127.0.1.1"))
    attempt("bound to other", lambda: meet(old, ("127.0.0.2", 0), old, "127.0.0.2"))
    attempt("version 6", lambda: meet(new, ("::1", 0), new, "::1"))
    attempt("both versions by 6", lambda: meet(new, ("::", 0), new, "::1"))
    attempt("both versions by 4", lambda: meet(new, ("::", 0), old, "127.0.0.1"))
    attempt("4 by 6", lambda: meet(old, LOOPBACK, new, "::1"))
    attempt("mapped", lambda: meet(old, LOOPBACK, new, "::ffff:127.0.0.1"))
    attempt("nobody listens", lambda: socket.create_connection(("127.0.0.1", 1)))
    attempt("port in use", lambda: listen(old, server.getsockname()))
    attempt("bound twice", lambda: listen(old, LOOPBACK).bind(LOOPBACK))
    attempt("connected twice", lambda: socket.create_connection(server.getsockname()).connect(LOOPBACK))
    unbound = socket.socket()
    attempt("short address", lambda: check(libc.connect(unbound.fileno(), b"\2\0", 2)))
    attempt("wrong family", lambda: check(libc.bind(unbound.fileno(), b"\x0a" + bytes(27), 28)))
    attempt("bad pointer", lambda: check(libc.bind(unbound.fileno(), ctypes.c_void_p(8), 16)))
    attempt("no socket", lambda: check(libc.connect(0, b"\2\0" + bytes(14), 16)))
    attempt("closed", lambda: check(libc.listen(999, 1)))
    attempt("in steps", connect_in_steps)
    attempt("again", reconnect)
    attempt("without address", lambda: bool(listen_unbound().getsockname()[1]))
    attempt("port shared", share_port)
    attempt("queue", lambda: wait_for_place(old, LOOPBACK))
    attempt("queue of path", lambda: wait_for_place(socket.AF_UNIX, "queue"))
    attempt("path", lambda: meet_by_path("relative"))
    attempt("absolute path", lambda: meet_by_path(str(Path("absolute").absolute()))[1:])
    attempt("packets", lambda: meet_by_path("packets", socket.SOCK_SEQPACKET))
    attempt("path in use", lambda: listen(socket.AF_UNIX, "content"))
    attempt("no such path", lambda: socket.socket(socket.AF_UNIX).connect("missing"))
    attempt("no socket at path", lambda: socket.socket(socket.AF_UNIX).connect("content"))
    attempt("http", serve_http)
    attempt("http in a child", serve_http_in_child)
    attempt("interfaces", lambda: "lo" in [name for _, name in socket.if_nameindex()])
    attempt("asyncio", lambda: asyncio.run(serve_asynchronously()))


def listen_unbound() -> socket.socket:
    unbound = socket.socket()
    unbound.listen()
    return unbound


if __name__ == "__main__":
    server = listen(socket.AF_INET, LOOPBACK)
    os.umask(0o027)
    main()
