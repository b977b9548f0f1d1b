"""Broker that confines changes of metadata to writable directories, and sockets to the command itself.

Modes, owners, times and extended attributes are not governed by Landlock, so a seccomp filter hands these
calls over: https://man7.org/linux/man-pages/man2/seccomp_unotify.2.html. No call ever continues, since a
second thread could change its arguments after the check. The broker opens the path that the call names
(O_PATH), checks where it lies, and makes the change through its own descriptor, without any capability and so
with no more rights than the command. `socket_calls` does the
same for sockets. Standard library only, for the launcher.
"""

import ctypes
import errno
import fcntl
import os
import re
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from coder.sandbox.confinement import (
    AF_NETLINK,
    CAPABILITY_VERSION,
    LISTENER,
    NETLINK_ROUTE,
    PR_SET_NO_NEW_PRIVS,
    confine_socket_files,
    install_filter,
)

RECEIVE, SEND, IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
"""ioctl requests to a listener."""
NOTIFICATION = struct.Struct("=QII iI Q 6Q")
"""Identifier, thread, flags; number, architecture, instruction, arguments."""
ALLOW_ALL = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH = 0x100, 0x1000
PATH_BYTES = 4096
RETRY_MS = 20
"""The time between two looks at connections that wait."""


# ruff: noqa: PTH123 - no pathlib: start-up time


def can_broker() -> bool:
    """Return whether system calls can be brokered here.

    A short-lived thread tries it, since a filter applies to one thread.
    """
    if _ptrace_scope() > 1:  # not even a parent may read its child's memory
        return False
    results = []

    def probe() -> None:
        LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        try:
            os.close(install_filter(LIBC, ALLOW_ALL, flags=LISTENER))
        except OSError:
            return
        results.append(True)

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return bool(results)


def _ptrace_scope() -> int:
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def start_broker(channel: socket.socket, plan: dict[str, Any]) -> None:
    """Answer the system calls of a command in a daemon thread.

    It starts when the listener comes through `channel` and lasts until this process ends.
    """
    threading.Thread(target=_serve, args=(channel, plan), daemon=True).start()


def _serve(channel: socket.socket, plan: dict[str, Any]) -> None:
    _, listeners, _, _ = socket.recv_fds(channel, 1, 1)
    channel.close()
    if not listeners:  # the command was not started
        return
    broker = Broker(listeners[0], plan["brokered"], [os.fsencode(path) for path in plan["changeable"]])
    try:
        # Capabilities belong to a thread. The command has none, so the broker drops those of root.
        LIBC.capset(struct.pack("<Ii", CAPABILITY_VERSION, 0), bytes(24))
        broker.serve()
    finally:
        os.close(listeners[0])  # unanswered calls then fail with ENOSYS


AT_FDCWD = -100


@dataclass(frozen=True)
class SystemCall:
    """A system call of the command, stopped until it is answered."""

    identifier: int
    thread: int
    arguments: tuple[int, ...]

    def read(self, address: int, size: int) -> bytes:
        """Return up to `size` bytes of the caller's memory, fewer where the mapping ends.

        Raises:
            OSError: nothing is mapped there (EFAULT), or the caller's memory may not be read.
        """
        memory = os.open(f"/proc/{self.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(memory, size, address)
        except (OverflowError, OSError):
            raise os_error(errno.EFAULT) from None
        finally:
            os.close(memory)

    def read_exactly(self, address: int, size: int) -> bytes:
        """Return `size` bytes of the caller's memory.

        Raises:
            OSError: fewer bytes are mapped (EFAULT).
        """
        content = self.read(address, size) if size else b""
        if len(content) < size:
            raise os_error(errno.EFAULT)
        return content

    def read_string(self, address: int, size: int, too_long: int) -> bytes:
        """Return a zero-terminated string of at most `size` bytes.

        Raises:
            OSError: it has no end within `size` bytes (`too_long`), or memory ends before (EFAULT).
        """
        content = b""
        while len(content) < size:
            page = self.read(
                address + len(content),
                min(size - len(content), PAGE_BYTES - (address + len(content)) % PAGE_BYTES),
            )
            content += page
            if b"\0" in page:
                return content.partition(b"\0")[0]
            if not page:
                raise os_error(errno.EFAULT)
        raise os_error(too_long)

    def read_status(self, field: str, base: int) -> int:
        """Return a number of the caller's status in /proc, which is written to `base`.

        Raises:
            OSError: the caller is gone.
        """
        with open(f"/proc/{self.thread}/status", "rb") as status:
            for line in status:
                if line.startswith(field.encode() + b":"):
                    return int(line.split()[1], base)
        raise os_error(errno.ESRCH)

    def open_descriptor(self, number: int, *, needs_file: bool = False) -> int:
        """Return a descriptor of what a descriptor of the caller refers to.

        With `needs_file`, it must have been opened for more than its path.
        """
        if number == AT_FDCWD and not needs_file:
            return os.open(f"/proc/{self.thread}/cwd", os.O_PATH | os.O_CLOEXEC)
        link = f"/proc/{self.thread}/fd/{number}"
        try:
            if needs_file and not os.lstat(link).st_mode & 0o600:
                raise os_error(errno.EBADF)
            return os.open(link, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            raise os_error(errno.EBADF) from None

    def open_path(self, path: bytes, directory: int = AT_FDCWD, flags: int = 0) -> int:
        """Return a descriptor of what a path of the caller, relative to its `directory`, leads to."""
        path = self.translate_path(path)
        if path.startswith(b"/") or not path:
            return os.open(path, os.O_PATH | os.O_CLOEXEC | flags)
        base = self.open_descriptor(directory)
        try:
            return os.open(path, os.O_PATH | os.O_CLOEXEC | flags, dir_fd=base)
        finally:
            os.close(base)

    def translate_path(self, path: bytes) -> bytes:
        """Return a path that means for the broker what `path` means for the caller."""

        def replace(match: re.Match[bytes]) -> bytes:
            return b"/proc/%d%s" % (self.thread, b"/fd" if match[0].startswith(b"/dev") else b"")

        return SELF_PATHS.sub(replace, path, count=1) if SELF_PATHS.match(path) else path


MetadataChange = Callable[[str, SystemCall, tuple[int, ...]], None]
"""Applies a call to the object at a path, with the arguments after those that name the object."""


@dataclass(frozen=True, kw_only=True)
class CallForm:
    """Positions of the arguments by which a system call names its object.

    With only `directory`, that descriptor is the object.
    """

    change: MetadataChange
    directory: int | None = None
    path: int | None = None
    flags: int | None = None
    follows: bool = True


class Broker:
    """Answers the system calls of one command, one at a time; connections that must wait hold up no other."""

    def __init__(self, listener: int, names: dict[int, str], changeable: list[bytes]) -> None:
        """Answer at `listener`.

        `names` are those of system calls by number, `changeable` the directories below which metadata may be
        changed and socket files used.
        """
        self._listener = listener
        self._names = names
        self._changeable = changeable
        self._sockets = SocketBroker(changeable, self._check_caller)

    def serve(self) -> None:
        """Answer calls until no process is left that could make one."""
        events = select.poll()
        events.register(self._listener, select.POLLIN)
        while True:
            ready = events.poll(RETRY_MS if self._sockets.is_waiting else None)
            for identifier, code in self._sockets.complete_connections():
                self._answer(identifier, code)
            if not ready:
                continue
            if ready[0][1] & select.POLLHUP:
                return
            notification = bytearray(NOTIFICATION.size)
            try:
                fcntl.ioctl(self._listener, RECEIVE, notification)
            except OSError:  # a signal arrived, or the caller was killed
                continue
            identifier, thread, _, number, _, _, *arguments = NOTIFICATION.unpack(notification)
            call = SystemCall(identifier, thread, tuple(arguments))
            if (answer := self._carry_out(call, self._names[number])) is not None:
                self._answer(identifier, answer)

    def _answer(self, identifier: int, code: int) -> None:
        try:
            fcntl.ioctl(self._listener, SEND, struct.pack("=QqiI", identifier, 0, -code, 0))
        except OSError:  # the caller was killed
            return

    def _carry_out(self, call: SystemCall, name: str) -> int | None:
        """Carry out a call and return its error number, 0 for success, None if it is answered later."""
        try:
            if name not in FORMS:
                return self._sockets.carry_out(call, name)
            form = FORMS[name]
            target = self._open_target(call, form)
            try:
                self._check_target(call, target)
                name_count = (form.directory is not None) + (form.path is not None)
                form.change(f"/proc/self/fd/{target}", call, call.arguments[name_count:])
            finally:
                os.close(target)
        except OSError as fault:
            return fault.errno or errno.EPERM
        return 0

    def _check_target(self, call: SystemCall, target: int) -> None:
        if not is_below(target, self._changeable):
            raise os_error(errno.EPERM)
        self._check_caller(call.identifier)

    def _check_caller(self, identifier: int) -> None:
        """Check that a caller still exists.

        Otherwise the memory and descriptors that were read may have been those of another process.
        """
        fcntl.ioctl(self._listener, IS_VALID, struct.pack("=Q", identifier))

    def _open_target(self, call: SystemCall, form: CallForm) -> int:
        """Return a descriptor of the object that the call names."""
        flags = call.arguments[form.flags] & LOWER_HALF if form.flags is not None else 0
        if flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
            raise os_error(errno.EINVAL)
        directory = _to_signed(call.arguments[form.directory]) if form.directory is not None else AT_FDCWD
        address = call.arguments[form.path] if form.path is not None else 0
        if form.path is None or (not address and form.change in TIME_CHANGES and directory != AT_FDCWD):
            return call.open_descriptor(directory, needs_file=True)
        path = call.read_string(address, PATH_BYTES, errno.ENAMETOOLONG)
        if not path and flags & AT_EMPTY_PATH:
            return call.open_descriptor(directory)
        nofollow = os.O_NOFOLLOW if flags & AT_SYMLINK_NOFOLLOW or not form.follows else 0
        return call.open_path(path, directory, nofollow)


def _to_signed(number: int) -> int:
    return ctypes.c_int(number & LOWER_HALF).value


NAME_BYTES, VALUE_BYTES = 256, 65536
PAGE_BYTES = 4096
LOWER_HALF = 0xFFFFFFFF
"""The lower half of a register; as an owner, it means no change."""
SELF_PATHS = re.compile(rb"(/proc/(self|thread-self)|/dev/fd)(?=/|$)")
"""Paths that mean the caller but would mean the broker when the broker opens them."""
LIBC = ctypes.CDLL(None, use_errno=True)


# ruff: noqa: PTH101, PTH123 - no pathlib: start-up time


def os_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def _change_mode(target: str, _call: SystemCall, arguments: tuple[int, ...]) -> None:
    os.chmod(target, arguments[0] & 0o7777)


def _change_owner(target: str, _call: SystemCall, arguments: tuple[int, ...]) -> None:
    owners = (number & LOWER_HALF for number in arguments[:2])
    os.chown(target, *(-1 if number == LOWER_HALF else number for number in owners))


def _set_times(target: str, times: bytes | None) -> None:
    if LIBC.utimensat(AT_FDCWD, target.encode(), times, 0) < 0:
        raise os_error(ctypes.get_errno())


def _set_nanosecond_times(target: str, call: SystemCall, arguments: tuple[int, ...]) -> None:
    _set_times(target, call.read_exactly(arguments[0], 32) if arguments[0] else None)


def _set_microsecond_times(target: str, call: SystemCall, arguments: tuple[int, ...]) -> None:
    if not arguments[0]:
        return _set_times(target, None)
    access, access_part, change, change_part = struct.unpack("=4q", call.read_exactly(arguments[0], 32))
    if not (0 <= access_part < 1_000_000 and 0 <= change_part < 1_000_000):
        raise os_error(errno.EINVAL)
    return _set_times(target, struct.pack("=4q", access, access_part * 1000, change, change_part * 1000))


def _set_second_times(target: str, call: SystemCall, arguments: tuple[int, ...]) -> None:
    if not arguments[0]:
        return _set_times(target, None)
    access, change = struct.unpack("=2q", call.read_exactly(arguments[0], 16))
    return _set_times(target, struct.pack("=4q", access, 0, change, 0))


def _set_attribute(target: str, call: SystemCall, arguments: tuple[int, ...]) -> None:
    name, value, size, flags = arguments[:4]
    if flags & LOWER_HALF & ~3:
        raise os_error(errno.EINVAL)
    if size > VALUE_BYTES:
        raise os_error(errno.E2BIG)
    os.setxattr(
        target, call.read_string(name, NAME_BYTES, errno.ERANGE), call.read_exactly(value, size), flags & 3
    )


def _remove_attribute(target: str, call: SystemCall, arguments: tuple[int, ...]) -> None:
    os.removexattr(target, call.read_string(arguments[0], NAME_BYTES, errno.ERANGE))


FORMS = {
    "chmod": CallForm(change=_change_mode, path=0),
    "fchmod": CallForm(change=_change_mode, directory=0),
    "fchmodat": CallForm(change=_change_mode, directory=0, path=1),
    "fchmodat2": CallForm(change=_change_mode, directory=0, path=1, flags=3),
    "chown": CallForm(change=_change_owner, path=0),
    "lchown": CallForm(change=_change_owner, path=0, follows=False),
    "fchown": CallForm(change=_change_owner, directory=0),
    "fchownat": CallForm(change=_change_owner, directory=0, path=1, flags=4),
    "utime": CallForm(change=_set_second_times, path=0),
    "utimes": CallForm(change=_set_microsecond_times, path=0),
    "futimesat": CallForm(change=_set_microsecond_times, directory=0, path=1),
    "utimensat": CallForm(change=_set_nanosecond_times, directory=0, path=1, flags=3),
    "setxattr": CallForm(change=_set_attribute, path=0),
    "lsetxattr": CallForm(change=_set_attribute, path=0, follows=False),
    "fsetxattr": CallForm(change=_set_attribute, directory=0),
    "removexattr": CallForm(change=_remove_attribute, path=0),
    "lremovexattr": CallForm(change=_remove_attribute, path=0, follows=False),
    "fremovexattr": CallForm(change=_remove_attribute, directory=0),
}
TIME_CHANGES = (_set_nanosecond_times, _set_microsecond_times)
"""Changes whose path may be null: then the descriptor is the object."""
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
        return bool(self._waiting)

    def carry_out(self, call: SystemCall, name: str) -> int | None:
        """Carry out a call and return its error number; None if it is answered later.

        Raises:
            OSError: the call fails.
        """
        end = _take_socket(call)
        try:
            if end.family == AF_NETLINK and name != "bind":
                raise os_error(errno.EOPNOTSUPP)
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
        if end.family == AF_NETLINK:
            if any(address[4:12]):  # an id that is another program's, or groups: listing needs neither
                raise os_error(errno.EPERM)
            return end.bind((0, 0))
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
    lists_interfaces = end.family == AF_NETLINK and end.proto == NETLINK_ROUTE
    if end.family != socket.AF_UNIX and not is_tcp and not lists_interfaces:
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


IPV4_BYTES, IPV6_BYTES = 16, 24
"""The least lengths of an address."""
LOOPBACK, LOOPBACK6, ANY6 = b"\x7f\0\0\1", bytes(15) + b"\1", bytes(16)
FIRST_MULTICAST, FIRST_MULTICAST6 = 224, 0xFF
"""First bytes from which an address is no single machine's."""
MAPPED = bytes(10) + b"\xff\xff"
"""The beginning of an IPv4 address in IPv6."""
TCP_LISTEN = 10
SO_COOKIE = 57
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLMSG_ERROR = 4, 20, 2
DIAG_HEADER, DIAG_REQUEST = struct.Struct("=IHHII"), struct.Struct("=BBBBI2s2s16s16sIQ")
"""struct nlmsghdr and inet_diag_req_v2: https://man7.org/linux/man-pages/man7/sock_diag.7.html."""
ANY_COOKIE = 0xFFFF_FFFF_FFFF_FFFF
LOOPBACK_INDEX = 1
"""The interface, in any network namespace."""


def internet_address(end: socket.socket, address: bytes, refusal: int) -> tuple[bytes, int]:
    """Return the loopback address and the port that an address means for a socket.

    Raises:
        OSError: it is malformed, or none of this machine's (`refusal`).
    """
    (family,), is_new = struct.unpack_from("=H", address), end.family == socket.AF_INET6
    if len(address) < (IPV6_BYTES if is_new else IPV4_BYTES):
        raise os_error(errno.EINVAL)
    host = address[8:24] if is_new else address[4:8]
    if family != end.family and (is_new or family != socket.AF_UNSPEC or any(host)):
        raise os_error(errno.EAFNOSUPPORT)
    (port,) = struct.unpack_from("!H", address, 2)
    if is_new and host == ANY6 and refusal == errno.ENETUNREACH:  # a connection to it is one to ::1
        return LOOPBACK6, port
    loopback = loopback_host(end, host)
    if not loopback:
        raise os_error(refusal)
    return loopback, port


def loopback_host(end: socket.socket, host: bytes) -> bytes:
    """Return the loopback address for one of this machine's addresses; empty if it is another's.

    The address for all of both versions becomes that of IPv4, which more clients use than ::1.
    """
    if host == ANY6:
        is_single = end.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
        return LOOPBACK6 if is_single else LOOPBACK
    host = host.removeprefix(MAPPED)
    is_old = len(host) == 4
    if host == LOOPBACK6 or (is_old and host[0] == LOOPBACK[0]):
        return host
    if host[0] >= (FIRST_MULTICAST if is_old else FIRST_MULTICAST6):
        return b""
    try:
        with socket.socket(socket.AF_INET if is_old else socket.AF_INET6) as trial:
            trial.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            trial.bind(python_address(trial, host, 0))  # only this machine's can be bound
    except OSError:
        return b""
    return LOOPBACK if is_old else LOOPBACK6


def python_address(end: socket.socket, host: bytes, port: int) -> tuple[str, int]:
    if end.family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, host if len(host) == 16 else MAPPED + host), port
    return socket.inet_ntoa(host), port


@dataclass(frozen=True)
class Listener:
    """A TCP socket of this machine that listens."""

    family: int
    cookie: int
    """The kernel's number for the socket alone."""


def open_diagnosis() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)


def find_listener(diagnosis: socket.socket, host: bytes, port: int) -> Listener | None:
    """Return the socket that the kernel would choose for a connection over loopback."""
    is_new = len(host) == 16
    request = DIAG_REQUEST.pack(
        *(socket.AF_INET6 if is_new else socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 1 << TCP_LISTEN),
        *(struct.pack("!H", port), bytes(2), host, LOOPBACK6 if is_new else LOOPBACK),
        *(LOOPBACK_INDEX, ANY_COOKIE),
    )
    diagnosis.send(DIAG_HEADER.pack(DIAG_HEADER.size + len(request), SOCK_DIAG_BY_FAMILY, 1, 0, 0) + request)
    reply = diagnosis.recv(4096)
    content = reply[DIAG_HEADER.size :]
    if DIAG_HEADER.unpack_from(reply)[1] == NLMSG_ERROR:
        (code,) = struct.unpack_from("=i", content)
        if code == -errno.ENOENT:
            return None
        raise os_error(-code)
    return Listener(content[0], *struct.unpack_from("=Q", content, 44)) if content[1] == TCP_LISTEN else None


def socket_cookie(end: socket.socket) -> int:
    (cookie,) = struct.unpack("=Q", end.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8))
    return int(cookie)
