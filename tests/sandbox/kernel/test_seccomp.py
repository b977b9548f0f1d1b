"""System call filter, run by a small interpreter of classic BPF to cover every architecture."""

import struct
from collections.abc import Callable

import pytest

from coder.sandbox.confinement import (
    ALLOW,
    AT_LEAST,
    EQUAL,
    KEEP_TYPE,
    LOAD,
    MACHINES,
    NAMESPACED_FAMILIES,
    NOTIFY,
    REFUSE,
    RETURN,
    Architecture,
    build_filter,
)

EPERM, ENOSYS, ENETUNREACH = REFUSE | 1, REFUSE | 38, REFUSE | 101
ENOPROTOOPT, EOPNOTSUPP = REFUSE | 92, REFUSE | 95
X86, ARM = MACHINES["x86_64"], MACHINES["aarch64"]


def filter_result(code: bytes, *, audit: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """Return the kernel's answer to one system call."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *(*arguments, *[0] * 6)[:6])
    steps = [*struct.iter_unpack("<HBBI", code)]
    at, held = 0, 0
    while True:
        kind, yes, no, operand = steps[at]
        at += 1
        if kind == RETURN:
            return int(operand)
        if kind == LOAD:
            (held,) = struct.unpack_from("<I", data, operand)
        elif kind == KEEP_TYPE[0]:
            held &= operand
        else:
            at += yes if {EQUAL: held == operand, AT_LEAST: held >= operand}.get(kind, held & operand) else no


def answers(code: bytes, machine: Architecture = X86) -> Callable[..., int]:
    """Return a function that gives the kernel's answer to a call with these arguments."""

    def result(number: int, *arguments: int) -> int:
        return filter_result(code, audit=machine.audit, number=number, arguments=arguments)

    return result


@pytest.mark.parametrize("machine", [X86, ARM], ids=["x86_64", "aarch64"])
def test_filters_system_calls(machine: Architecture) -> None:
    result = answers(build_filter(families=NAMESPACED_FAMILIES, machine=machine), machine)
    assert {result(number) for number in machine.refused_calls} == {EPERM}
    assert [result(machine.socket, family) for family in (1, 2, 10, 16, 40, 38, 17)] == [ALLOW] * 4 + [
        ENETUNREACH
    ] * 3
    assert [result(machine.clone, flags) for flags in (0x11, 0x10000011, 0x40000011)] == [ALLOW, EPERM, EPERM]
    ioctls = [result(machine.ioctl, 0, request) for request in (0x5401, 0x5412, 0x541C, 1 << 32 | 0x5412)]
    assert ioctls == [ALLOW, EPERM, EPERM, EPERM]
    assert (result(435), result(machine.prlimit, 77)) == (ENOSYS, ALLOW)


def test_refuses_other_architecture_and_x32_table() -> None:
    code = build_filter(families=(), machine=X86)
    assert filter_result(code, audit=0x40000003, number=1) == EPERM
    assert filter_result(code, audit=X86.audit, number=0x40000000 | 1) == EPERM
    assert filter_result(code, audit=X86.audit, number=X86.socket, arguments=(1,)) == ENETUNREACH


@pytest.mark.parametrize("machine", [X86, ARM], ids=["x86_64", "aarch64"])
def test_refuses_system_v_objects_where_namespaces_are_shared(machine: Architecture) -> None:
    for shares, answer in ((True, EPERM), (False, ALLOW)):
        code = build_filter(families=NAMESPACED_FAMILIES, shares_namespaces=shares, machine=machine)
        assert {*map(answers(code, machine), machine.shared_objects)} == {answer}


def test_without_pid_namespace_allows_only_own_limits() -> None:
    result = answers(build_filter(families=(), shares_namespaces=True, machine=X86))
    assert [result(X86.prlimit, pid) for pid in (0, 77)] == [ALLOW, EPERM]


@pytest.mark.parametrize("machine", [X86, ARM], ids=["x86_64", "aarch64"])
def test_metadata_calls_go_to_listener(machine: Architecture) -> None:
    numbers = tuple(machine.metadata.values())
    with_broker, without_broker = (
        answers(
            build_filter(families=(), shares_namespaces=True, brokered=brokered, machine=machine), machine
        )
        for brokered in (numbers, ())
    )
    assert {*map(with_broker, numbers)} == {NOTIFY}
    assert {*map(without_broker, numbers)} == {ALLOW}
    assert {*map(without_broker, (463, 466, 469))} == {ENOSYS}
    assert without_broker(machine.ioctl, 0, 0x40086602) == EPERM


@pytest.mark.parametrize("machine", [X86, ARM], ids=["x86_64", "aarch64"])
def test_brokered_sockets_are_tcp_and_connected_unix(machine: Architecture) -> None:
    brokered = tuple(machine.sockets.values())
    code = build_filter(families=(), shares_namespaces=True, brokered=brokered, machine=machine)
    result = answers(code, machine)
    cloexec = 0o2000000
    assert {result(number) for number in machine.sockets.values()} == {NOTIFY}
    allowed = [(2, 1), (2, 1 | cloexec), (2, 1, 6), (10, 1, 0), (1, 1), (1, 5 | cloexec, 0), (16, 3)]
    refused = [
        (2, 2),
        (2, 1, 262),
        (2, 1, 132),
        (10, 3, 6),
        (1, 2),
        (1, 3),
        (16, 3, 15),
        (40, 1),
        (38, 5),
        (30, 1),
    ]
    assert [result(machine.socket, *arguments) for arguments in allowed] == [ALLOW] * len(allowed)
    assert [result(machine.socket, *arguments) for arguments in refused] == [ENETUNREACH] * len(refused)
    pairs = [
        result(machine.socketpair, *arguments) for arguments in ((1, 1), (1, 5), (1, 2), (1, 3), (30, 1))
    ]
    assert pairs == [ALLOW, ALLOW, ENETUNREACH, ENETUNREACH, ENETUNREACH]
    for number, position in machine.send_flags.items():
        flags = [result(number, *[0] * position, flag) for flag in (0, 0x4000, 0x20000000, 0x20004000)]
        assert flags == [ALLOW, ALLOW, EOPNOTSUPP, EOPNOTSUPP]
    options = {
        ALLOW: [(1, 2), (1, 9), (6, 1), (0, 1), (41, 26), (41, 67), (282, 1)],
        ENOPROTOOPT: [(1, 25), (1, 62), (6, 30), (0, 4), (41, 57), (41, 6), (41, 50), (41, 54)],
        REFUSE: [(1, 15)],
    }
    for answer, pairs_of_numbers in options.items():
        assert {result(machine.setsockopt, 3, *pair) for pair in pairs_of_numbers} == {answer}


def test_datagram_pairs_are_refused_wherever_namespaces_are_shared() -> None:
    for families in ((), (2, 10)):
        code = build_filter(families=families, shares_namespaces=True, machine=X86)
        result = answers(code)
        assert [result(X86.socketpair, 1, kind) for kind in (1, 2, 5)] == [ALLOW, ENETUNREACH, ALLOW]
