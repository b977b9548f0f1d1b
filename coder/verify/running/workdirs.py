"""Directories for test runs, empty for each and under the same few names: a path tells no run which side of a change it is on."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path


@contextmanager
def numbered_directory(above: Path, name: str) -> Iterator[Path]:
    """Make an empty directory below `above`, called `name` and the lowest free number, and remove it on exit."""
    place = next(path for number in count() if _is_made(path := above / f"{name}{number}"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _is_made(path: Path) -> bool:
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True
