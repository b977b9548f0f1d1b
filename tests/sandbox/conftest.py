"""Fixtures for every backend that works on this machine, and for the sandbox without one."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from coder.core.errors import SandboxError
from coder.sandbox import process
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.choice import backends, probe_backend
from coder.sandbox.process import ProcessSandbox
from tests.portable import NO_PROC_SCRIPT

NAMES = tuple(name for name, _ in backends())
Open = Callable[[], ProcessSandbox]


@cache
def find_backend(name: str) -> SandboxBackend | str:
    """Return the backend of this name, or the reason why it does not work here."""
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


@pytest.fixture(params=NAMES)
def walls(request: pytest.FixtureRequest) -> SandboxBackend:
    """Return one backend after the other."""
    return walls_or_skip(request.param)


@pytest.fixture
def isolated_sandbox(walls: SandboxBackend) -> Iterator[ProcessSandbox]:
    """Yield a sandbox with isolation."""
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        yield sandbox


@pytest.fixture(params=("no walls", "no walls, no /proc", *NAMES))
def sandbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessSandbox]:
    """Yield a sandbox of each kind: the contract holds for all."""
    walls = None if request.param.startswith("no walls") else walls_or_skip(request.param)
    if request.param.endswith("no /proc"):
        monkeypatch.setattr(process, "SERVE_SCRIPT", NO_PROC_SCRIPT)
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        yield sandbox


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a directory to work in."""
    place = tmp_path / "tree"
    place.mkdir()
    return place.resolve()
