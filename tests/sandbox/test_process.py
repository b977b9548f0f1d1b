"""The process sandbox: what a command may use, and that nothing of it is left."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from coder.core.errors import SandboxError
from coder.core.ports import Limits
from coder.sandbox.process import ProcessSandbox

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="daemons are adopted on Linux only")
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():
    time.sleep(0.01)
"""


@pytest.fixture
def sandbox() -> Iterator[ProcessSandbox]:
    with ProcessSandbox(os.environ) as sandbox:
        yield sandbox


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout


def dies(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


def number_in(file: Path) -> int:
    deadline = time.monotonic() + 10
    while not (file.exists() and file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return int(file.read_text())


def test_returns_exit_code_and_both_streams(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    done = sandbox.run(["sh", "-c", "pwd; echo oops >&2; exit 7"], cwd=tmp_path)
    assert (done.exit_code, done.output, done.timed_out, done.truncated) == (7, f"{tmp_path.resolve()}\noops\n", False, False)


def test_a_signal_is_a_negative_exit_code(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    assert sandbox.run(["sh", "-c", "kill -SEGV $$"], cwd=tmp_path).exit_code == -signal.SIGSEGV


def test_a_broken_pipe_kills_as_in_a_shell(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    done = sandbox.run(["bash", "-c", "yes | head -n 1; echo ${PIPESTATUS[0]}"], cwd=tmp_path)
    assert done.output == f"y\n{128 + signal.SIGPIPE}\n"


def test_nothing_can_be_read_from_standard_input(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    assert sandbox.run(["cat"], cwd=tmp_path).exit_code == 0


def test_keys_do_not_reach_the_command(tmp_path: Path) -> None:
    kept = {"PATH": os.environ["PATH"], "HOME": "/home/me", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    keys = dict.fromkeys(["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_PROFILE", "SSH_AUTH_SOCK", "MY_SECRET", "LC_TOKEN", "PYTHONPATH"], "x")
    with ProcessSandbox({**kept, **keys}) as sandbox:
        done = sandbox.run(["env"], cwd=tmp_path, environment={"EXTRA": "1"})
        seen = dict(line.split("=", 1) for line in done.output.splitlines())
        for name in ("PWD", "SHLVL", "_"):
            seen.pop(name, None)
        assert seen == {**kept, "EXTRA": "1", "TERM": "dumb", "TMPDIR": str(sandbox.scratch)}


def test_the_private_tmpdir_is_gone_afterwards(tmp_path: Path) -> None:
    with ProcessSandbox(os.environ) as sandbox:
        sandbox.run(["sh", "-c", 'echo hello > "$TMPDIR/file" && chmod 500 "$TMPDIR"'], cwd=tmp_path)
        scratch = sandbox.scratch
        assert (scratch / "file").read_text() == "hello\n"
    assert not scratch.parent.exists()


def test_the_time_limit_ends_the_whole_tree(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    done = sandbox.run(["sh", "-c", f"echo begun; sleep 60 & echo $! > {pid_file}; wait"], cwd=tmp_path, limits=Limits(wall_seconds=0.5))
    assert (done.exit_code, done.timed_out, done.output) == (None, True, "begun\n")
    assert done.seconds < 3
    assert not is_alive(number_in(pid_file))


@linux_only
def test_a_daemon_does_not_outlive_its_command(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    done = sandbox.run(python(DAEMON, str(pid_file)), cwd=tmp_path)
    assert done.exit_code == 0
    assert done.seconds < 10
    assert not is_alive(number_in(pid_file))


def test_output_beyond_the_cap_is_dropped_from_its_middle(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    done = sandbox.run(
        python("for n in range(200000): print('line', n)"), cwd=tmp_path, limits=Limits(output_bytes=2000, memory_bytes=None)
    )
    assert (done.exit_code, done.truncated) == (0, True)
    assert done.output.startswith("line 0\nline 1\n")
    assert done.output.endswith("line 199999\n")
    assert "bytes of output dropped here" in done.output
    assert len(done.output) < 2100


def test_the_memory_limit_holds(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    done = sandbox.run(python("b = bytearray(1 << 30)"), cwd=tmp_path, limits=Limits(memory_bytes=512 << 20))
    assert done.exit_code == 1
    assert "MemoryError" in done.output


def test_no_core_is_dumped(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    assert sandbox.run(["sh", "-c", "ulimit -Hc"], cwd=tmp_path).output == "0\n"


def test_lines_are_heard_while_they_come(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    heard: list[str] = []
    sandbox.run(["sh", "-c", "printf 'one\\ntwo'; echo; printf rest"], cwd=tmp_path, on_line=heard.append)
    assert heard == ["one", "two"]


def test_an_error_of_the_listener_leaves_no_process(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    heard: list[str] = []

    def listen(line: str) -> None:
        heard.append(line)
        raise RuntimeError("listener")

    with pytest.raises(RuntimeError, match="listener"):
        sandbox.run(["sh", "-c", "echo $$; sleep 60"], cwd=tmp_path, on_line=listen)
    assert not is_alive(int(heard[0]))


def test_what_cannot_be_started_says_why(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"no-such-program could not be started: .*No such file"):
        sandbox.run(["no-such-program"], cwd=tmp_path)
    with pytest.raises(SandboxError, match=r"true could not be started: .*gone"):
        sandbox.run(["true"], cwd=tmp_path / "gone")


def test_stop_returns_running_commands_at_once_and_refuses_later_ones(tmp_path: Path) -> None:
    returned: list[tuple[int | None, float]] = []
    with ProcessSandbox(os.environ) as sandbox:

        def sleep() -> None:
            code = sandbox.run(["sh", "-c", "sleep 60 & sleep 60"], cwd=tmp_path).exit_code
            returned.append((code, time.monotonic()))

        threads = [threading.Thread(target=sleep) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        stopped = time.monotonic()
        sandbox.stop()
        for thread in threads:
            thread.join()
        assert [code for code, _ in returned] == [None, None, None]
        assert max(at for _, at in returned) - stopped < 1
        with pytest.raises(SandboxError, match="stopped"):
            sandbox.run(["true"], cwd=tmp_path)


@linux_only
def test_everything_dies_when_coder_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = f"""
import os, sys
from pathlib import Path
from coder.sandbox.process import ProcessSandbox
ProcessSandbox(os.environ).run([sys.executable, "-c", {DAEMON + "time.sleep(60)"!r}, {str(pid_file)!r}], cwd=Path("."))
"""
    coder = subprocess.Popen(python(code), cwd=Path(__file__).parents[2])
    daemon = number_in(pid_file)
    assert is_alive(daemon)
    coder.kill()
    coder.wait()
    assert dies(daemon)


@linux_only
def test_a_command_that_kills_its_launcher_dies_with_it(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    done = sandbox.run(["sh", "-c", "echo $$; sleep 60 & kill -9 $PPID; sleep 60"], cwd=tmp_path)
    assert done.exit_code is None
    assert dies(int(done.output))


def test_leaks_no_descriptors(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    sandbox.run(["true"], cwd=tmp_path)
    before = len([*Path("/dev/fd").iterdir()])
    for _ in range(5):
        sandbox.run(["true"], cwd=tmp_path)
    assert len([*Path("/dev/fd").iterdir()]) == before
