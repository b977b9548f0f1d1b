"""The port of the store that keeps session logs."""

from typing import Protocol

from coder.core.events import Record


class Store(Protocol):
    """Storage of a session's records and large outputs."""

    def append(self, record: Record) -> None:
        """Write one record and flush it."""

    def store_blob(self, text: str) -> str:
        """Store a large output and return its SHA-256."""

    def read_blob(self, sha256: str) -> str:
        """Return a stored output by its SHA-256."""
