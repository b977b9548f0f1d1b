"""Search for the files of a tree whose content no command may read."""

import os
from collections.abc import Sequence
from pathlib import Path

from coder.permissions.private_files import is_read_denied

SKIPPED_DIRECTORIES = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages"})


def find_private_files(tree: Path, patterns: Sequence[str]) -> tuple[Path, ...]:
    """Return the regular files below `tree` that a pattern denies, sorted.

    `patterns` are those of `coder.permissions.private_files`.
    """
    paths: list[Path] = []
    for directory, names, files in os.walk(tree):
        names[:] = [name for name in names if name not in SKIPPED_DIRECTORIES]
        relative = os.path.relpath(directory, tree).removeprefix(".").lstrip("/")
        for name in files:
            path = Path(directory, name)
            if is_read_denied(f"{relative}/{name}".lstrip("/"), patterns) and not path.is_symlink():
                paths.append(path)
    return tuple(sorted(paths))
