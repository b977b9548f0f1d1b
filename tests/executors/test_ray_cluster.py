"""Ray executor on a cluster of this machine; only where Ray is installed, as it takes seconds to start."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray")
SCRIPT = """
import json, os, signal, sys
from pathlib import Path
from coder.executors.ray_cluster import RayExecutor

def act(argument, emit):
    action, path, shared = argument
    emit(shared.read().decode())
    if action == "die" or (action == "die once" and not Path(path).exists()):
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return action

with RayExecutor("") as executor:
    shared = executor.share(b"text")
    calls = [(name, (name, f"{sys.argv[1]}/{name}", shared)) for name in ("work", "die once", "die")]
    print(json.dumps([(type(event).__name__, event.key) for event in executor.run(act, calls)]))
"""


@pytest.mark.loopback
def test_deaths_of_workers_stop_no_other_call(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    options = ("--num-cpus", "2", "--include-dashboard=false", "--disable-usage-stats")
    start = ("start", "--head", "--block", "--node-ip-address", "127.0.0.1", "--port", port, *options)
    environment = {**os.environ, "RAY_ADDRESS": f"127.0.0.1:{port}"}  # as --on ray finds it
    head = subprocess.Popen(
        [sys.executable, "-m", "ray.scripts.scripts", *start],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        # In an interpreter of its own: Ray leaves handles of processes, whose warnings are errors here.
        command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
        for _ in range(20):
            result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            if result.returncode == 0:
                break
    finally:
        head.terminate()
        head.wait()
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("[[")]  # Ray prints others
    events = [tuple(event) for event in json.loads(line)]
    ends = {key: kind for kind, key in events if kind in ("CallFinished", "CallFailed")}
    assert ends == {"work": "CallFinished", "die once": "CallFinished", "die": "CallFailed"}
    assert sorted(key for kind, key in events if kind == "CallRestarted") == ["die", "die once"]
    assert ("CallOutput", "work") in events
