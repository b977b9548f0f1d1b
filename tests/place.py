"""A user's repository and state, and the command line run in them: in this process, or in one of its own."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TextIO
from unittest import mock

from coder.cli.app import run_command_line
from tests.builders import git, repo
from tests.models.fakes import FakeServer, Turn
from tests.portable import coder_command
from tests.walls import flags

FILES = {
    "clock.py": (
        'def minutes(text):\n    hours, rest = text.split(":")\n    return int(hours) * 60 - int(rest)\n'
    ),
    "test_clock.py": (
        "from unittest import TestCase\n\nfrom clock import minutes\n\n\nclass ClockTest(TestCase):\n"
        "    def test_half_past_nine(self):\n        self.assertEqual(minutes('09:30'), 570)\n\n"
        "    def test_full_hour(self):\n        self.assertEqual(minutes('09:00'), 540)\n"
    ),
    ".gitignore": "__pycache__/\n",
}
QUICK = {"pyproject.toml": "[tool.coder]\ntest = 'python -m unittest'\n"}
"""Has the tests run by unittest, which starts in a tenth of pytest's time."""
ISSUE = "test_clock.py::ClockTest::test_half_past_nine fails."
FIX = (
    "--- a/clock.py\n+++ b/clock.py\n@@ -3 +3 @@\n-    return int(hours) * 60 - int(rest)\n"
    "+    return int(hours) * 60 + int(rest)\n"
)
WORSE = FIX.replace("+ int(rest)", "+ 2 * int(rest)")


def call(name: str, **arguments: Any) -> tuple[str, str]:
    return name, json.dumps(arguments)


PATCH = Turn(text="Minutes are added to the hours.", calls=(call("apply_patch", diff=FIX),))
LOOK = Turn(calls=(call("search", pattern="minutes"),))


class Place:
    """A repository and the state of a user who has never run coder."""

    def __init__(self, root: Path, *, runner: Literal["unittest", "pytest"] = "unittest") -> None:
        self.repository = repo(root / "repository", {**FILES, **(QUICK if runner == "unittest" else {})})
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if name in ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV")
            },
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_CONFIG_HOME": str(root / "config"),
            "CODER_OFFLINE_FIRST": "false",
            "CODER_BEHAVIOR_SECONDS": "0",  # a third of the time of a verdict
            "OLLAMA_HOST": "127.0.0.1:9",
        }

    def arguments(self, *arguments: str) -> tuple[str, ...]:
        runs = arguments[:1] in (("fix",), ("demo",), ("verify",))
        return (*arguments, *(flags() if runs else ()))

    def command(self, *arguments: str) -> list[str]:
        """Return the command line that starts coder in a process of its own."""
        return coder_command(*self.arguments(*arguments))

    def coder(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command line in this process."""
        return run_coder(
            self.arguments(*arguments), directory=self.repository, environment=self.environment, stdin=stdin
        )

    def process(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command line in a process of its own."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.repository,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a process of coder, whose output is read as one."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def fix(self, server: FakeServer, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `coder fix` with a model and without the search that precedes it, which would find this fix
        as well.
        """
        return self.coder(*fix_arguments(server), *arguments)

    def start_fix(self, server: FakeServer, *arguments: str) -> "subprocess.Popen[str]":
        return self.start(*fix_arguments(server), *arguments)

    def user_state(self) -> dict[str, Any]:
        """Return everything of the user's that must stay unchanged, byte for byte."""
        files = (path for path in self.repository.rglob("*") if path.is_file() and ".git" not in path.parts)
        return {
            "files": {str(path): path.read_bytes() for path in files},
            "index": (self.repository / ".git" / "index").read_bytes(),
            "head": git(self.repository, "rev-parse", "HEAD"),
            "branches": git(self.repository, "for-each-ref", "refs/heads", "refs/stash"),
        }

    def traces(self) -> tuple[str, str]:
        """Return what a session leaves while it works: its private refs and its worktrees."""
        return git(self.repository, "for-each-ref", "refs/coder"), git(
            self.repository, "worktree", "list", "--porcelain"
        ).partition("\n\n")[2]


def fix_arguments(server: FakeServer) -> tuple[str, ...]:
    return ("fix", ISSUE, "--base-url", f"{server.url}/v1", "--model", "fake", "--trust")


def run_coder(
    arguments: Sequence[str], *, directory: Path, environment: dict[str, str], stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command line in this process as in one of its own that has no terminal."""
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "argv", ["coder", *arguments]),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
        tempfile.TemporaryFile("w+", encoding="utf-8") as stdout,
        tempfile.TemporaryFile("w+", encoding="utf-8") as stderr,
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        contextlib.chdir(directory),
        _signal_handlers_restored(),
    ):
        code = run_command_line(list(arguments))
        outputs = [_read(stream) for stream in (stdout, stderr)]
    return subprocess.CompletedProcess(list(arguments), code, *outputs)


def _read(stream: TextIO) -> str:
    stream.seek(0)
    return stream.read()


@contextlib.contextmanager
def _signal_handlers_restored() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)
    handlers = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
