"""Ray executor on a cluster of its own; only where Ray is installed, as it takes seconds to start."""

import gc
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from coder.executors.calls import CallFailed, CallFinished, CallRestarted, Emit

pytest.importorskip("ray")


@pytest.mark.loopback
@pytest.mark.filterwarnings("ignore")
def test_deaths_of_workers_stop_no_other_call(tmp_path: Path) -> None:
    from coder.executors.ray_cluster import RayExecutor

    def act(argument: tuple[str, str, Any], emit: Emit) -> str:  # nested, since it travels by value
        import os
        import signal
        from pathlib import Path

        action, path, shared = argument
        emit(shared.read().decode())
        if action == "die" or (action == "die once" and not Path(path).exists()):
            Path(path).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return action

    with RayExecutor("") as executor:
        shared = executor.share(b"text")
        actions = ("work", "die once", "die")
        calls = [(name, (name, str(tmp_path / name), shared)) for name in actions]
        events = [*executor.run(act, calls)]
    for leftover in gc.get_objects():  # Ray never asks for the exit codes of its processes
        if type(leftover) is Popen:
            leftover.wait(10)
    assert {event.result for event in events if isinstance(event, CallFinished)} == {"work", "die once"}
    assert [event.key for event in events if isinstance(event, CallFailed)] == ["die"]
    assert {event.key for event in events if isinstance(event, CallRestarted)} == {"die once", "die"}
