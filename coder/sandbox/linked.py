"""Where a worktree's repository is, and as much of its configuration as a sandbox may see."""

import os
import re
from pathlib import Path

SECTION = re.compile(r"\s*\[\s*([^\s\]\"]+)")
SEEN = ("core", "extensions")
"""Sections that say how to read the repository; the others may hold addresses with keys in them."""
LARGEST_BYTES = 1_000_000


def git_directory(tree: Path) -> Path | None:
    """The git directory that a checkout shares with its repository's other worktrees; None where there is none."""
    pointer = tree / ".git"
    if pointer.is_dir() and not pointer.is_symlink():
        return pointer
    if not (told := _first_line(pointer)).startswith("gitdir: "):
        return None
    own = tree / told.removeprefix("gitdir: ")
    common = own / (_first_line(own / "commondir") or ".")
    found = Path(os.path.realpath(common))
    return found if (found / "HEAD").is_file() and (found / "objects").is_dir() else None


def sanitized(config: Path) -> bytes:
    """A repository's configuration without remotes, helpers and includes."""
    with config.open(encoding="utf-8", errors="surrogateescape") as file:
        lines = file.read(LARGEST_BYTES).splitlines()
    kept = []
    seen = False
    for line in lines:
        if found := SECTION.match(line):
            seen = found[1].lower() in SEEN
        if seen:
            kept.append(line)
    return os.fsencode("\n".join(kept) + "\n")


def _first_line(file: Path) -> str:
    """Of a small plain file; empty where there is none."""
    try:
        if file.is_symlink() or not file.is_file():
            return ""
        with file.open("rb") as opened:
            return os.fsdecode(opened.readline(4096)).strip()
    except OSError:
        return ""
