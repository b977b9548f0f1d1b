"""Files and source positions that adapters look for in a tree."""

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from coder.core.verdict import Frame
from coder.files.regular_files import read_regular_text

DEEPEST_MANIFEST = 3
"""Depth of directories in which projects inside of a repository are looked for."""
INSTALLED_OR_BUILT = frozenset(
    {"_deps", "bin", "build", "node_modules", "obj", "target", "testdata", "third_party", "vendor"}
)
"""Directories with code of others, or with what is built."""
POSITION = re.compile(r"^\s*(?:-->\s*)?(?:\./)?(?P<path>[\w./@+-]+\.\w+):(?P<line>\d+)(?::\d+)?\b", re.M)
"""A place in a source file as compilers and tracebacks print it, at the start of a line."""


def source_files(tree: Path, suffixes: Collection[str], *, deepest: float = float("inf")) -> Iterator[str]:
    """Yield the project's files with one of these suffixes, relative to the tree.

    Directories of more levels than `deepest` are left out.
    """
    for folder, folders, names in os.walk(tree):
        has_more = len(Path(folder).relative_to(tree).parts) < deepest
        folders[:] = sorted(
            name
            for name in folders
            if has_more and name not in INSTALLED_OR_BUILT and not name.startswith(".")
        )
        for name in sorted(names):
            if PurePosixPath(name).suffix in suffixes:
                yield Path(folder, name).relative_to(tree).as_posix()


def manifest_directories(tree: Path, name: str) -> list[str]:
    """Return the directories that hold a file of this name, outermost first; the tree itself is `.`."""
    found = [
        str(PurePosixPath(path).parent)
        for path in source_files(tree, (PurePosixPath(name).suffix,), deepest=DEEPEST_MANIFEST)
        if PurePosixPath(path).name == name
    ]
    return sorted(found, key=lambda path: (path != ".", path.count("/"), path))


def nearest(directories: Collection[str], path: str) -> str:
    """Return the innermost of the directories that contains a path; `.` if none does."""
    containing = (str(parent) for parent in PurePosixPath(path, "x").parents)
    return next((parent for parent in containing if parent in directories), ".")


def read_source(tree: Path, path: str) -> str:
    """Return the text of a source file; empty if it is missing or leads out of the tree."""
    return read_regular_text(tree / path, within=tree)


def find_positions(
    text: str, tree: Path, *, within: str = ".", pattern: re.Pattern[str] = POSITION
) -> tuple[Frame, ...]:
    """Return the positions in files of the tree that a message names; paths are relative to `within`."""
    frames = []
    for match in pattern.finditer(text):
        path = PurePosixPath(within, match["path"])
        if path.is_relative_to(tree):
            path = path.relative_to(tree)
        if not path.is_absolute() and (tree / path).is_file():
            frames.append(Frame(path=str(path), line=int(match["line"]), function="<unknown>"))
    return tuple(frames)
