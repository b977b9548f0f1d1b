"""Confinement of a process before it executes the command: Landlock, and a seccomp filter as classic BPF.

Standard library only. https://docs.kernel.org/userspace-api/landlock.html and
https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import errno
import os
import platform
import socket
import stat
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls; the same numbers on all architectures."""
SECCOMP = {"x86_64": 317, "aarch64": 277}
SET_MODE_FILTER = 1
LISTENER = 1 << 3 | 1 << 5
"""SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV: a signal does not restart a call being answered."""
PR_CAPBSET_DROP = 24
PR_CAP_AMBIENT, CLEAR_ALL = 47, 4
CAPABILITY_VERSION = 0x20080522
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
    if plan.get("brokered"):
        _keep_capabilities_from_command(libc)
    _check_result(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _restrict(libc, plan)
    if program := plan.get("filter"):
        listener = install_filter(libc, program, flags=LISTENER if plan.get("brokered") else 0)
        return listener if plan.get("brokered") else None
    return None


def _keep_capabilities_from_command(libc: ctypes.CDLL) -> None:
    """Let no capability of this process be inherited: with one, a command could change the network."""
    libc.prctl(PR_CAP_AMBIENT, CLEAR_ALL, 0, 0, 0)
    header, sets = struct.pack("<Ii", CAPABILITY_VERSION, 0), ctypes.create_string_buffer(24)
    _check_result(libc.capget(header, sets), "capget")
    words = [*struct.unpack("<6I", sets.raw)]
    words[2] = words[5] = 0  # the inheritable ones
    _check_result(libc.capset(header, struct.pack("<6I", *words)), "capset")


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
    # All file rights of this version: a right that is not handled is allowed everywhere.
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1 if plan.get("read") else 0
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


LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW = 0x7FFF0000
REFUSE = 0x00050000
NOTIFY = 0x7FC00000
"""Pass the call to the process that holds the filter's listener."""
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
"""Offsets in struct seccomp_data; each argument has 8 bytes, the lower half first."""
X32 = 0x40000000
"""Marks the x32 table of system calls on x86-64."""
NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
"""Type into the terminal; paste into the console."""
ATTRIBUTE_IOCTLS = (
    # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, FS_IOC_ENABLE_VERITY,
    # FS_IOC_SET_ENCRYPTION_POLICY, FAT_IOCTL_SET_ATTRIBUTES
    *(0x40086602, 0x401C5820, 0x40087602, 0x40806685, 0x800C6613, 0x40047211),
    # BTRFS_IOC_: SNAP_CREATE, SUBVOL_CREATE and SNAP_DESTROY in both versions, SUBVOL_SETFLAGS,
    # SET_RECEIVED_SUBVOL
    *(0x50009401, 0x50009417, 0x5000940E, 0x50009418, 0x5000940F, 0x5000943F, 0x4008941A, 0xC0C89425),
)
"""ioctls that change a file's attributes, or whole subvolumes, through a read-only descriptor."""
AF_NETLINK, NETLINK_ROUTE = 16, 0
NAMESPACED_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, AF_NETLINK)
"""Address families confined to a network namespace; AF_VSOCK, for example, is not."""
KEEP_TYPE = (0x54, 0, 0, 0xF)
"""The instruction that drops SOCK_NONBLOCK and SOCK_CLOEXEC from a socket's type."""
MSG_FASTOPEN, TCP_FASTOPEN_CONNECT = 0x20000000, 30
"""Connect while sending, which no broker sees."""
SO_REUSEPORT = 15
DEVICE_OPTIONS = (25, 62)
"""SO_BINDTODEVICE, SO_BINDTOIFINDEX: send through another interface than loopback."""
IP_OPTIONS, IPV6_OPTIONS = (1, 2, 10, 24), (16, 26, 67)
"""IP_TOS, TTL, MTU_DISCOVER, BIND_ADDRESS_NO_PORT; IPV6_UNICAST_HOPS, V6ONLY, TCLASS.

Others are refused, since a source route (IP_OPTIONS, IPV6_RTHDR, IPV6_2292PKTOPTIONS) leaves this machine.
"""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """An architecture: its name in the audit system and the numbers of its system calls."""

    audit: int
    refused_calls: tuple[int, ...]
    clone: int
    ioctl: int
    prlimit: int
    socket: int
    socketpair: int
    setsockopt: int
    send_flags: Mapping[int, int] = field(hash=False)
    """The position of the flags by the number of each system call that sends."""
    shared_objects: tuple[int, ...]
    """System V shared memory, semaphores and message queues, and POSIX message queues."""
    sockets: Mapping[str, int] = field(hash=False)
    """System calls that give a socket an address."""
    metadata: Mapping[str, int] = field(hash=False)
    """System calls that change modes, owners, times and extended attributes."""


REFUSED_EVERYWHERE = (
    # io_uring_setup, enter and register: operations in a ring bypass every filter.
    *(425, 426, 427),
    # open_tree, move_mount, fsopen, fsconfig, fsmount, fspick; mount_setattr
    *(428, 429, 430, 431, 432, 433, 442),
    438,  # pidfd_getfd
)
MACHINES = {
    "x86_64": Architecture(
        audit=0xC000003E,
        refused_calls=(
            *(101, 310, 311),  # ptrace, process_vm_readv, process_vm_writev
            *(165, 166, 155, 272, 308),  # mount, umount2, pivot_root, unshare, setns
            *(248, 249, 250),  # add_key, request_key, keyctl
            *(321, 298, 323),  # bpf, perf_event_open, userfaultfd
            *(
                246,
                320,
                175,
                313,
                176,
            ),  # kexec_load, kexec_file_load, init_module, finit_module, delete_module
            304,  # open_by_handle_at
            *(179, 169, 167, 168, 163),  # quotactl, reboot, swapon, swapoff, acct
            *REFUSED_EVERYWHERE,
        ),
        clone=56,
        ioctl=16,
        prlimit=302,
        socket=41,
        socketpair=53,
        setsockopt=54,
        send_flags={44: 3, 46: 2, 307: 3},  # sendto, sendmsg, sendmmsg
        shared_objects=(29, 30, 31, 67, 64, 65, 66, 220, 68, 69, 70, 71, *range(240, 246)),
        sockets={"connect": 42, "bind": 49, "listen": 50},
        metadata={
            **{"chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452},
            **{"chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260},
            **{"utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280},
            **{"setxattr": 188, "lsetxattr": 189, "fsetxattr": 190},
            **{"removexattr": 197, "lremovexattr": 198, "fremovexattr": 199},
        },
    ),
    "aarch64": Architecture(
        audit=0xC00000B7,
        refused_calls=(
            *(117, 270, 271),
            *(40, 39, 41, 97, 268),
            *(217, 218, 219),
            *(280, 241, 282),
            *(104, 294, 105, 273, 106),
            265,
            *(60, 142, 224, 225, 89),
            *REFUSED_EVERYWHERE,
        ),
        clone=220,
        ioctl=29,
        prlimit=261,
        socket=198,
        socketpair=199,
        setsockopt=208,
        send_flags={206: 3, 211: 2, 269: 3},
        shared_objects=(*range(180, 198),),
        sockets={"connect": 203, "bind": 200, "listen": 201},
        metadata={
            **{"fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "fchown": 55, "fchownat": 54, "utimensat": 88},
            **{
                "setxattr": 5,
                "lsetxattr": 6,
                "fsetxattr": 7,
                "removexattr": 14,
                "lremovexattr": 15,
                "fremovexattr": 16,
            },
        },
    ),
}
CLONE3 = 435
"""Its flags lie in memory, which a filter cannot read: on ENOSYS the C library falls back to clone."""
NEW_METADATA_CALLS = (463, 466, 469)
"""setxattrat, removexattrat and file_setattr: on ENOSYS programs fall back to the older calls."""
Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand."""


def find_architecture() -> Architecture | None:
    """Return the architecture of this machine; None if its system calls are not known."""
    return MACHINES.get(platform.machine())


@cache
def build_filter(
    *,
    families: tuple[int, ...],
    shares_namespaces: bool = False,
    brokered: tuple[int, ...] = (),
    machine: Architecture | None = None,
) -> bytes:
    """Return a filter: sockets of some address families only; no new namespaces, mounts, keys or tracing.

    Typing into terminals is refused as well. A refused socket fails as without a network (ENETUNREACH): what
    runs in the sandbox, and who reads its errors, is told the reason.

    Args:
        families: the allowed address families.
        shares_namespaces: the command shares namespaces with other processes, so it may change no limits but
            its own and no attributes of files, use no System V objects and message queues, which outlive it,
            and make no pair of datagram sockets, which could send to any socket in the file system.
        brokered: numbers of the system calls that go to the listener of the filter. With those that give
            sockets an address, TCP and connection-oriented Unix sockets are allowed as well.
        machine: the architecture; None is that of this machine.
    """
    machine = machine or MACHINES[platform.machine()]
    refuse = (RETURN, 0, 0, REFUSE | errno.EPERM)
    allow = (RETURN, 0, 0, ALLOW)
    missing = (RETURN, 0, 0, REFUSE | errno.ENOSYS)
    unreachable = (RETURN, 0, 0, REFUSE | errno.ENETUNREACH)
    ioctls = (TIOCSTI, TIOCLINUX, *(ATTRIBUTE_IOCTLS if shares_namespaces else ()))
    instructions = [
        *((LOAD, 0, 0, ARCHITECTURE_AT), (EQUAL, 1, 0, machine.audit), refuse),
        *((LOAD, 0, 0, NUMBER_AT), (AT_LEAST, 0, 1, X32), refuse),
        *(
            step
            for number in (*machine.refused_calls, *(machine.shared_objects if shares_namespaces else ()))
            for step in _match(number, refuse)
        ),
        *(
            step
            for number in (CLONE3, *(NEW_METADATA_CALLS if shares_namespaces else ()))
            for step in _match(number, missing)
        ),
        *(step for number in brokered for step in _match(number, (RETURN, 0, 0, NOTIFY))),
        *_match(machine.clone, _load_argument(0), (ANY_BIT, 0, 1, NEW_NAMESPACES), refuse, allow),
        *_match(machine.ioctl, _load_argument(1), *_match_any(ioctls), allow, refuse),
        *(
            _match(machine.prlimit, _load_argument(0), (EQUAL, 0, 1, 0), allow, refuse)
            if shares_namespaces
            else []
        ),
        *(
            _match(
                machine.socketpair,
                *(_load_argument(0), *_match(socket.AF_UNIX, *_allow_unix_types(unreachable)), unreachable),
            )
            if shares_namespaces
            else []
        ),
        *(
            _match_brokered_sockets(machine, unreachable)
            if {*machine.sockets.values()} <= {*brokered}
            else _match(machine.socket, _load_argument(0), *_match_any(families), unreachable, allow)
        ),
        allow,
    ]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)


def _match_brokered_sockets(machine: Architecture, unreachable: Instruction) -> list[Instruction]:
    """Return instructions that allow the sockets of which a broker carries out connect, bind and listen.

    What would connect past the broker, or send past loopback, is refused. Setting SO_REUSEPORT has no effect,
    so that no port is shared with a process outside. The kernel lists the network's interfaces; a command,
    which has no capabilities, can neither change them nor send to another process that way.
    """
    allow, succeed = (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)
    unsupported, unknown = (
        (RETURN, 0, 0, REFUSE | errno.EOPNOTSUPP),
        (RETURN, 0, 0, REFUSE | errno.ENOPROTOOPT),
    )
    option = _load_argument(2)
    return [
        *_match(
            machine.socket,
            *(_load_argument(0), *_match(socket.AF_UNIX, *_allow_unix_types(unreachable))),
            *_match(AF_NETLINK, _load_argument(2), *_match_any((NETLINK_ROUTE,)), unreachable, allow),
            *(*_match_any((socket.AF_INET, socket.AF_INET6)), unreachable),
            *(_load_argument(1), KEEP_TYPE, *_match_any((socket.SOCK_STREAM,)), unreachable),
            *(_load_argument(2), *_match_any((0, socket.IPPROTO_TCP)), unreachable, allow),
        ),
        *(
            step
            for number, position in machine.send_flags.items()
            for step in _match(
                number, _load_argument(position), (ANY_BIT, 0, 1, MSG_FASTOPEN), unsupported, allow
            )
        ),
        *_match(
            machine.setsockopt,
            _load_argument(1),
            *_match(
                socket.SOL_SOCKET,
                *(option, *_match(SO_REUSEPORT, succeed), *_match_any(DEVICE_OPTIONS), allow, unknown),
            ),
            *_match(socket.IPPROTO_TCP, option, *_match_any((TCP_FASTOPEN_CONNECT,)), allow, unknown),
            *_match(socket.IPPROTO_IP, option, *_match_any(IP_OPTIONS), unknown, allow),
            *_match(socket.IPPROTO_IPV6, option, *_match_any(IPV6_OPTIONS), unknown, allow),
            allow,
        ),
    ]


def _allow_unix_types(unreachable: Instruction) -> list[Instruction]:
    """Return instructions that allow Unix sockets of the types that cannot send to an address."""
    types = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
    return [_load_argument(1), KEEP_TYPE, *_match_any(types), unreachable, (RETURN, 0, 0, ALLOW)]


def _match(value: int, *then: Instruction) -> list[Instruction]:
    """Return instructions that run `then` if the loaded value is this one; `then` must end in a return."""
    return [(EQUAL, 0, len(then), value), *then]


def _load_argument(argument: int) -> Instruction:
    return (LOAD, 0, 0, ARGUMENTS_AT + 8 * argument)


def _match_any(values: Sequence[int]) -> list[Instruction]:
    """Return instructions that skip the one after them if the loaded value is one of `values`."""
    return [(EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
