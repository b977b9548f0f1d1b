"""Packing and unpacking."""

from packer.runs import runs


class Damaged(ValueError):
    """This was not packed here."""


def pack(data):
    """Two bytes for each run: its length, and the byte."""
    return bytes(part for run in runs(data) for part in run)


def unpack(packed):
    if len(packed) % 2:
        raise Damaged("half a run at the end")
    return b"".join(bytes([byte]) * length for length, byte in zip(packed[::2], packed[1::2], strict=True))
