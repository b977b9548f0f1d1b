"""Sockets of commands: loopback among their own processes, and nothing of this machine's."""

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.process import ProcessSandbox
from tests.sandbox.conftest import walls_or_skip

pytestmark = pytest.mark.loopback
SCRIPT = Path(__file__).parents[1].joinpath("socket_calls.py").read_text()
WAIT_FOR_TAKEOVER = """
def wait_for_takeover(port):
    print("port", port, flush=True)
    while not os.path.exists("taken"):
        time.sleep(0.01)
"""
CLOSED_SERVER = f"""
import os, socket, time
{WAIT_FOR_TAKEOVER}
server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
socket.create_connection(("127.0.0.1", port)).close()
server.close()
wait_for_takeover(port)
try:
    print(socket.create_connection(("127.0.0.1", port)).recv(100))
except OSError as error:
    print(error)
"""
WAITING_CLIENT = f"""
import os, socket, time
{WAIT_FOR_TAKEOVER}
server = socket.create_server(("127.0.0.1", 0), backlog=0)
port = server.getsockname()[1]
clients = [socket.socket() for _ in range(4)]
for client in clients:
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", port))
server.shutdown(socket.SHUT_RDWR)
server.close()
wait_for_takeover(port)
end = time.monotonic() + 1
while time.monotonic() < end:
    for client in clients:
        try:
            client.send(b"owned")
            print("heard", client.recv(100), flush=True)
        except OSError:
            continue
    time.sleep(0.001)
"""


@pytest.fixture
def landlock() -> SandboxBackend:
    return walls_or_skip("Landlock")


def run(sandbox: ProcessSandbox, code: str, tree: Path) -> str:
    return sandbox.run([sys.executable, "-S", "-c", code], cwd=tree, limits=Limits(wall_seconds=60)).output


def test_sockets_behave_as_without_sandbox(landlock: SandboxBackend, tmp_path: Path) -> None:
    outputs = []
    for name, walls in (("bare", None), ("walled", landlock)):
        tree = tmp_path / name
        tree.mkdir()
        (tree / "script.py").write_text(SCRIPT)
        with ProcessSandbox(os.environ, backend=walls) as sandbox:
            result = sandbox.run([sys.executable, "-S", "script.py"], cwd=tree)
        assert result.exit_code == 0, result.output
        outputs.append(result.output.splitlines())
    assert len(outputs[0]) > 30
    assert outputs[0] == outputs[1]


def test_processes_of_a_command_talk_over_loopback(isolated_sandbox: ProcessSandbox, tree: Path) -> None:
    if isolated_sandbox.backend is not None and isolated_sandbox.backend.name == "Seatbelt":
        pytest.skip("a Seatbelt profile cannot tell a command's own servers from others")
    code = """
import os, socket
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    with socket.create_connection(("localhost", server.getsockname()[1])) as client:
        client.sendall(b"hello")
    os._exit(0)
print(server.accept()[0].recv(10))
"""
    assert run(isolated_sandbox, code, tree) == "b'hello'\n"


@pytest.mark.parametrize(
    "address", ["('127.0.0.1', {port})", "('::ffff:127.0.0.1', {port})", "('0.0.0.0', {port})"]
)
def test_refuses_servers_outside(address: str, landlock: SandboxBackend, tree: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        host = address.format(port=server.getsockname()[1])
        code = f"""
import socket
way = socket.socket(socket.AF_INET6 if "::" in {host}[0] else socket.AF_INET)
print(way.connect_ex({host}))
print(socket.socket().connect_ex(("192.0.2.1", 80)))
"""
        with ProcessSandbox(os.environ, backend=landlock) as sandbox:
            assert run(sandbox, code, tree) == "111\n101\n"
        with pytest.raises(TimeoutError):
            server.accept()


@contextlib.contextmanager
def take_over(tree: Path, heard: list[bytes]) -> Iterator[object]:
    """Yield a listener of output that opens a server at the port that a command names."""
    servers: list[socket.socket] = []

    def follow(line: str) -> None:
        if line.startswith("port "):
            servers.append(socket.create_server(("127.0.0.1", int(line.split()[1]))))
            servers[0].settimeout(0.2)
            (tree / "taken").touch()

    yield follow
    with contextlib.suppress(TimeoutError):
        while True:
            with servers[0].accept()[0] as guest:
                guest.settimeout(0.2)
                with contextlib.suppress(OSError):
                    heard.append(guest.recv(100))
    servers[0].close()


@pytest.mark.parametrize("code", [CLOSED_SERVER, WAITING_CLIENT], ids=["closed", "while clients wait"])
def test_refuses_own_port_that_another_program_took_over(
    code: str, landlock: SandboxBackend, tree: Path
) -> None:
    heard: list[bytes] = []
    with take_over(tree, heard) as follow, ProcessSandbox(os.environ, backend=landlock) as sandbox:
        result = sandbox.run([sys.executable, "-S", "-c", code], cwd=tree, on_line=follow)  # type: ignore[arg-type]
    assert "heard" not in result.output
    assert [data for data in heard if data] == []
    assert "Connection refused" in result.output or code != CLOSED_SERVER


def test_outside_program_cannot_share_port_of_a_command(landlock: SandboxBackend, tree: Path) -> None:
    code = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0), reuse_port=True)
print("port", server.getsockname()[1], flush=True)
server.accept()
"""
    refusals: list[str] = []

    def share(line: str) -> None:
        port = int(line.split()[1])
        try:
            socket.create_server(("127.0.0.1", port), reuse_port=True).close()
        except OSError as error:
            refusals.append(os.strerror(error.errno or 0))
        socket.create_connection(("127.0.0.1", port)).close()

    with ProcessSandbox(os.environ, backend=landlock) as sandbox:
        sandbox.run([sys.executable, "-S", "-c", code], cwd=tree, on_line=share)
    assert refusals == ["Address already in use"]


@pytest.mark.thorough
def test_calls_of_killed_processes_harm_no_later_ones(landlock: SandboxBackend, tree: Path) -> None:
    code = """
import os, signal, socket, time
open("kept", "w").close()
server = socket.create_server(("127.0.0.1", 0), backlog=0)
for turn in range(60):
    child = os.fork()
    if child == 0:
        for number in range(1000):
            socket.socket(socket.AF_UNIX).bind(f"file{turn}-{number}")
            way = socket.socket()
            way.setblocking(number % 3 == 0)
            way.connect_ex(server.getsockname())
    time.sleep(0.003)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
os.chmod("kept", 0o600)
own = socket.create_server(("127.0.0.1", 0))
socket.create_connection(own.getsockname()).close()
print(oct(os.stat("kept").st_mode & 0o777))
"""
    with ProcessSandbox(os.environ, backend=landlock) as sandbox:
        assert run(sandbox, code, tree) == "0o600\n"


@pytest.mark.parametrize("lacking", ["can_broker", "can_share_sockets"])
def test_without_what_it_needs_all_sockets_stay_refused(
    lacking: str, landlock: SandboxBackend, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no sockets" not in landlock.limitations
    monkeypatch.setattr(f"coder.sandbox.landlock.{lacking}", lambda: False)
    older = type(landlock)()
    assert "commands have no sockets" in older.limitations
    with ProcessSandbox(os.environ, backend=older) as sandbox:
        assert "Network is unreachable" in run(sandbox, "import socket; socket.socket()", tree)
