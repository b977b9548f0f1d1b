"""Work directories of test runs."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path


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
