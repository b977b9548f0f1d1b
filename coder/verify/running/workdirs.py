"""Work directories of test runs."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from coder.files.regular_files import read_regular


@contextmanager
def numbered_directory(above: Path, name: str) -> Iterator[Path]:
    """Create an empty directory `name` plus the lowest free number below `above`, and remove it on exit.

    Every run uses the same few names, so that a path does not reveal which side of a change the run is on.
    """
    place = next(path for number in count() if _try_create(path := above / f"{name}{number}"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _try_create(path: Path) -> bool:
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


def tree_digest(tree: Path) -> str:
    """Return a digest of the content of a tree without installed packages of Node.js."""
    digest = hashlib.blake2b(digest_size=16)
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules"))
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for path in (Path(folder, name) for name in sorted([*names, *links])):
            content = os.fsencode(path.readlink()) if path.is_symlink() else read_regular(path) or b""
            digest.update(b"%s\0%d\0" % (os.fsencode(path.relative_to(tree)), len(content)))
            digest.update(content)
    return digest.hexdigest()
