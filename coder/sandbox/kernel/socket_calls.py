"""Connect, bind and listen of a command: on loopback among its own processes, and in its own directories.

Each call is carried out on the caller's socket (pidfd_getfd(2)), with the address as it was read once. A TCP
socket is bound to a loopback address before anything else, so that neither listen(2) nor the end of a
connection leaves it open to other addresses. Standard library only, for the launcher.
"""

import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from coder.sandbox.kernel.confinement import confine_socket_files
from coder.sandbox.kernel.loopback import (
    LOOPBACK,
    LOOPBACK6,
    find_listener,
    internet_address,
    loopback_host,
    open_diagnosis,
    python_address,
    socket_cookie,
)
from coder.sandbox.kernel.metadata_calls import AT_FDCWD, LIBC, LOWER_HALF, SystemCall, os_error

PIDFD_OPEN, PIDFD_GETFD = 434, 438
"""System calls; the same numbers on all architectures."""
PIDFD_THREAD = os.O_EXCL
"""A thread's own descriptors, not those of its process (Linux 6.9)."""
CLONE_FS = 0x200
ADDRESS_BYTES = 128
IP_BIND_ADDRESS_NO_PORT = 24
TCP_CLOSE = 7
UNSPECIFIED = struct.pack("=H14x", socket.AF_UNSPEC)
HANDSHAKE_MS = 2
MOST_SERVERS = 10_000
"""Listening sockets that are remembered, the newest."""
MOST_WAITING = 100
"""Connections that may wait for a place in the queue of their server; each holds a descriptor here."""
# ruff: noqa: PTH115 - no pathlib: start-up time


def can_share_sockets() -> bool:
    """Return whether sockets can be taken from another process here, and their servers be recognized."""
    try:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            os.close(_take_descriptor(os.getpid(), server.fileno()))
            with open_diagnosis() as diagnosis:
                found = find_listener(diagnosis, LOOPBACK, server.getsockname()[1])
            return found is not None and found.cookie == socket_cookie(server)
    except OSError:
        return False


@dataclass(frozen=True, kw_only=True)
class _Connection:
    """A connect(2) that is not complete."""

    end: socket.socket
    caller: int | None
    """The notification to answer; None if the caller does not wait."""
    host: bytes = b""
    port: int = 0
    file: int = -1
    """The socket file, for a Unix socket."""


class SocketBroker:
    """Carries out the socket calls of one command."""

    def __init__(self, directories: list[bytes], check_caller: Callable[[int], None]) -> None:
        """Allow socket files below `directories`.

        `check_caller` raises an OSError if the process that waits for an answer is gone.
        """
        self._directories = directories
        self._check_caller = check_caller
        self._diagnosis = open_diagnosis()
        self._own: dict[int, None] = {}
        """The cookies of the sockets that have listened for the command, oldest first; none is used twice."""
        self._waiting: list[_Connection] = []

    @property
    def is_waiting(self) -> bool:
        """Whether connections are not complete."""
        return bool(self._waiting)

    def carry_out(self, call: SystemCall, name: str) -> int | None:
        """Carry out a call and return its error number; None if it is answered later.

        Raises:
            OSError: the call fails.
        """
        end = _take_socket(call)
        try:
            address = b"" if name == "listen" else _read_address(call)
            self._check_caller(call.identifier)
            match name:
                case "connect":
                    return self._connect(call, end, address)
                case "bind":
                    self._bind(call, end, address)
                case _:
                    self._listen(end, call.arguments[1])
        finally:
            if all(connection.end is not end for connection in self._waiting):
                end.close()
        return 0

    def complete_connections(self) -> Iterator[tuple[int, int]]:
        """Yield the notification and the error number of each waiting call that has come to its end."""
        for connection in self._waiting[:]:
            code = self._try_again(connection)
            if code is None:
                continue
            self._waiting.remove(connection)
            connection.end.close()
            if connection.file >= 0:
                os.close(connection.file)
            if connection.caller is not None:
                yield connection.caller, code

    def _try_again(self, connection: _Connection) -> int | None:
        try:
            if connection.caller is not None:
                self._check_caller(connection.caller)
            if connection.file >= 0:
                code = _connect_at_once(connection.end, _file_address(connection.file))
                return None if code == errno.EAGAIN else code
            if _is_complete(connection.end) or self._is_foreign(connection.host, connection.port):
                return self._check_peer(connection)
        except OSError as fault:  # the caller was killed
            _dissolve(connection.end)
            return fault.errno or errno.EPERM
        return None

    def _bind(self, call: SystemCall, end: socket.socket, address: bytes) -> None:
        if end.family == socket.AF_UNIX:
            return self._bind_file(call, end, _socket_path(address, errno.EPERM))
        host, port = internet_address(end, address, errno.EADDRNOTAVAIL)
        if port and any(self._is_foreign(candidate, port) for candidate in (host, LOOPBACK, LOOPBACK6)):
            raise os_error(errno.EADDRINUSE)
        return end.bind(python_address(end, host, port))

    def _bind_file(self, call: SystemCall, end: socket.socket, path: bytes) -> None:
        """Bind to a path in a thread that Landlock confines, as the path can change while it is resolved.

        The path itself is bound, since it becomes the name of the socket.
        """
        path, umask = call.translate_path(path), call.read_status("Umask", 8)
        directory = call.open_descriptor(AT_FDCWD)
        faults: list[OSError] = []

        def bind() -> None:
            try:
                if LIBC.unshare(CLONE_FS) < 0:
                    raise os_error(ctypes.get_errno())
                os.fchdir(directory)
                os.umask(umask)
                confine_socket_files(LIBC, self._directories)
                end.bind(path)
            except OSError as fault:
                faults.append(fault)

        thread = threading.Thread(target=bind)
        try:
            thread.start()
            thread.join()
        except RuntimeError:  # no thread can be started
            raise os_error(errno.EAGAIN) from None
        finally:
            os.close(directory)
        if faults:
            raise os_error(errno.EPERM) if faults[0].errno == errno.EACCES else faults[0]

    def _listen(self, end: socket.socket, backlog: int) -> None:
        if end.family != socket.AF_UNIX:
            _bind_to_loopback(end, loopback_host(end, bytes(4 if end.family == socket.AF_INET else 16)))
        if LIBC.listen(end.fileno(), ctypes.c_int(backlog & LOWER_HALF)) < 0:
            raise os_error(ctypes.get_errno())
        if end.family != socket.AF_UNIX:
            self._own[socket_cookie(end)] = None
            if len(self._own) > MOST_SERVERS:
                del self._own[next(iter(self._own))]

    def _connect(self, call: SystemCall, end: socket.socket, address: bytes) -> int | None:
        if address[:2] == UNSPECIFIED[:2]:
            return _dissolve(end)
        caller = call.identifier if _is_blocking(end) else None
        if end.family == socket.AF_UNIX:
            return self._connect_to_file(call, end, _socket_path(address, errno.ENETUNREACH), caller)
        host, port = internet_address(end, address, errno.ENETUNREACH)
        if _tcp_state(end) == TCP_CLOSE:
            host = self._find_listening_host(host, port)
            _bind_to_loopback(end, host)
            code = _connect_at_once(end, python_address(end, host, port))
        else:
            code = _ask_again(end)
        if code not in (errno.EINPROGRESS, errno.EALREADY) or (code == errno.EALREADY and caller is None):
            return code
        connection = _Connection(end=end, caller=caller, host=host, port=port)
        if _is_complete(end, HANDSHAKE_MS):
            return self._check_peer(connection)
        return self._wait_for(connection) or (code if caller is None else None)

    def _connect_to_file(
        self, call: SystemCall, end: socket.socket, path: bytes, caller: int | None
    ) -> int | None:
        file = call.open_path(path)
        is_waiting = False
        try:
            if not is_below(file, self._directories):
                raise os_error(errno.ENETUNREACH)
            self._check_caller(call.identifier)
            code: int | None = _connect_at_once(end, _file_address(file))
            if code == errno.EAGAIN and caller is not None:  # the server's queue is full
                code = self._wait_for(_Connection(end=end, caller=caller, file=file))
                is_waiting = code is None
            return code
        finally:
            if not is_waiting:
                os.close(file)

    def _wait_for(self, connection: _Connection) -> int | None:
        """Let a connection wait; return an error number if too many do."""
        if len(self._waiting) >= MOST_WAITING:
            _dissolve(connection.end)
            return errno.EAGAIN
        self._waiting.append(connection)
        return None

    def _check_peer(self, connection: _Connection) -> int:
        """Return the error number of a complete connection.

        It is cut if by now a process outside listens where one of the command's own did before.
        """
        if self._is_foreign(connection.host, connection.port):
            _dissolve(connection.end)
            return errno.ECONNREFUSED
        if connection.caller is None:
            return errno.EINPROGRESS
        return _ask_again(connection.end)

    def _find_listening_host(self, host: bytes, port: int) -> bytes:
        """Return the address of the command's own server for a connection to `host`.

        A server that asked for all addresses is bound to 127.0.0.1, so connections to others go there.

        Raises:
            OSError: no process of the command listens there, or one outside does (ECONNREFUSED).
        """
        for candidate in (host, LOOPBACK):
            found = find_listener(self._diagnosis, candidate, port)
            is_meant = len(candidate) == len(host) or (found and found.family == socket.AF_INET6)
            if found and found.cookie in self._own and is_meant:
                return candidate
            if found:
                break
        raise os_error(errno.ECONNREFUSED)

    def _is_foreign(self, host: bytes, port: int) -> bool:
        """Return whether a process outside listens at an address."""
        found = find_listener(self._diagnosis, host, port)
        return found is not None and found.cookie not in self._own


def is_below(file: int, directories: list[bytes]) -> bool:
    """Return whether an open file lies in one of the directories."""
    path = os.readlink(b"/proc/self/fd/%d" % file)
    return any(path == directory or path.startswith(directory + b"/") for directory in directories)


def _take_socket(call: SystemCall) -> socket.socket:
    """Return the caller's socket, if it is of a kind that the filter lets a command make."""
    try:
        descriptor = _take_descriptor(call.thread, call.arguments[0] & LOWER_HALF)
    except OSError as fault:
        # The process can have no descriptors of its own any more; its thread then has none, either.
        raise os_error(errno.EBADF if fault.errno == errno.ESRCH else fault.errno or errno.EBADF) from None
    try:
        end = socket.socket(fileno=descriptor)
    except OSError:
        os.close(descriptor)
        raise
    is_tcp = end.family in (socket.AF_INET, socket.AF_INET6) and end.proto == socket.IPPROTO_TCP
    if end.family != socket.AF_UNIX and not is_tcp:
        end.close()
        raise os_error(errno.ENETUNREACH)
    return end


def _take_descriptor(thread: int, number: int) -> int:
    """Return a copy of a descriptor of a thread, or of its process on an older kernel."""
    process = LIBC.syscall(PIDFD_OPEN, thread, PIDFD_THREAD)
    if process < 0 and ctypes.get_errno() == errno.EINVAL:
        process = LIBC.syscall(PIDFD_OPEN, SystemCall(0, thread, ()).read_status("Tgid", 10), 0)
    if process < 0:
        raise os_error(ctypes.get_errno())
    try:
        if (descriptor := LIBC.syscall(PIDFD_GETFD, process, number, 0)) < 0:
            raise os_error(ctypes.get_errno())
    finally:
        os.close(process)
    return int(descriptor)


def _read_address(call: SystemCall) -> bytes:
    size = call.arguments[2] & LOWER_HALF
    if not 2 <= size <= ADDRESS_BYTES:
        raise os_error(errno.EINVAL)
    return call.read_exactly(call.arguments[1], size)


def _socket_path(address: bytes, refusal: int) -> bytes:
    """Return the path in an address; an abstract one is refused with the error number `refusal`."""
    if address[:2] != struct.pack("=H", socket.AF_UNIX):
        raise os_error(errno.EINVAL)
    if address[2:3] in (b"", b"\0"):
        raise os_error(refusal)
    return address[2:].partition(b"\0")[0]


def _bind_to_loopback(end: socket.socket, host: bytes) -> None:
    """Bind a TCP socket to loopback if it is not bound, without taking a port yet.

    The kernel keeps the address when a connection is dissolved, which would open an unbound socket to all.
    """
    end.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
    try:
        end.bind(python_address(end, LOOPBACK6 if host == LOOPBACK6 else LOOPBACK, 0))
    except OSError as fault:
        if fault.errno != errno.EINVAL:  # it has a port
            raise
    finally:
        end.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0)
    name = end.getsockname()[0]
    if name != "::1" and not name.removeprefix("::ffff:").startswith("127."):
        raise os_error(errno.EPERM)


def _connect_at_once(end: socket.socket, address: tuple[str, int] | str) -> int:
    """Connect without waiting, whatever the caller's socket is set to; return the error number."""
    flags = fcntl.fcntl(end, fcntl.F_GETFL)
    fcntl.fcntl(end, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        return end.connect_ex(address)
    finally:
        fcntl.fcntl(end, fcntl.F_SETFL, flags)


def _ask_again(end: socket.socket) -> int:
    """Return the error number of an attempt to connect that was made before.

    Whatever becomes of the socket meanwhile, no server listens at port 0.
    """
    return _connect_at_once(end, python_address(end, LOOPBACK, 0))


def _dissolve(end: socket.socket) -> int:
    """Dissolve a socket's connection, or its attempt at one; return the error number."""
    return ctypes.get_errno() if LIBC.connect(end.fileno(), UNSPECIFIED, len(UNSPECIFIED)) < 0 else 0


def _is_blocking(end: socket.socket) -> bool:
    return not fcntl.fcntl(end, fcntl.F_GETFL) & os.O_NONBLOCK


def _is_complete(end: socket.socket, wait_ms: int = 0) -> bool:
    """Return whether an attempt to connect has succeeded or failed."""
    events = select.poll()
    events.register(end, select.POLLOUT)
    return bool(events.poll(wait_ms))


def _tcp_state(end: socket.socket) -> int:
    return end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


def _file_address(file: int) -> str:
    return f"/proc/self/fd/{file}"
