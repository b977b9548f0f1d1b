"""Conversations over stored sessions: open requests, and the model that goes on with them."""

from pathlib import Path

import pytest

from coder.core.events import SessionFinished
from coder.core.task import Mode, Task
from coder.core.verdict import VerdictKind
from coder.settings import Config
from coder.wiring.conversations import WENT_BACK, find_continuation, inherit_model
from tests.stored_sessions import store_session

PROVEN = SessionFinished(kind=VerdictKind.PROVEN, summary="", exit_code=0)
INTERRUPTED = SessionFinished(kind=None, summary="Interrupted", exit_code=130)
REWOUND = SessionFinished(kind=None, summary=WENT_BACK, exit_code=130)
URL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def store(
    root: Path,
    number: int,
    issue: str,
    finished: SessionFinished | None,
    *,
    continues: int = 0,
    mode: Mode = "fix",
    model: str = "no model",
    base_url: str | None = None,
) -> None:
    task = Task(issue=issue, directory=root, mode=mode, continues=f"s{continues}" if continues else "")
    events = () if finished is None else (finished,)
    store_session(root, f"s{number}", *events, task=task, model=model, base_url=base_url)


def test_requests_interrupted_since_the_last_result_are_open(tmp_path: Path) -> None:
    store(tmp_path, 1, "the oldest", INTERRUPTED)
    store(tmp_path, 2, "done", PROVEN, continues=1)
    store(tmp_path, 3, "interrupted", INTERRUPTED, continues=2)
    store(tmp_path, 4, "what is it?", INTERRUPTED, continues=3, mode="ask")
    store(tmp_path, 5, "gone back before", REWOUND, continues=4)
    store(tmp_path, 6, "killed", None, continues=5)
    assert find_continuation("s6", tmp_path).unfinished_requests == ("killed", "interrupted")
    assert find_continuation("s2", tmp_path).unfinished_requests == ()


def test_model_and_server_of_a_conversation_are_the_newest_recorded(tmp_path: Path) -> None:
    store(tmp_path, 1, "one", PROVEN, model="openai:large")
    store(tmp_path, 2, "two", PROVEN, continues=1, model="openai:hand", base_url=URL)
    store(tmp_path, 3, "three", PROVEN, continues=2)
    inherited = inherit_model(Config(), "s3", tmp_path)
    assert (inherited.model, inherited.base_url) == ("openai:hand", URL)


def test_own_settings_and_unknown_servers_leave_the_model_open(tmp_path: Path) -> None:
    store(tmp_path, 1, "one", PROVEN, model="openai:large")
    store(tmp_path, 2, "two", PROVEN, model="openai:hand", base_url="")
    assert inherit_model(Config(), "s1", tmp_path) == Config()
    assert inherit_model(Config(), "s2", tmp_path) == Config(model="openai:hand")
    for config in (Config(model="google:small"), Config(base_url="http://localhost:1/v1")):
        assert inherit_model(config, "s2", tmp_path) == config
    assert inherit_model(Config(), "", tmp_path) == Config()
