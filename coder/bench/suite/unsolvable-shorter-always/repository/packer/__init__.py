"""Packs runs of equal bytes."""

from packer.packing import pack, unpack

__all__ = ["pack", "unpack"]
