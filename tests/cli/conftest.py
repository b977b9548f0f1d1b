"""A user's own directories, a repository, and a server of models."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.fakes import FakeServer, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import Place


@pytest.fixture(autouse=True)
def private_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the state and the settings of the one who runs the tests out of them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """Return a server without any turns yet."""
    with serve(chat_stream, openai_error, []) as fake:
        yield fake
