"""A user's machine in one directory, with every target of an attack, and detection of damage to it."""

import array
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import pty
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from coder.core.values import Candidate
from coder.repo.repository import SessionRepository, open_repository
from tests.builders import repo, write
from tests.sandbox.processes import marked_processes

VICTIM = (
    "import mmap, os, sys; held = open(sys.argv[1]); secret = held.read().encode(); print(flush=True); "
    "sys.stdin.read()"
)


class Stage:
    """One user: a home with keys, a checkout with a linked worktree, listening sockets, a running program,
    a terminal.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.secret = f"SECRET{secrets.token_hex(8)}"
        self.mark = str(self.root)
        self.home = self.root / "home"
        self.project = self.root / "project"
        self._closing = contextlib.ExitStack()
        self.heard: list[str] = []
        self._build()
        self.repository, self.candidate, self.other = self._create_repository()
        self.worktree = self.candidate.worktree
        self._link_environment()
        self.victim = self._start_victim()
        self.facts = self._facts()
        self.before = self.state()

    def _build(self) -> None:
        write(
            self.home,
            {
                ".ssh/id_rsa": self.secret,
                ".netrc": f"machine example.org password {self.secret}",
                ".bashrc": "true",
                ".ssh/authorized_keys": "",
                ".config/coder/trusted.json": "[]",
                ".local/state/coder/sessions/s1/events.jsonl": "{}",
                ".cache/uv/archive/mod.py": "value = 1",
                "bin/tool": "#!/bin/sh\n",
            },
        )
        (self.home / "bin/tool").chmod(0o4755)
        (self.home / "bin/link").symlink_to("tool")
        repo(self.project, {"main.py": "value = 1\n", "conftest.py": "\n", ".gitignore": ".venv/\n"})
        with contextlib.suppress(OSError):  # not every file system keeps them
            os.setxattr(self.project / "main.py", "user.kept", b"1")
        with (self.project / ".git" / "config").open("a") as config:
            config.write(f'[remote "origin"]\n\turl = https://me:{self.secret}@example.org/x.git\n')

    def _create_repository(self) -> tuple[SessionRepository, Candidate, Candidate]:
        repository = open_repository(self.project, session="attack", state=self.root / "state", base=None)
        self._closing.callback(repository.close)
        return repository, repository.create_candidate("c1"), repository.create_candidate("c2")

    def _link_environment(self) -> None:
        """Make an environment as uv does: the same file as in its cache."""
        venv = self.worktree / ".venv"
        write(venv, {"pyvenv.cfg": "home = /usr/bin\n"})
        os.link(self.home / ".cache/uv/archive/mod.py", venv / "mod.py")

    def _start_victim(self) -> int:
        program = subprocess.Popen(
            [sys.executable, "-S", "-c", VICTIM, str(self.home / ".ssh/id_rsa")],
            cwd=self.home,
            env={"TOKEN": self.secret},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert program.stdout is not None and program.stdin is not None
        program.stdout.readline()
        self._closing.callback(program.wait)
        self._closing.callback(program.stdout.close)
        self._closing.callback(program.stdin.close)
        self._program = program
        return program.pid

    def _facts(self) -> dict[str, Any]:
        """Return what an attacker may know: numbers and paths."""
        abstract = f"coder-attack-{secrets.token_hex(4)}"
        return {
            "home": str(self.home),
            "project": str(self.project),
            "worktree": str(self.worktree),
            "other": str(self.other.worktree),
            "victim": self.victim,
            "tcp": self._listen(socket.AF_INET, ("127.0.0.1", 0))[1],
            "tcp6": (self._listen(socket.AF_INET6, ("::1", 0)) or (0, 0))[1],
            "shared": self._listen(socket.AF_INET, ("127.0.0.1", 0), shared=True)[1],
            "udp": self._open_datagram_socket(socket.AF_INET, ("127.0.0.1", 0))[1],
            "datagram": self._open_datagram_socket(socket.AF_UNIX, str(self.root / "log.sock")),
            "address": self._address(),
            "network": str(Path("/proc/self/ns/net").readlink()) if sys.platform == "linux" else "",
            "abstract": abstract if self._listen(socket.AF_UNIX, f"\0{abstract}") else "",
            "socket": self._listen(socket.AF_UNIX, str(self.root / "service.sock")),
            "agent": self._listen(socket.AF_UNIX, str(self.home / "agent.sock")),
            "daemon": self._listen(socket.AF_UNIX, f"/run/{abstract}.sock")
            if os.access("/run", os.W_OK)
            else "",
            "vsock": self._open_vsock(),
            "terminal": self._open_terminal(),
            "scratch": str(self.root / "scratch"),
        }

    def _listen(self, family: int, address: Any, *, shared: bool = False) -> Any:
        """Accept and greet connections, and record what they send."""
        door = None
        try:
            door = socket.socket(family, socket.SOCK_STREAM)
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)
            door.bind(address)
        except OSError as error:
            if door is not None:
                door.close()
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENODEV):
                return None
            raise
        door.listen()
        self._closing.callback(close_socket, door)
        if family == socket.AF_UNIX and isinstance(address, str) and address.startswith("/"):
            self._closing.callback(Path(address).unlink, missing_ok=True)
        threading.Thread(target=self._greet, args=(door,), daemon=True).start()
        return door.getsockname()

    def _greet(self, door: socket.socket) -> None:
        while True:
            try:
                guest, _ = door.accept()
            except OSError:
                return
            with guest, contextlib.suppress(OSError):
                guest.sendall(self.secret.encode())

    def _open_datagram_socket(self, family: int, address: Any) -> Any:
        box = socket.socket(family, socket.SOCK_DGRAM)
        box.bind(address)
        self._closing.callback(close_socket, box)

        def listen() -> None:
            with contextlib.suppress(OSError):
                while data := box.recv(100):
                    self.heard.append(f"datagram {data!r}")

        threading.Thread(target=listen, daemon=True).start()
        return box.getsockname()

    def _address(self) -> tuple[str, int] | None:
        """Return the network address of this machine, or None."""
        table = Path("/proc/net/fib_trie")
        lines = table.read_text().splitlines() if table.exists() else []
        local = [above.split()[-1] for above, line in pairwise(lines) if "/32 host LOCAL" in line]
        address = next((address for address in local if not address.startswith("127.")), None)
        return tuple(self._listen(socket.AF_INET, (address, 0))) if address else None

    def _open_vsock(self) -> int:
        try:
            address = self._listen(40, (1, 4_000_000 + os.getpid() % 100_000))
        except OSError:
            return 0
        return int(address[1]) if address else 0

    def _open_terminal(self) -> str:
        main, self._own_end = pty.openpty()
        self._closing.callback(os.close, main)
        self._closing.callback(os.close, self._own_end)
        return os.ttyname(self._own_end)

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables that the user's shell exports."""
        variables = {
            **os.environ,
            "HOME": str(self.home),
            "ANTHROPIC_API_KEY": self.secret,
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        return {name: value for name, value in variables.items() if name != "VIRTUAL_ENV"}

    def state(self) -> dict[str, str]:
        """Return all that must stay unchanged, by path."""
        result = {}
        for place in (self.home, self.project, self.other.worktree, self.repository_directory):
            for path in sorted(place.rglob("*")):
                # An attack that has closed the directory is detected as well.
                with contextlib.suppress(PermissionError):
                    result[str(path)] = describe_path(path)
        return result

    @property
    def repository_directory(self) -> Path:
        return self.project / ".git"

    def damage(self) -> list[str]:
        """Return what has been changed outside the worktree, as sentences."""
        now = self.state()
        changes = [
            f"{path} was changed"
            for path in sorted(now.keys() | self.before.keys())
            if now.get(path) != self.before.get(path)
        ]
        changes += self.heard
        changes += [f"{path} was made" for path in Path("/etc").glob("coder-attack*")]
        if self._program.poll() is not None:
            changes.append("another program was killed")
        if self.survivors():
            changes.append("a process survived")
        waiting = array.array("i", [0])
        fcntl.ioctl(self._own_end, termios.FIONREAD, waiting)
        return [*changes, *(["something was typed into the terminal"] if waiting[0] else [])]

    def survivors(self) -> list[int]:
        return [pid for pid in marked_processes(self.mark) if pid != os.getpid()]

    def clear(self) -> None:
        """Terminate what an attack without a sandbox has left, and reset the recorded damage."""
        for pid in self.survivors():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        self.clear()
        for path in Path("/etc").glob("coder-attack*"):
            path.unlink()
        self._closing.close()
        shutil.rmtree(self.root, ignore_errors=True)


def close_socket(end: socket.socket) -> None:
    """Close a socket on which a thread waits, and end its wait.

    Otherwise, after a signal, it reads from whatever has the same descriptor by then.
    """
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def describe_path(path: Path) -> str:
    """Return content, mode, owners, modification time and extended attributes.
    Git changes the times of its directory, so these are left out.
    """
    status = path.lstat()
    ownership = f"{status.st_mode:o} {status.st_uid}:{status.st_gid} {list_attributes(path)}"
    if path.is_symlink():
        return f"link to {path.readlink()} {ownership} {status.st_mtime_ns}"
    return (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()} {ownership} {status.st_mtime_ns}"
        if path.is_file()
        else ownership
    )


def list_attributes(path: Path) -> list[tuple[str, bytes]]:
    names = sorted(os.listxattr(path, follow_symlinks=False)) if sys.platform == "linux" else []
    return [(name, os.getxattr(path, name, follow_symlinks=False)) for name in names]


@contextlib.contextmanager
def open_stage(root: Path) -> Iterator[Stage]:
    """Yield a stage in a directory of its own, with the user's home in the environment."""
    stage = Stage(root)
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(stage.home)
    try:
        (stage.worktree / "stage.json").write_text(json.dumps(stage.facts))
        yield stage
    finally:
        os.environ["HOME"] = before or ""
        stage.close()
