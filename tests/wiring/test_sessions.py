"""Sessions as they are put together."""

import asyncio
from pathlib import Path

import pytest

from coder.core.errors import GitError
from coder.core.task import Task
from coder.verify.run import CommandSelection
from coder.wiring.session import prepare_session
from tests.builders import repo


def test_answer_without_a_model_runs_nothing_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Path] = []
    monkeypatch.setattr(CommandSelection, "settle", lambda _selection, tree: tries.append(tree))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = repo(tmp_path / "repository", {"clock.py": "def minutes(): pass\n", "test_clock.py": ""})
    setup = prepare_session(root, flags={"strategy": "offline"}, unsafe=True, mode="ask")
    with setup.open(setup.complete(Task(issue="Who calls `minutes`?", directory=root, mode="ask"))) as handle:
        asyncio.run(handle.session.run())
        assert handle.finish_event.exit_code == 0
        assert (setup.trusted, tries) == (False, [])


def test_log_is_closed_where_a_session_ends_in_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = repo(tmp_path / "repository", {"clock.py": "def minutes(): pass\n"})
    setup = prepare_session(root, flags={"strategy": "offline"}, unsafe=True, mode="ask")
    with setup.open(setup.complete(Task(issue="Who calls `minutes`?", directory=root, mode="ask"))) as handle:

        def fail() -> None:
            raise GitError("The disk is gone.")

        monkeypatch.setattr(handle.context.repository, "close", fail)
        with pytest.raises(GitError):
            asyncio.run(handle.session.run())
        monkeypatch.undo()

        async def follow() -> int:
            return len([record async for record in handle.log.follow()])

        assert asyncio.run(asyncio.wait_for(follow(), 10))
