"""A client for the library's catalogue."""

from shelfmark.client import Client

__all__ = ["Client"]
