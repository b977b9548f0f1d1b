"""What a tree holds at one moment: its files, and what they define and use."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A tree as it stood when it was last looked at; all paths are relative to its root."""

    root: Path
    paths: tuple[str, ...]
    """Every file that git does not ignore, sorted."""
