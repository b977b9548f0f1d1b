"""Confinement of the calling process by Landlock and seccomp before it executes the command.

Standard library only. https://docs.kernel.org/userspace-api/landlock.html

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
"""SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV: a signal does not restart a call being answered."""
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
READ = 0b1101
"""Execute, read a file, read a directory."""
FILE_RIGHTS = 0b1100_0000_0000_0111
"""The rights that apply to a file: execute, write, read, truncate, control a device."""
SCOPE_FLAGS = 0b11
"""Abstract sockets and signals: only those of processes with the same restrictions."""
MAKE_SOCKET = 1 << 9
HIGHEST_CAPABILITY = 64


def landlock_abi() -> int:
    """Return the version of the kernel's Landlock; 0 for none."""
    return max(0, int(ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def confine_process(plan: dict[str, Any] | None) -> int | None:
    """Confine the calling process as planned.

    The keys of `plan` are optional: `read` and `write` (paths), `network`, `scoped`, `filter` (a seccomp
    program) and `brokered`.

    Returns:
        With `brokered` in the plan, the descriptor at which system calls are answered.

    Raises:
        OSError: a restriction could not be applied; the process must not execute the command.
    """
    if not plan:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(HIGHEST_CAPABILITY) if os.getuid() == 0 and plan.get("read") else ():
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    _check_result(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _restrict(libc, plan)
    if program := plan.get("filter"):
        listener = install_filter(libc, program, flags=LISTENER if plan.get("brokered") else 0)
        return listener if plan.get("brokered") else None
    return None


def confine_socket_files(libc: ctypes.CDLL, directories: list[bytes]) -> None:
    """Keep the calling thread from making socket files but below some directories."""
    _check_result(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    ruleset = _create_ruleset(libc, struct.pack("<Q", MAKE_SOCKET))
    for directory in directories:
        _allow(libc, ruleset, os.fsdecode(directory), MAKE_SOCKET)
    _apply_ruleset(libc, ruleset)


def install_filter(libc: ctypes.CDLL, program: bytes, *, flags: int) -> int:
    """Install a seccomp program on the calling thread and return its listener if `flags` ask for one.

    Raises:
        OSError: the kernel refuses, for a listener also because a filter above this process has one.
    """
    buffer = ctypes.create_string_buffer(program)
    program_struct = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    return _check_result(
        libc.syscall(SECCOMP[os.uname().machine], SET_MODE_FILTER, flags, program_struct), "seccomp"
    )


def _restrict(libc: ctypes.CDLL, plan: dict[str, Any]) -> None:
    version = landlock_abi()
    files = _file_rights(version) if plan.get("read") else 0
    network = 0b11 if plan.get("read") and not plan["network"] and version >= 4 else 0
    scoped = SCOPE_FLAGS if plan.get("scoped") and version >= 6 else 0
    if not (files or network or scoped):
        return
    attributes = struct.pack("<QQQ", files, network, scoped)[
        : 8 if version < 4 else 16 if version < 6 else 24
    ]
    ruleset = _create_ruleset(libc, attributes)
    for rights, paths in ((READ, plan.get("read", ())), (files, plan.get("write", ()))):
        for path in paths:
            _allow(libc, ruleset, path, rights & files)
    _apply_ruleset(libc, ruleset)


def _create_ruleset(libc: ctypes.CDLL, attributes: bytes) -> int:
    return _check_result(
        libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "a Landlock ruleset"
    )


def _apply_ruleset(libc: ctypes.CDLL, ruleset: int) -> None:
    _check_result(libc.syscall(RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def _file_rights(version: int) -> int:
    """Return all file rights of this version; a right that is not handled is allowed everywhere."""
    return (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # it does not exist, so there is nothing to allow
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= FILE_RIGHTS
        _check_result(libc.syscall(ADD_RULE, ruleset, 1, struct.pack("<Qi", rights, descriptor), 0), path)
    finally:
        os.close(descriptor)


def _check_result(result: int, operation: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{operation}: {os.strerror(code)}")
    return result
