"""Metadata changes in a directory, with the result of each printed: the same in a sandbox and without."""

# It makes the system calls directly: os and open, not pathlib.
# ruff: noqa: PTH100, PTH101, PTH103, PTH106, PTH108, PTH116, PTH123, PTH211

import ctypes
import os
import struct
import sys
import threading
from collections.abc import Callable

libc = ctypes.CDLL(None, use_errno=True)


def attempt(name: str, change: Callable[[], object]) -> None:
    """Print a change's error, and the state of the file and the link after it."""
    try:
        change()
        outcome = "done"
    except OSError as error:
        outcome = os.strerror(error.errno or 0)
    file, link = os.stat("file"), os.lstat("link")
    times = [status.st_mtime_ns if status.st_mtime_ns < 10**18 else "now" for status in (file, link)]
    print(name, outcome, oct(file.st_mode), *times, sorted(os.listxattr("file")))


def raw_syscall(*arguments: object) -> None:
    """Call syscall(2).

    Raises:
        OSError: it failed.
    """
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "")


def libc_utimensat(*arguments: object) -> None:
    if libc.utimensat(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "")


os.makedirs("directory", exist_ok=True)
with open("file", "w"), open("directory/inner", "w"):
    pass
os.symlink("file", "link")
os.symlink("loop", "loop")
os.symlink("nowhere", "dangling")
reading = os.open("file", os.O_RDONLY)
path = os.open("file", os.O_PATH)
directory = os.open("directory", os.O_RDONLY)
omitted = struct.pack("4q", 0, (1 << 30) - 2, 7, 0)

attempt("relative", lambda: os.chmod("file", 0o640))
attempt("absolute", lambda: os.chmod(os.path.abspath("file"), 0o604))
attempt("setuid", lambda: os.chmod("file", 0o4755))
attempt("link followed", lambda: os.chmod("link", 0o600))
attempt("missing", lambda: os.chmod("missing", 0o600))
attempt("empty", lambda: os.chmod("", 0o600))
attempt("file as directory", lambda: os.chmod("file/x", 0o600))
attempt("slash after file", lambda: os.chmod("file/", 0o600))
attempt("loop", lambda: os.chmod("loop", 0o600))
attempt("dangling", lambda: os.chmod("dangling", 0o600))
attempt("long name", lambda: os.chmod("n" * 300, 0o600))
attempt("long path", lambda: os.chmod("n/" * 3000, 0o600))
attempt("descriptor", lambda: os.fchmod(reading, 0o644))
attempt("path descriptor", lambda: os.fchmod(path, 0o600))
attempt("closed descriptor", lambda: os.fchmod(999, 0o600))
attempt("/proc/self/fd", lambda: os.chmod(f"/proc/self/fd/{path}", 0o611))
attempt("/dev/fd", lambda: os.chmod(f"/dev/fd/{reading}", 0o612))
attempt("/proc/self/cwd", lambda: os.chmod("/proc/self/cwd/file", 0o613))
attempt("dirfd", lambda: os.chmod("../file", 0o614, dir_fd=directory))
attempt("dirfd is a file", lambda: os.chmod("x", 0o614, dir_fd=reading))
attempt("dirfd closed", lambda: os.chmod("x", 0o614, dir_fd=999))
attempt("null path", lambda: raw_syscall(268 if os.uname().machine == "x86_64" else 53, -100, None, 0o600))
attempt(
    "bad pointer",
    lambda: raw_syscall(268 if os.uname().machine == "x86_64" else 53, -100, ctypes.c_void_p(8), 0o600),
)
attempt("times", lambda: os.utime("file", ns=(1, 2)))
attempt("times now", lambda: os.utime("file"))
attempt("times by descriptor", lambda: os.utime(reading, ns=(3, 4)))
attempt("times of link", lambda: os.utime("link", ns=(5, 6), follow_symlinks=False))
attempt("time omitted", lambda: libc_utimensat(-100, b"file", omitted, 0))
attempt("times with empty path", lambda: libc_utimensat(path, b"", omitted, 0x1000))
attempt("times with bad flags", lambda: libc_utimensat(-100, b"file", omitted, 0x40))
attempt(
    "times with bad nanoseconds", lambda: libc_utimensat(-100, b"file", struct.pack("4q", 0, 10**10, 0, 0), 0)
)
attempt("times of missing", lambda: os.utime("missing"))
attempt("owner kept", lambda: os.chown("file", -1, -1))
attempt("owner named", lambda: os.chown("file", os.getuid(), os.getgid()))
attempt("owner of link", lambda: os.lchown("link", os.getuid(), -1))
attempt("owner by descriptor", lambda: os.fchown(reading, -1, os.getgid()))
attempt("attribute", lambda: os.setxattr("file", "user.a", b"1"))
attempt("attribute exists", lambda: os.setxattr("file", "user.a", b"1", os.XATTR_CREATE))
attempt("attribute replaced", lambda: os.setxattr("file", "user.b", b"1", os.XATTR_REPLACE))
attempt("attribute by descriptor", lambda: os.setxattr(reading, "user.c", b""))
attempt("attribute of link", lambda: os.setxattr("link", "user.a", b"1", follow_symlinks=False))
attempt("attribute too large", lambda: os.setxattr("file", "user.a", bytes(70_000)))
attempt("attribute name too long", lambda: os.setxattr("file", "user." + "a" * 300, b""))
attempt("attribute without name", lambda: os.setxattr("file", "", b""))
attempt("attribute removed", lambda: os.removexattr("file", "user.a"))
attempt("attribute missing", lambda: os.removexattr("file", "user.a"))
thread = threading.Thread(
    target=attempt, args=("from a thread", lambda: os.chmod("/proc/thread-self/cwd/file", 0o615))
)
thread.start()
thread.join()
os.unlink("directory/inner")
os.chdir("directory")
os.rmdir("../directory")
print("deleted directory", os.path.lexists("."))
sys.stdout.flush()
