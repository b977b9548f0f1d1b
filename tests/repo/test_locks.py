import os
import threading
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.repo.git import repository_lock, session_lock


def test_one_process_holds_session_lock(tmp_path: Path) -> None:
    with (
        session_lock(tmp_path / "s"),
        pytest.raises(UserError, match=f"in use by process {os.getpid()} on "),
        session_lock(tmp_path / "s"),
    ):
        pass
    with session_lock(tmp_path / "s"):
        pass


def test_waits_for_repository_lock_and_leaves_nothing(tmp_path: Path) -> None:
    order = []
    has_entered = threading.Event()

    def second() -> None:
        has_entered.set()
        with repository_lock(tmp_path):
            order.append("second")

    with repository_lock(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        has_entered.wait()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert list(tmp_path.iterdir()) == []
