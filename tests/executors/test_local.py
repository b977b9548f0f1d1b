"""Values of --on, and the local executor: real processes, since their deaths are what it is about."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from coder.cli.options import open_executor
from coder.core.errors import UserError
from coder.executors.executor import (
    CallEvent,
    CallFailed,
    CallFinished,
    CallOutput,
    CallRestarted,
    CallStarted,
    Emit,
    LocalExecutor,
)


@pytest.mark.parametrize("place", ["local:0", "local:x", "cloud", "ray:1"])
def test_refuses_other_places(place: str) -> None:
    with pytest.raises(UserError, match="local"):
        open_executor(place)


def act(argument: tuple[str, str], emit: Emit) -> str:
    """Do what the first word says."""
    action, path = argument
    match action:
        case "refuse":
            raise UserError("it is\nrefused")
        case "crash":
            raise ZeroDivisionError
        case "die once" if not Path(path).exists():
            Path(path).touch()
            emit("before the end")
            os.kill(os.getpid(), signal.SIGKILL)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            Path(path).write_text(str(os.getpid()), encoding="utf-8")
            emit("ready")
            time.sleep(60)
        case _:
            emit("working")
    return action


def test_deaths_and_errors_of_some_calls_stop_no_other(tmp_path: Path) -> None:
    actions = ("work", "refuse", "crash", "die once", "die", "work again")
    calls = [(action, (action, str(tmp_path / "mark"))) for action in actions]
    with LocalExecutor(2) as executor:
        events: list[CallEvent[str]] = [*executor.run(act, calls)]
    results = {event.key: event.result for event in events if isinstance(event, CallFinished)}
    assert results == {name: name for name in ("work", "die once", "work again")}
    failures = {event.key: event for event in events if isinstance(event, CallFailed)}
    assert {key: failure.reason for key, failure in failures.items()} == {
        "refuse": "it is refused",
        "crash": "internal error: ZeroDivisionError",
        "die": "its worker died 2 times (killed by SIGKILL)",
    }
    begun = Counter(event.key for event in events if isinstance(event, CallStarted))
    assert begun == {**dict.fromkeys(actions, 1), "die once": 2, "die": 2}
    assert [event.key for event in events if isinstance(event, CallRestarted)].count("die once") == 1
    assert CallOutput("die once", "before the end") in events


def test_takes_arguments_when_a_worker_is_free_and_ends_them_on_close(tmp_path: Path) -> None:
    taken = []

    def arguments() -> Iterator[tuple[str, tuple[str, str]]]:
        for number in range(3):
            taken.append(number)
            yield str(number), ("hang", str(tmp_path / "pid"))

    with LocalExecutor(1) as executor:
        events = executor.run(act, arguments())
        assert isinstance(next(events), CallStarted)
        assert next(events) == CallOutput("0", "ready")
        events.close()  # type: ignore[attr-defined]
        pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
        assert not Path(f"/proc/{pid}").exists()
    assert taken == [0]
