"""Walls that a process puts up around itself with Landlock and seccomp, before it becomes the command; standard library only.

https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os
import stat
import struct
from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls; the same numbers on all architectures."""
SECCOMP = {"x86_64": 317, "aarch64": 277}
SET_MODE_FILTER = 1
LISTENER = 1 << 3 | 1 << 5
"""SECCOMP_FILTER_FLAG_NEW_LISTENER; WAIT_KILLABLE_RECV: a call that is being answered is not restarted after a signal."""
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
READ = 0b1101
"""Execute, read a file, read a directory."""
OF_FILES = 0b1100_0000_0000_0111
"""Of all rights, those that a file can have: execute, write, read, truncate, control a device."""
SCOPED = 0b11
"""Abstract sockets, signals: only those of processes behind the same walls."""
HIGHEST_CAPABILITY = 64


def abi() -> int:
    """Which version of Landlock the kernel has; 0 for none."""
    return max(0, int(ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def confine(plan: dict[str, Any] | None) -> int | None:
    """Put up the walls that are planned: `read` and `write` (paths), `network`, `scoped` and `filter` (a seccomp program), each if any.

    Returns:
        With `brokered` in the plan, the descriptor at which system calls are to be answered.

    Raises:
        OSError: a wall could not be put up; the process must not become the command.
    """
    if not plan:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(HIGHEST_CAPABILITY) if os.getuid() == 0 and plan.get("read") else ():
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _restrict(libc, plan)
    if program := plan.get("filter"):
        listener = install_filter(libc, program, flags=LISTENER if plan.get("brokered") else 0)
        return listener if plan.get("brokered") else None
    return None


def install_filter(libc: ctypes.CDLL, program: bytes, *, flags: int) -> int:
    """Put a seccomp program on the calling thread; return its listener if `flags` ask for one.

    Raises:
        OSError: the kernel does not allow it: with a listener, because a filter above this process has one.
    """
    held = ctypes.create_string_buffer(program)
    described = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(held))
    return _checked(libc.syscall(SECCOMP[os.uname().machine], SET_MODE_FILTER, flags, described), "seccomp")


def _restrict(libc: ctypes.CDLL, plan: dict[str, Any]) -> None:
    version = abi()
    files = _file_rights(version) if plan.get("read") else 0
    network = 0b11 if plan.get("read") and not plan["network"] and version >= 4 else 0
    scoped = SCOPED if plan.get("scoped") and version >= 6 else 0
    if not (files or network or scoped):
        return
    attributes = struct.pack("<QQQ", files, network, scoped)[
        : 8 if version < 4 else 16 if version < 6 else 24
    ]
    ruleset = _checked(
        libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "a Landlock ruleset"
    )
    for rights, paths in ((READ, plan.get("read", ())), (files, plan.get("write", ()))):
        for path in paths:
            _allow(libc, ruleset, path, rights & files)
    _checked(libc.syscall(RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def _file_rights(version: int) -> int:
    """All rights to files that this version knows: what is not handled is allowed everywhere."""
    return (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # it is not there, so there is nothing to allow
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= OF_FILES
        _checked(libc.syscall(ADD_RULE, ruleset, 1, struct.pack("<Qi", rights, place), 0), path)
    finally:
        os.close(place)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result
