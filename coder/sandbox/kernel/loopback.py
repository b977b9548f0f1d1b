"""Loopback addresses, and the servers that listen at them.

Standard library only, for the launcher.
"""

import errno
import socket
import struct
from dataclasses import dataclass

from coder.sandbox.kernel.metadata_calls import os_error

IPV4_BYTES, IPV6_BYTES = 16, 24
"""The least lengths of an address."""
LOOPBACK, LOOPBACK6, ANY6 = b"\x7f\0\0\1", bytes(15) + b"\1", bytes(16)
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
        OSError: it is malformed, or none of loopback (`refusal`).
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
    """Return the loopback address for an address to bind; empty if it is another.

    The address for all of both versions becomes that of IPv4, which more clients use than ::1.
    """
    if host == ANY6:
        is_single = end.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
        return LOOPBACK6 if is_single else LOOPBACK
    host = host.removeprefix(MAPPED)
    if host == bytes(4):
        return LOOPBACK
    return host if host == LOOPBACK6 or (len(host) == 4 and host[0] == LOOPBACK[0]) else b""


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
