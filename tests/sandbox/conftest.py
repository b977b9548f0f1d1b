"""Fixtures for the best backend of this machine; with `--thorough` for each that works, and for none."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from coder.core.errors import SandboxError
from coder.sandbox import process
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.choice import backends, choose_backend, probe_backend
from coder.sandbox.process import ProcessSandbox
from tests.portable import NO_PROC_SCRIPT

BEST = "best"
NO_WALLS, NO_PROC = "no walls", "no walls, no /proc"
NAMES = tuple(name for name, _ in backends())


def thorough(*names: str) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.thorough) for name in names]


@cache
def find_backend(name: str) -> SandboxBackend | str:
    """Return the backend of this name, or the reason why it does not work here."""
    if name == BEST:
        return choose_backend().backend or "none works here"
    make = dict(backends())[name]
    try:
        walls = make()
    except SandboxError as error:
        return str(error)
    return probe_backend(walls) or walls


def walls_or_skip(name: str) -> SandboxBackend:
    if name == "bundled bubblewrap" and not isinstance(find_backend("bubblewrap"), str):
        pytest.skip("the system's own bubblewrap works, and starts the same way")
    walls = find_backend(name)
    if isinstance(walls, str):
        pytest.skip(f"{name}: {walls}")
    return walls


@pytest.fixture(scope="module", params=[BEST, *thorough(*NAMES)])
def walls(request: pytest.FixtureRequest) -> SandboxBackend:
    """Return the best backend, or one after the other."""
    return walls_or_skip(request.param)


@pytest.fixture(scope="module")
def isolated_sandbox(walls: SandboxBackend) -> Iterator[ProcessSandbox]:
    """Yield a sandbox with isolation, for all tests of a module that leave it usable."""
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        yield sandbox


@pytest.fixture(scope="module", params=[BEST, *thorough(NO_WALLS, NO_PROC, *NAMES)])
def sandbox(request: pytest.FixtureRequest) -> Iterator[ProcessSandbox]:
    """Yield a sandbox of the best kind that works, or of each: the contract holds for all."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == NO_PROC:
            patch.setattr(process, "SERVE_SCRIPT", NO_PROC_SCRIPT)
        is_bare = request.param.startswith(NO_WALLS) or (
            request.param == BEST and isinstance(find_backend(BEST), str)
        )
        walls = None if is_bare else walls_or_skip(request.param)
        with ProcessSandbox(os.environ, backend=walls) as sandbox:
            yield sandbox


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a directory to work in."""
    place = tmp_path / "tree"
    place.mkdir()
    return place.resolve()
