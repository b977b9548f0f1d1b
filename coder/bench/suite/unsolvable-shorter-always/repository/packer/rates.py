"""How well something was packed."""

from packer.packing import pack


def rate(data):
    """The packed size as a share of the size; 1.0 for nothing."""
    return len(pack(data)) / len(data) if data else 1.0
