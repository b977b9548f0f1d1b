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
import select
import socket
import struct
import threading
from typing import Any

from coder.sandbox.kernel.confinement import LISTENER, PR_SET_NO_NEW_PRIVS, install_filter
from coder.sandbox.kernel.metadata_calls import (
    AT_FDCWD,
    FORMS,
    LIBC,
    LOWER_HALF,
    TIME_CHANGES,
    CallForm,
    SystemCall,
    os_error,
)
from coder.sandbox.kernel.socket_calls import SocketBroker, is_below

RECEIVE, SEND, IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
"""ioctl requests to a listener."""
NOTIFICATION = struct.Struct("=QII iI Q 6Q")
"""Identifier, thread, flags; number, architecture, instruction, arguments."""
ALLOW_ALL = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH = 0x100, 0x1000
PATH_BYTES = 4096
CAPABILITY_VERSION = 0x20080522
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
