"""Paths of files in the tested tree."""

from __future__ import annotations

import os
from collections.abc import Collection

REALPATH = os.path.realpath
"""Bound before a test may replace it."""


class RelativePaths(dict):  # type: ignore[type-arg]  # not generic in every Python that reads this
    """Paths relative to a directory by the name of a file, which may lead through links and `..`.

    Empty for a file outside of it, and for one that is not among the `wanted`.
    """

    def __init__(self, directory: str, wanted: Collection[str] | None = None) -> None:
        super().__init__()
        self.prefix = REALPATH(directory) + os.sep
        self.wanted = wanted

    def __missing__(self, name: str) -> str:
        path = REALPATH(name) if name.startswith(os.sep) else ""
        path = path[len(self.prefix) :] if path.startswith(self.prefix) else ""
        self[name] = found = path if self.wanted is None or path in self.wanted else ""
        return found
