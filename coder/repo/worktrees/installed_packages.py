"""Installed packages of Node.js, which worktrees share with the user's checkout through links.

Node.js resolves a module to its real path, so an installed package finds its dependencies in the checkout. A
package of the project's own workspaces must be that of the worktree: links to those lead there, and installed
packages that depend on one are copied.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from coder.files.regular_files import copy_regular, read_regular

DIRECTORY = "node_modules"
CACHES = frozenset({".cache", ".vite", ".vite-temp", ".vitest"})
"""Entries that tools write; each worktree has its own."""
LARGEST_BYTES = 1 << 30
"""The limit for one file of a package that is copied."""
STORE = ".pnpm"
"""Directory in which pnpm keeps each package, in a `node_modules` of its own among links to what it needs."""
DEPENDENCIES = ("dependencies", "optionalDependencies", "peerDependencies")


@dataclass(frozen=True, kw_only=True)
class InstalledPackages:
    """The installed packages of a checkout."""

    root: Path
    directories: tuple[str, ...]
    """All directories `node_modules`, relative to the root."""
    copied: frozenset[Path] = field(default=frozenset())
    """Packages that depend on a workspace, directly or not."""

    def provide(self, target: Path) -> None:
        """Make the packages available in a worktree; what exists there already stays.

        The directories are made there, instead of links to them, so that `node_modules/` in .gitignore
        applies and that tools write their caches into the worktree.
        """
        for directory in self.directories:
            if (target / directory).parent.is_dir() and _is_real_directory(self.root / directory):
                self._mirror(self.root / directory, target / directory, target)

    @cached_property
    def _parents_of_copied(self) -> frozenset[Path]:
        return frozenset(parent for package in self.copied for parent in package.parents)

    def _copy_file(self, source: str, place: str) -> None:
        copy_regular(Path(source), Path(place), within=self.root, limit_bytes=LARGEST_BYTES)

    def _mirror(self, directory: Path, mirror: Path, target: Path) -> None:
        """Link or copy the entries of a directory."""
        if not os.path.lexists(mirror) and _is_real_directory(mirror.parent):
            mirror.mkdir()
        if not _is_real_directory(mirror):
            return
        for entry in _entries(directory):
            place = mirror / entry.name
            is_directory = entry.is_dir() and not entry.is_symlink()
            is_mirrored = entry.name == ".bin" or _is_scope(entry) or entry in self._parents_of_copied
            if is_directory and is_mirrored:
                self._mirror(entry, place, target)
            elif os.path.lexists(place):
                continue
            elif entry in self.copied:
                shutil.copytree(entry, place, symlinks=True, copy_function=self._copy_file)
            elif (inner := _workspace_path(entry, self.root)) is not None:
                place.symlink_to(os.path.relpath(target / inner, mirror))  # relative: worktrees are moved
            else:
                place.symlink_to(os.path.realpath(entry) if entry.is_symlink() else entry)


def find_installed_packages(root: Path, ignored_paths: Iterable[str]) -> InstalledPackages:
    """Return the installed packages among the ignored paths of a checkout.

    No link named `node_modules` counts: it could lead to any directory of the user.
    """
    paths = (PurePosixPath(path).parts for path in ignored_paths)
    directories = {"/".join(parts[: parts.index(DIRECTORY) + 1]) for parts in paths if DIRECTORY in parts}
    real = tuple(sorted(directory for directory in directories if _is_real_directory(root / directory)))
    entries = [entry for directory in real for entry in _packages(root / directory)]
    workspaces = {
        name
        for name, entry in entries
        if (path := _workspace_path(entry, root)) is not None and DIRECTORY not in path.parts
    }
    installed = [(name, entry) for name, entry in entries if not entry.is_symlink()] if workspaces else []
    needs = {entry: set(_dependencies(entry)) for _, entry in installed}
    affected, copied = set(workspaces), set[Path]()
    while new := [
        (name, entry) for name, entry in installed if entry not in copied and needs[entry] & affected
    ]:
        affected.update(name for name, _ in new)
        copied.update(entry for _, entry in new)
    return InstalledPackages(root=root, directories=real, copied=frozenset(copied))


def _packages(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yield the packages in a `node_modules`, each with the name under which others there import it."""
    for entry in _entries(directory):
        if entry.name == STORE:
            for stored in _entries(entry):
                yield from _packages(stored / DIRECTORY)
        elif _is_scope(entry):
            yield from ((f"{entry.name}/{package.name}", package) for package in _entries(entry))
        elif not entry.name.startswith("."):
            yield entry.name, entry


def _dependencies(package: Path) -> Iterator[str]:
    """Yield the names of what a package imports, and of what the packages inside of it import."""
    manifest = _read_manifest(package / "package.json")
    for key in DEPENDENCIES:
        if isinstance(names := manifest.get(key), dict):
            yield from names
    for _, inner in _packages(package / DIRECTORY):
        yield from _dependencies(inner)


def _read_manifest(file: Path) -> Mapping[str, object]:
    try:
        manifest = json.loads(read_regular(file) or b"{}")
    except ValueError:
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _workspace_path(entry: Path, root: Path) -> Path | None:
    """Return the path that a link leads to, relative to the checkout; None for all that leads elsewhere.

    A link may also lead back into the checkout by way of another directory, as `yarn link` has it.
    """
    if not entry.is_symlink():
        return None
    for path in (Path(os.path.normpath(entry.parent / entry.readlink())), Path(os.path.realpath(entry))):
        if path.is_relative_to(root):
            return path.relative_to(root)
    return None


def _entries(directory: Path) -> Iterator[Path]:
    if directory.is_dir():
        yield from (entry for entry in directory.iterdir() if entry.name not in CACHES)


def _is_scope(entry: Path) -> bool:
    return entry.name.startswith("@") and entry.is_dir() and not entry.is_symlink()


def _is_real_directory(path: Path) -> bool:
    """Return whether this is a directory to which no link leads."""
    return path.is_dir() and os.path.realpath(path) == os.path.normpath(path)
