"""Installed packages of Node.js, which worktrees share with the user's checkout through links.

Node.js resolves a module to its real path, so an installed package finds its dependencies in the checkout. A
package of the project's own workspaces must be that of the worktree: links to those lead there.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

DIRECTORY = "node_modules"
CACHES = frozenset({".cache", ".vite", ".vite-temp", ".vitest"})
"""Entries that tools write; each worktree has its own."""


def installed_directories(root: Path, ignored_paths: Iterable[str]) -> tuple[str, ...]:
    """Return the directories of installed packages among the ignored paths of a checkout, sorted.

    No link counts: it could lead to any directory of the user.
    """
    paths = (PurePosixPath(path).parts for path in ignored_paths)
    directories = {"/".join(parts[: parts.index(DIRECTORY) + 1]) for parts in paths if DIRECTORY in parts}
    return tuple(sorted(directory for directory in directories if _is_real_directory(root / directory)))


def link_installed_packages(directories: Iterable[str], *, source: Path, target: Path) -> None:
    """Make these directories in a worktree, with a link to each package that is installed in `source`.

    They are directories rather than links so that `node_modules/` in .gitignore applies to them, and that
    tools write their caches into the worktree. What exists in the worktree already stays.
    """
    for directory in directories:
        if (target / directory).parent.is_dir() and _is_real_directory(source / directory):
            _link_entries(source / directory, target / directory, source=source, target=target)


def _link_entries(directory: Path, mirror: Path, *, source: Path, target: Path) -> None:
    """Link the entries of a directory of `source` in its mirror in `target`, which is made if missing."""
    if not os.path.lexists(mirror) and _is_real_directory(mirror.parent):
        mirror.mkdir()
    if not _is_real_directory(mirror):
        return
    for entry in _entries(directory):
        link = mirror / entry.name
        if entry.is_dir(follow_symlinks=False) and (entry.name == ".bin" or entry.name.startswith("@")):
            _link_entries(Path(entry), link, source=source, target=target)
        elif not os.path.lexists(link):
            link.symlink_to(_link_target(entry, source=source, target=target, start=mirror))


def _link_target(entry: os.DirEntry[str], *, source: Path, target: Path, start: Path) -> str:
    """Return the path of an entry, or, if it is a link into the checkout, of the same place in the worktree.

    The latter is relative to `start`, since worktrees are moved.
    """
    if not entry.is_symlink():
        return entry.path
    path = Path(os.path.normpath(Path(entry.path).parent / Path(entry).readlink()))
    return (
        os.path.relpath(target / path.relative_to(source), start)
        if path.is_relative_to(source)
        else str(path)
    )


def _entries(directory: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(directory) as entries:
        yield from (entry for entry in entries if entry.name not in CACHES)


def _is_real_directory(path: Path) -> bool:
    """Return whether this is a directory to which no link leads."""
    return path.is_dir() and os.path.realpath(path) == os.path.normpath(path)
