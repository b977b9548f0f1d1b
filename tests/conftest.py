"""No test reaches the network: loopback only where a test is marked for it, and never a real model."""

import os
import sys
from collections.abc import Iterator

import pytest

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_allowed: set[str] = set()


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and address[0] not in _allowed:
        raise AssertionError(f"a test tried to connect to {address}; mark it `loopback` if it talks to a server of its own")


sys.addaudithook(_guard)


@pytest.fixture(autouse=True)
def _closed_network(request: pytest.FixtureRequest) -> Iterator[None]:
    _allowed.clear()
    if request.node.get_closest_marker("loopback"):
        _allowed.update(LOOPBACK)
    yield
    _allowed.clear()


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run the same on the machine of somebody who has keys, and a venv, and settings."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith(("CODER_", "OLLAMA_", "GIT_")):
            monkeypatch.delenv(name)
