"""Table of metadata system calls: how each names its object, and how to repeat its change.

Standard library only, for the launcher.
"""

import ctypes
import errno
import os
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

AT_FDCWD = -100
NAME_BYTES, VALUE_BYTES = 256, 65536
PAGE_BYTES = 4096
LOWER_HALF = 0xFFFFFFFF
"""The lower half of a register; as an owner, it means no change."""
SELF_PATHS = re.compile(rb"(/proc/(self|thread-self)|/dev/fd)(?=/|$)")
"""Paths that mean the caller but would mean the broker when the broker opens them."""
LIBC = ctypes.CDLL(None, use_errno=True)
# ruff: noqa: PTH101, PTH123 - no pathlib: start-up time


def os_error(code: int) -> OSError:
    """Return the exception for an error number."""
    return OSError(code, os.strerror(code))


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
