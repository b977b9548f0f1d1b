"""Location of a worktree's repository, and the part of its configuration that a sandbox may see."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from coder.files.regular_files import read_regular
from coder.permissions.git_configuration import safe_configuration

VISIBLE_SECTIONS = ("core", "extensions")
"""Sections that say how to read the repository; the others may contain URLs with credentials."""
CREDENTIAL_PATTERN = re.compile(rb"://[^/\s]*@|extraheader|token|password|secret", re.IGNORECASE)
LARGEST_BYTES = 1_000_000


def git_directory(tree: Path) -> Path | None:
    """Return the git directory that a checkout shares with its repository's other worktrees.

    None where there is none.
    """
    own_directory = _own_directory(tree)
    if own_directory is None or own_directory == tree / ".git":
        return own_directory
    common = own_directory / (_first_line(own_directory / "commondir") or ".")
    directory = Path(os.path.realpath(common))
    return directory if (directory / "HEAD").is_file() and (directory / "objects").is_dir() else None


def repository_contains(tree: Path, files: Iterable[Path]) -> bool:
    """Return whether the checkout's repository contains any of these files."""
    names = [os.fsencode(file.relative_to(tree)) for file in files]
    own_directory = _own_directory(tree)
    index = own_directory / "index" if own_directory and names else None
    if index is None or not index.is_file():
        return False
    # https://git-scm.com/docs/index-format: versions 2 and 3 store each path in full, followed by a
    # zero byte; version 4 compresses them.
    content = index.read_bytes()
    return content[4:8] == b"\0\0\0\4" or any(name + b"\0" in content for name in names)


def sanitize_config(config: Path) -> bytes:
    """Return a repository's configuration without remotes, helpers and includes."""
    return os.fsencode(
        safe_configuration(
            os.fsdecode(read_regular(config, limit_bytes=LARGEST_BYTES) or b""), VISIBLE_SECTIONS
        )
    )


def _own_directory(tree: Path) -> Path | None:
    """Return a checkout's own git directory, which contains its index."""
    pointer = tree / ".git"
    if pointer.is_dir() and not pointer.is_symlink():
        return pointer
    line = _first_line(pointer)
    return tree / line.removeprefix("gitdir: ") if line.startswith("gitdir: ") else None


def _first_line(file: Path) -> str:
    """Return the first line of a small regular file; empty where there is none."""
    try:
        if file.is_symlink() or not file.is_file():
            return ""
        with file.open("rb") as opened:
            return os.fsdecode(opened.readline(4096)).strip()
    except OSError:
        return ""


def may_contain_keys(config: Path) -> bool:
    """Return whether a repository's configuration may contain keys.

    A backend that cannot hide parts of a file hides such a repository as a whole.
    """
    return bool(CREDENTIAL_PATTERN.search(config.read_bytes()[:LARGEST_BYTES]))
