"""Contract of every sandbox, with and without isolation: limits, environment, and processes left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from coder.core.errors import SandboxError
from coder.core.ports import Limits
from coder.sandbox.landlock import SHARED_MEMORY, Landlock, is_unused
from coder.sandbox.process import ProcessSandbox
from coder.sandbox.view import build_environment
from tests.builders import write
from tests.portable import adopts_orphans
from tests.sandbox.processes import MARK, all_gone, child_processes, has_appeared, marked_processes

linux_only = pytest.mark.skipif(not adopts_orphans(), reason="daemons are adopted on Linux only")
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("daemon", "w").close()
        time.sleep(60)
    os._exit(0)
while not os.path.exists("daemon"):
    time.sleep(0.01)
"""


ORPHAN = DAEMON.replace("setsid()", "setpgid(0, 0)")


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def test_commands_end_as_in_a_shell(sandbox: ProcessSandbox, tree: Path) -> None:
    result = sandbox.run(["sh", "-c", "pwd; echo oops >&2; exit 7"], cwd=tree)
    assert (result.exit_code, result.output, result.timed_out, result.truncated, result.exceeded) == (
        7,
        f"{tree}\noops\n",
        False,
        False,
        "",
    )
    assert sandbox.run(["sh", "-c", "kill -SEGV $$"], cwd=tree).exit_code == -signal.SIGSEGV
    piped = sandbox.run(["bash", "-c", "yes | head -n 1; echo ${PIPESTATUS[0]}"], cwd=tree)
    assert piped.output == f"y\n{128 + signal.SIGPIPE}\n"
    assert sandbox.run(["cat"], cwd=tree).exit_code == 0
    assert sandbox.run(["sh", "-c", "ulimit -Hc"], cwd=tree).output == "0\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process choose")
def test_addresses_are_those_of_the_run_before(sandbox: ProcessSandbox, tree: Path) -> None:
    query = "import ctypes; print(hex(ctypes.CDLL(None).personality(0xffffffff)))"
    choice = "import ctypes, sys; sys.exit(ctypes.CDLL(None).personality(0x40000) < 0)"
    if subprocess.run(python(choice), check=False).returncode:
        pytest.skip("a filter of this machine keeps it from choosing")
    assert sandbox.run(python(query), cwd=tree).output == "0x40000\n"


def test_cut_command_ends_like_one_at_its_time_limit(sandbox: ProcessSandbox, tree: Path) -> None:
    cut = threading.Event()
    result = sandbox.run(
        ["sh", "-c", "echo begun; sleep 60"], cwd=tree, on_line=lambda _line: cut.set(), cut=cut
    )
    assert (result.exit_code, result.output, result.timed_out) == (None, "begun\n", True)


def test_api_keys_do_not_reach_command(sandbox: ProcessSandbox, tree: Path) -> None:
    allowed = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    keys = dict.fromkeys(
        [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "AWS_PROFILE",
            "SSH_AUTH_SOCK",
            "MY_SECRET",
            "LC_TOKEN",
            "PYTHONPATH",
        ],
        "x",
    )
    with ProcessSandbox({**allowed, **keys}, backend=sandbox.backend) as own:
        result = own.run(["env"], cwd=tree, environment={"EXTRA": "1"})
        environment = dict(line.split("=", 1) for line in result.output.splitlines())
        builds = build_environment(own.scratch, {}, Path("/"), network=False, shares_target=False)
        for name in ("PWD", "SHLVL", "_", "HOME", *builds):
            environment.pop(name, None)
        assert environment == {**allowed, "EXTRA": "1", "TERM": "dumb", "TMPDIR": str(own.scratch)}


@linux_only
def test_time_limit_kills_process_tree(sandbox: ProcessSandbox, tree: Path) -> None:
    result = sandbox.run(
        ["sh", "-c", "echo begun; sleep 60 & wait"],
        cwd=tree,
        environment={MARK: str(tree)},
        limits=Limits(wall_seconds=0.5),
    )
    assert (result.exit_code, result.timed_out) == (None, True)
    assert marked_processes(str(tree)) == []


@pytest.mark.parametrize("code", [pytest.param(DAEMON, marks=linux_only), ORPHAN], ids=["daemon", "orphan"])
def test_no_process_outlives_its_command(sandbox: ProcessSandbox, tree: Path, code: str) -> None:
    result = sandbox.run(python(code), cwd=tree, environment={MARK: str(tree)})
    assert result.exit_code == 0
    assert (tree / "daemon").exists()
    assert marked_processes(str(tree)) == []


@linux_only
def test_caller_limits_replace_default_limits(tree: Path) -> None:
    code = "import os, time\nfor _ in range(30):\n    if not os.fork(): time.sleep(60)\ntime.sleep(60)"
    with ProcessSandbox(os.environ, caps={"processes": 10}) as limited_sandbox:
        result = limited_sandbox.run(
            python(code), cwd=tree, limits=Limits(wall_seconds=50), environment={MARK: str(tree)}
        )
    assert (result.exit_code, result.exceeded.split()[-1]) == (None, "processes")


@linux_only
@pytest.mark.parametrize(
    ("limits", "code", "message"),
    [
        (Limits(memory_bytes=512 << 20), "bytearray(1 << 30)", "MemoryError"),
        (Limits(open_files=20), "files = [open('/dev/null') for _ in range(30)]", "Too many open files"),
        (Limits(file_bytes=1 << 20), "open('big', 'wb').write(bytes(2 << 20))", "File too large"),
        (
            Limits(cpu_seconds=1),
            "import signal; signal.signal(signal.SIGXCPU, signal.SIG_DFL)\nwhile True: pass",
            "",
        ),
    ],
    ids=["memory", "open files", "file size", "processor time"],
)
def test_kernel_enforces_per_process_limits(
    sandbox: ProcessSandbox, tree: Path, limits: Limits, code: str, message: str
) -> None:
    result = sandbox.run(
        python(f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{code}"),
        cwd=tree,
        limits=limits,
    )
    assert result.exit_code not in (0, None)
    assert message in result.output


@linux_only
@pytest.mark.parametrize(
    ("limits", "code", "limit_name"),
    [
        (
            Limits(resident_bytes=64 << 20),
            "import time; b = [bytearray(b'x' * (1 << 20)) for _ in range(200)]; time.sleep(60)",
            "memory",
        ),
        (
            Limits(resident_bytes=64 << 20),
            "import os, time; os.write(os.memfd_create('m'), bytes(200 << 20)); time.sleep(60)",
            "memory",
        ),
        (
            Limits(processes=10),
            "import os, time\nfor _ in range(30):\n    if not os.fork(): time.sleep(60)\ntime.sleep(60)",
            "processes",
        ),
        (
            Limits(disk_bytes=10 << 20),
            "import os, time; f = open('f', 'wb'); f.write(bytes(99 << 20)); os.fsync(f); time.sleep(60)",
            "disk",
        ),
    ],
    ids=["memory", "memfd", "processes", "disk"],
)
def test_kills_process_tree_over_limit(
    sandbox: ProcessSandbox, tree: Path, limits: Limits, code: str, limit_name: str
) -> None:
    result = sandbox.run(python(code), cwd=tree, limits=limits, environment={MARK: str(tree)})
    assert (result.exit_code, result.exceeded.split()[-1]) == (None, limit_name)
    assert marked_processes(str(tree)) == []


@linux_only
def test_callback_error_leaves_no_process(sandbox: ProcessSandbox, tree: Path) -> None:
    def on_line(line: str) -> None:
        raise RuntimeError(line)

    with pytest.raises(RuntimeError, match="begun"):
        sandbox.run(
            ["sh", "-c", "echo begun; sleep 60"], cwd=tree, on_line=on_line, environment={MARK: str(tree)}
        )
    assert marked_processes(str(tree)) == []


def test_explains_command_that_cannot_start(sandbox: ProcessSandbox, tree: Path) -> None:
    with pytest.raises(SandboxError, match=r"no-such-program could not be started: .*No such file"):
        sandbox.run(["no-such-program"], cwd=tree)
    with pytest.raises(SandboxError, match=r"true could not be started: .*gone"):
        sandbox.run(["true"], cwd=tree / "gone")


def test_folder_on_path_that_may_not_be_entered_holds_no_program(
    isolated_sandbox: ProcessSandbox, tree: Path
) -> None:
    """Like shells; root enters each folder, so that it sees no difference."""
    (tree / "closed").mkdir(mode=0)
    path = {"PATH": f"{tree / 'closed'}:/usr/bin:/bin"}
    assert isolated_sandbox.run(["true"], cwd=tree, environment=path).exit_code == 0
    with pytest.raises(SandboxError, match=r"No such file or directory: b?'(/bin/)?no-such-program'"):
        isolated_sandbox.run(["no-such-program"], cwd=tree, environment=path)


def test_stop_ends_running_commands_and_refuses_later_ones(sandbox: ProcessSandbox, tree: Path) -> None:
    exit_codes: list[int | None] = []
    begun = threading.Semaphore(0)
    own = ProcessSandbox(os.environ, backend=sandbox.backend)

    def sleep() -> None:
        command = ["sh", "-c", "echo begun; sleep 60 & sleep 60"]
        result = own.run(command, cwd=tree, on_line=lambda _line: begun.release())
        exit_codes.append(result.exit_code)

    threads = [threading.Thread(target=sleep) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert begun.acquire(timeout=30)
    own.stop()
    for thread in threads:
        thread.join(timeout=20)
    assert exit_codes == [None, None, None]
    with own, pytest.raises(SandboxError, match="stopped"):
        own.run(["true"], cwd=tree)


@linux_only
def test_everything_dies_when_coder_is_killed(sandbox: ProcessSandbox, tree: Path) -> None:
    code = f"""
import os, sys
from pathlib import Path
from coder.sandbox.bubblewrap import Bubblewrap
from coder.sandbox.landlock import Landlock
from coder.sandbox.landlock import SHARED_MEMORY, Landlock, is_unused
from coder.sandbox.process import ProcessSandbox
walls = {backend_expression(sandbox)}
ProcessSandbox(os.environ, backend=walls).run(
    [sys.executable, "-c", {DAEMON + "time.sleep(60)"!r}], cwd=Path({str(tree)!r}), \
environment={ {MARK: str(tree)} }
)
"""
    coder = subprocess.Popen(python(code), cwd=Path(__file__).parents[3])
    try:
        assert has_appeared(str(tree), 2)
    finally:
        coder.kill()
        coder.wait()
    assert all_gone(str(tree))


def backend_expression(sandbox: ProcessSandbox) -> str:
    """Return the expression that constructs the backend of a sandbox."""
    match sandbox.backend:
        case None:
            return "None"
        case walls if walls.name == "Landlock":
            return "Landlock()"
        case walls:
            return f"Bubblewrap({walls.executable!r}, '')"  # type: ignore[attr-defined]


@linux_only
def test_a_command_that_kills_its_parent_does_not_outlive_it(sandbox: ProcessSandbox, tree: Path) -> None:
    result = sandbox.run(
        ["sh", "-c", "sleep 60 & kill -9 $PPID 2> /dev/null; exit 9"], cwd=tree, environment={MARK: str(tree)}
    )
    assert result.exit_code in (None, 9)
    assert all_gone(str(tree))


@linux_only
def test_commands_go_on_when_somebody_kills_the_launcher(sandbox: ProcessSandbox, tree: Path) -> None:
    assert sandbox.run(["true"], cwd=tree).exit_code == 0
    for launcher in child_processes(os.getpid(), "coder.sandbox.launcher"):
        os.kill(launcher, signal.SIGKILL)
    time.sleep(0.2)
    assert sandbox.run(["true"], cwd=tree).exit_code == 0


def test_leaks_no_descriptors(sandbox: ProcessSandbox, tree: Path) -> None:
    sandbox.run(["true"], cwd=tree)
    before = len([*Path("/dev/fd").iterdir()])
    for _ in range(5):
        sandbox.run(["true"], cwd=tree)
    assert len([*Path("/dev/fd").iterdir()]) == before


def test_private_home_has_git_identity_alone(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, place = tmp_path / "user", tmp_path / "run-1"
    user = '[user]\n\tname = "Ada \\"A\\" L"\n\temail = a@example.com\n'
    write(home, {".gitconfig": f"{user}[init]\n\tdefaultBranch = trunk\n[alias]\n\tx = !ls\n"})
    place.mkdir()
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    with ProcessSandbox(environment) as sandbox:
        listed = sandbox.run(["git", "config", "--global", "--list"], cwd=tree, private=place)
    assert sorted(listed.output.splitlines()) == [
        "init.defaultbranch=trunk",
        "user.email=a@example.com",
        'user.name=Ada "A" L',
    ]


def test_processes_share_semaphores(sandbox: ProcessSandbox, tree: Path) -> None:
    if isinstance(sandbox.backend, Landlock) and not is_unused(SHARED_MEMORY):
        pytest.skip("other programs use the shared memory of this machine")
    code = "import multiprocessing as m; m.Lock(); m.get_context('spawn').Semaphore(1); print('shared')"
    assert sandbox.run(python(code), cwd=tree).output == "shared\n"
