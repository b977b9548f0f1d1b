"""Ignored files and installed packages that a worktree needs."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path, PurePosixPath

from coder.core.text import parse_json
from coder.files.regular_files import copy_regular, read_regular
from coder.repo.git import Git

ARTIFACT_PATTERNS = (
    "*version*.py",
    "*version*.txt",
    "version",
    "*_pb2.py",
    "*_pb2_grpc.py",
    "*.so",
    "*.pyd",
    "*.dylib",
)
EXTENSION_SUFFIXES = (".so", ".pyd")
SITE_PACKAGES = ("{py_platlib}", "{py_purelib}")
UNWANTED_DIRECTORIES = frozenset(
    {"build", "dist", "env", "node_modules", "site-packages", "venv", "__pycache__", "__pypackages__"}
)
COMPOSER_FILE = "composer/installed.json"
"""File that marks a directory of PHP packages, such as `vendor`."""
SKIPPED_NAMES = (".git", ".venv", "venv", "node_modules", "__pycache__")
"""Names left out of the copy of a submodule."""
LARGEST_BYTES = 1 << 30
"""The limit for one artefact, and for all files of a submodule together."""


def find_ignored_paths(git: Git) -> list[str]:
    """Return the ignored files of a checkout; a directory of nothing else is one path with a slash.

    Directories, and links, named node_modules are included, ignored or not, since no change contains them.
    """
    excludes = ("--exclude-standard", "--exclude=node_modules")
    return git.items("ls-files", "--others", "--ignored", *excludes, "--directory", "-z")


def select_artifacts(root: Path, ignored_paths: Sequence[str]) -> tuple[str, ...]:
    """Return the ignored files and directories of a checkout that its tests need, sorted.

    These are version modules, built extensions, egg-info, and packages of Composer, whose loader finds the
    project beside itself. Caches, environments and secrets are left out; a compiled copy of a Python module
    is too, since it would be imported instead of the module in the worktree.
    """
    files = (path for ignored_path in ignored_paths for path in _files_below(root, ignored_path))
    wanted = (
        path for path in files if _is_wanted(PurePosixPath(path)) and not _is_compiled_copy(root / path)
    )
    directories = (path.rstrip("/") for path in ignored_paths)
    return tuple(
        sorted((*wanted, *(path for path in directories if (root / path / COMPOSER_FILE).is_file())))
    )


def submodule_paths(git: Git, tree: str) -> tuple[str, ...]:
    entries = (item.split("\t", 1) for item in git.items("ls-tree", "-r", "-z", "--full-tree", tree))
    return tuple(path for words, path in entries if words.startswith("160000 "))


def find_meson_modules(root: Path) -> dict[str, str]:
    """Return the modules in Meson's build directories, by the paths beside their packages' sources.

    These are the build directories of editable installations, `build/cp311` and the like; modules are
    compiled or generated. The plan of what is installed where:
    https://mesonbuild.com/IDE-integration.html#install-plan
    """
    modules: dict[str, str] = {}
    for file in sorted(root.glob("build/*/meson-info/intro-install_plan.json")):
        installed = [*_read_plan(file)]
        build = file.parents[1]
        sources = {
            place.parent: path.parent
            for path, place in installed
            if path.is_relative_to(root) and not path.is_relative_to(build)
        }
        for path, place in installed:
            target = sources.get(place.parent, root / place.parent) / place.name
            is_inside = (
                path.is_relative_to(build) and target.is_relative_to(root) and ".." not in target.parts
            )
            if is_inside and target.suffix in (".py", *EXTENSION_SUFFIXES):
                modules[str(target.relative_to(root))] = str(path.relative_to(root))
    return modules


def _read_plan(file: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files that a plan installs as Python modules, with their paths below site-packages."""
    try:
        plan = parse_json(read_regular(file) or b"{}")
        for path, entry in ((path, entry) for section in plan.values() for path, entry in section.items()):
            variable, _, place = entry["destination"].partition("/")
            if variable in SITE_PACKAGES and place:
                yield Path(path), Path(place)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):  # not a plan
        return


def copy_artifacts(paths: Mapping[str, str], *, source: Path, target: Path) -> frozenset[str]:
    """Copy files and submodule directories to free paths of a worktree; return what was copied.

    `paths` are those in `source` by those in the worktree.
    """
    return frozenset(
        path
        for path, original in paths.items()
        if _is_free(target, path) and _copy(source / original, target / path, within=source)
    )


def _copy(source: Path, target: Path, *, within: Path) -> bool:
    """Copy a regular file, or the regular files of a directory; return whether it was copied.

    No link is followed or created.
    """
    if source.resolve() != within.resolve() / source.relative_to(within):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    if not source.is_dir():
        return copy_regular(source, target, within=within, limit_bytes=LARGEST_BYTES)
    bytes_left = LARGEST_BYTES
    for directory, names, files in os.walk(source):
        names[:] = [name for name in names if name not in SKIPPED_NAMES]
        relative = Path(directory).relative_to(source)
        (target / relative).mkdir(exist_ok=True)
        for file in (
            relative / name
            for name in files
            if name not in SKIPPED_NAMES and not (Path(directory) / name).is_symlink()
        ):
            if copy_regular(source / file, target / file, within=within, limit_bytes=bytes_left):
                bytes_left -= (target / file).stat().st_size
    return True


def _files_below(root: Path, path: str) -> Iterator[str]:
    """Yield the path itself, or all files below it if it is a directory that may contain artefacts."""
    if not path.endswith("/"):
        yield path
        return
    for directory, names, files in os.walk(root / path):
        relative = PurePosixPath(os.path.relpath(directory, root))
        if _is_unwanted(relative) or "pyvenv.cfg" in files:
            names.clear()
            continue
        yield from (str(relative / name) for name in files)


def _is_unwanted(directory: PurePosixPath) -> bool:
    return any(part in UNWANTED_DIRECTORIES or part.startswith(".") for part in directory.parts)


def _is_wanted(path: PurePosixPath) -> bool:
    in_egg_info = any(part.endswith(".egg-info") for part in path.parts[:-1])
    matches_pattern = any(fnmatch(path.name.lower(), pattern) for pattern in ARTIFACT_PATTERNS)
    return (in_egg_info or matches_pattern) and not _is_unwanted(path.parent)


def _is_compiled_copy(path: Path) -> bool:
    """Return whether this is an extension module with a Python module of the same name beside it."""
    name = path.name.partition(".")[0]
    return path.suffix in EXTENSION_SUFFIXES and path.with_name(f"{name}.py").is_file()


def _is_free(target: Path, path: str) -> bool:
    """Return whether the path is free and no link on the way leads elsewhere."""
    destination = target / path
    if os.path.realpath(destination.parent) != str(destination.parent):
        return False
    return not os.path.lexists(destination) or (
        destination.is_dir() and not destination.is_symlink() and not any(destination.iterdir())
    )


DIRECTORY = "node_modules"
CACHES = frozenset({".cache", ".vite", ".vite-temp", ".vitest"})
"""Entries that tools write; each worktree has its own."""
STORE = ".pnpm"
"""Directory in which pnpm keeps each package, in a `node_modules` of its own among links to what it needs."""
DEPENDENCIES = ("dependencies", "optionalDependencies", "peerDependencies")


@dataclass(frozen=True, kw_only=True)
class InstalledPackages:
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
            if (target / directory).parent.is_dir() and _is_packages(self.root / directory):
                self._mirror(Path(os.path.realpath(self.root / directory)), target / directory, target)

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

    A link counts if it leads to a `node_modules`, as another checkout has it: no other directory of the user.
    """
    paths = (PurePosixPath(path).parts for path in ignored_paths)
    directories = {"/".join(parts[: parts.index(DIRECTORY) + 1]) for parts in paths if DIRECTORY in parts}
    real = tuple(sorted(directory for directory in directories if _is_packages(root / directory)))
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
        manifest = parse_json(read_regular(file) or b"{}")
    except (ValueError, RecursionError):
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


def _is_packages(path: Path) -> bool:
    """Tell whether a `node_modules` is a directory here, or a link to another one."""
    return _is_real_directory(path) or (
        path.is_symlink() and path.resolve().name == DIRECTORY and path.is_dir()
    )


def _is_real_directory(path: Path) -> bool:
    return path.is_dir() and os.path.realpath(path) == os.path.normpath(path)
