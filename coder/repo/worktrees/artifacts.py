"""What a fresh worktree lacks but tests need: generated and built files that git ignores, and the files of submodules."""

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from coder.files.regular_files import copy_regular
from coder.repo.git import Git

WANTED = ("*version*.py", "*version*.txt", "version", "*_pb2.py", "*_pb2_grpc.py", "*.so", "*.pyd", "*.dylib")
UNWANTED_DIRECTORIES = frozenset(
    {"build", "dist", "env", "node_modules", "site-packages", "venv", "__pycache__", "__pypackages__"}
)
NEVER_COPIED = (".git", ".venv", "venv", "node_modules", "__pycache__")
"""Of a submodule everything else comes along."""
LARGEST_BYTES = 1 << 30
"""Of one artefact, and of all files of a submodule together."""


def ignored_artefacts(git: Git) -> tuple[str, ...]:
    """Ignored files of a checkout that its tests need: version modules, built extensions, egg-info; no caches, environments, secrets."""
    listed = git.items("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    found = (path for item in listed for path in _files(git.directory, item))
    return tuple(sorted(path for path in found if _is_wanted(PurePosixPath(path))))


def submodules(git: Git, tree: str) -> tuple[str, ...]:
    """Paths of a tree where another repository belongs."""
    entries = (item.split("\t", 1) for item in git.items("ls-tree", "-r", "-z", "--full-tree", tree))
    return tuple(path for words, path in entries if words.startswith("160000 "))


def bring(paths: tuple[str, ...], *, source: Path, target: Path) -> frozenset[str]:
    """Copy files and submodule directories into a worktree, where nothing is in their place; return what was copied."""
    return frozenset(path for path in paths if _is_free(target, path) and _copy(source, target, path))


def _copy(source: Path, target: Path, path: str) -> bool:
    """Copy a regular file, or the regular files of a directory; nothing is read through a link, and none is made."""
    if (source / path).resolve() != source.resolve() / path:
        return False
    (target / path).parent.mkdir(parents=True, exist_ok=True)
    if not (source / path).is_dir():
        return copy_regular(source / path, target / path, within=source, limit_bytes=LARGEST_BYTES)
    left = LARGEST_BYTES
    for directory, names, files in os.walk(source / path):
        names[:] = [name for name in names if name not in NEVER_COPIED]
        relative = Path(directory).relative_to(source)
        (target / relative).mkdir(exist_ok=True)
        for file in (
            relative / name
            for name in files
            if name not in NEVER_COPIED and not (Path(directory) / name).is_symlink()
        ):
            if copy_regular(source / file, target / file, within=source, limit_bytes=left):
                left -= (target / file).stat().st_size
    return True


def _files(root: Path, item: str) -> Iterator[str]:
    """The item itself, or all files below it where it is a directory that may hold artefacts."""
    if not item.endswith("/"):
        yield item
        return
    for directory, names, files in os.walk(root / item):
        relative = PurePosixPath(os.path.relpath(directory, root))
        if _is_unwanted(relative) or "pyvenv.cfg" in files:
            names.clear()
            continue
        yield from (str(relative / name) for name in files)


def _is_unwanted(directory: PurePosixPath) -> bool:
    return any(part in UNWANTED_DIRECTORIES or part.startswith(".") for part in directory.parts)


def _is_wanted(path: PurePosixPath) -> bool:
    in_egg_info = any(part.endswith(".egg-info") for part in path.parts[:-1])
    named = any(fnmatch(path.name.lower(), pattern) for pattern in WANTED)
    return (in_egg_info or named) and not _is_unwanted(path.parent)


def _is_free(target: Path, path: str) -> bool:
    """Is nothing there, and no link on the way that leads elsewhere?"""
    place = target / path
    if os.path.realpath(place.parent) != str(place.parent):
        return False
    return not os.path.lexists(place) or (
        place.is_dir() and not place.is_symlink() and not any(place.iterdir())
    )
