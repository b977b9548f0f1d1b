"""Interrupted sessions at drawn moments: time until every process is gone, and what is left behind.

    python -m benchmarks interrupts [--runs 20] [--load 3] [--project PATH] [verify] [fix]

`verify` and `fix` interrupt `coder verify` and `coder fix --offline`, with SIGINT and SIGTERM in turn, at
moments drawn from the duration of a run that nothing interrupts; every fourth is started with SIGINT
ignored. The repository has slow tests with children that ignore both signals and with daemons; with
--project, the tests of a copy of a checkout, whose uncommitted change is the judged one. `phase` is that of
the last event before the signal. Left behind are worktrees, locks, private references and temporary files;
what the user has must be as before.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from coder.sandbox.launcher import descendants, parents

LIMIT_SECONDS = 2.0
PATIENCE_SECONDS = 60.0
KINDS = ("verify", "fix")
MODULE = (
    "def total(prices):\n    return sum(prices) - 1\n\n\n"
    "def largest(prices):\n    best = 0\n    for price in prices:\n        if price > best:\n"
    "            best = price\n    return best\n"
)
FIXED = MODULE.replace("sum(prices) - 1", "sum(prices)")
TARGET_TEST = "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n"
SLOW_TESTS = """
import os, subprocess, sys, time
import pytest
import shop

DEAF = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (2, 15)]; time.sleep(600)"


@pytest.mark.parametrize("number", range({count}))
def test_slow(number):
    if number % 10 == 3:
        subprocess.Popen([sys.executable, "-c", DEAF])
    if number % 40 == 7 and os.fork() == 0:
        os.setsid()
        os.execv(sys.executable, [sys.executable, "-c", DEAF])
    time.sleep({seconds})
    assert shop.largest([number, 1000]) == 1000
    assert shop.total([]) < 1
"""
AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org")


@dataclass(frozen=True)
class Place:
    """A repository with an uncommitted fix, and the state of its user."""

    root: Path
    repository: Path

    @property
    def environment(self) -> dict[str, str]:
        names = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")
        return {
            **{name: os.environ[name] for name in names if name in os.environ},
            "TMPDIR": str(self.root / "tmp"),
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "OLLAMA_HOST": "127.0.0.1:9",
        }

    def start(self, *arguments: str, ignoring: bool = False) -> "subprocess.Popen[bytes]":
        """Start coder as a shell does: in a process group of its own.

        With `ignoring`, SIGINT is ignored there, as in background jobs of a script.
        """
        before = signal.signal(signal.SIGINT, signal.SIG_IGN) if ignoring else None
        try:
            return self._start(arguments)
        finally:
            if ignoring:
                signal.signal(signal.SIGINT, before)

    def _start(self, arguments: Sequence[str]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", "coder", *arguments, "--trust"],
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=(self.root / "output").open("wb"),
            stderr=subprocess.STDOUT,
            process_group=0,
        )

    def git(self, *arguments: str) -> str:
        command = ("git", "--no-optional-locks", *AUTHOR, *arguments)
        return subprocess.run(command, cwd=self.repository, check=True, capture_output=True, text=True).stdout

    def user_state(self) -> tuple[str, ...]:
        """Return what is the user's: files, index, branches and stash."""
        refs = self.git("for-each-ref", "refs/heads/main", "refs/stash")
        return (self.git("diff", "HEAD"), self.git("status", "--porcelain"), self.git("ls-files", "-s"), refs)

    def newest_event(self) -> str:
        """Return the kind of the last event of the newest session, and its phase."""
        logs = sorted(self.root.glob("state/coder/sessions/*/events.jsonl"))
        lines = logs[-1].read_text(encoding="utf-8").splitlines()[1:] if logs else []
        events = [json.loads(line)["event"] for line in lines if line.endswith("}")]
        return next((str(event.get("type")) for event in reversed(events)), "start")

    def leftovers(self) -> list[str]:
        """Return what an ended session must not leave, as paths and references."""
        directory = self.repository / ".git"
        paths = [
            *directory.rglob("*.lock"),
            *directory.glob("worktrees/*"),
            *self.root.glob("state/coder/sessions/*/worktrees"),
            *self.root.glob("state/coder/sessions/*/removed-*"),
            *self.root.glob("tmp/coder-*"),
        ]
        refs = self.git("for-each-ref", "--format=%(refname)", "refs/coder").split()
        return [*(str(path.relative_to(self.root)) for path in paths), *refs]


def make_place(root: Path, project: Path | None, *, tests: int, seconds: float) -> Place:
    """Make a repository, or copy the one of a project with its uncommitted change."""
    place = Place(root, root / "repository")
    for name in ("tmp", "state", "config"):
        (root / name).mkdir(parents=True)
    if project is not None:
        shutil.copytree(project, place.repository, symlinks=True)
        return place
    place.repository.mkdir()
    slow = SLOW_TESTS.format(count=tests, seconds=seconds)
    for name, text in {"shop.py": MODULE, "test_slow.py": slow, ".gitignore": "__pycache__/\n"}.items():
        (place.repository / name).write_text(text, encoding="utf-8")
    (place.repository / "test_total.py").write_text(TARGET_TEST, encoding="utf-8")
    place.git("init", "-q", "--initial-branch=main")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "start")
    (place.repository / "shop.py").write_text(FIXED, encoding="utf-8")
    return place


def living(place: Place, known: set[int]) -> dict[int, str]:
    """Return the processes that are of a run, with their command lines.

    They are known, or their environment names the place; those that only delete files do not count.
    """
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            is_ours = (
                int(process.name) in known or os.fsencode(place.root) in (process / "environ").read_bytes()
            )
            if is_ours and state != "Z" and "removed-" not in command:
                found[int(process.name)] = command
    return found


@dataclass(frozen=True)
class Ending:
    """What became of one interrupted run."""

    seconds: float
    phase: str
    problems: tuple[str, ...]


def wait_for_end(
    place: Place, known: set[int], running: "subprocess.Popen[bytes]"
) -> tuple[float, list[str]]:
    """Return the seconds until all processes are gone, and those that are late; kill those that stay."""
    late: list[str] = []
    began = time.monotonic()
    while time.monotonic() < began + PATIENCE_SECONDS:
        running.poll()
        found = living(place, known)
        if not found:
            return time.monotonic() - began, late
        if not late and time.monotonic() > began + LIMIT_SECONDS:
            late = [f"late: {pid} {command[-80:]}" for pid, command in found.items()]
        time.sleep(0.02)
    for pid in living(place, known):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return time.monotonic() - began, late


def interrupt(place: Place, number: signal.Signals, running: "subprocess.Popen[bytes]") -> Ending:
    """Interrupt a process as a terminal (its group) or `kill` does, and watch how it ends."""
    before, phase, pid = place.user_state(), place.newest_event(), running.pid
    known = {pid, *descendants(pid, parents())}
    with contextlib.suppress(ProcessLookupError):
        if number is signal.SIGINT:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    seconds, late = wait_for_end(place, known, running)
    problems = [*late, *(f"left: {name}" for name in place.leftovers())]
    problems += [] if place.user_state() == before else ["THE USER'S STATE HAS CHANGED"]
    return Ending(seconds, phase, tuple(problems))


def arguments_of(kind: str) -> tuple[str, ...]:
    if kind == "fix":
        return ("fix", "--offline", "test_total.py::test_total fails.")
    return ("verify",)


def run_once(
    place: Place, kind: str, number: signal.Signals, delay: float, *, ignoring: bool
) -> Ending | None:
    """Interrupt one run; None if it had ended before."""
    if kind == "fix":
        place.git("stash", "-q")
    running = place.start(*arguments_of(kind), ignoring=ignoring)
    time.sleep(delay)
    if running.poll() is not None:
        return None
    return interrupt(place, number, running)


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    started = [subprocess.Popen(["yes"], stdout=subprocess.DEVNULL) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def time_whole_run(place: Place, kind: str) -> float:
    """Return the seconds of a run that nothing interrupts."""
    if kind == "fix":
        place.git("stash", "-q")
    began = time.monotonic()
    place.start(*arguments_of(kind)).wait()
    return time.monotonic() - began


def measure(kind: str, options: argparse.Namespace, root: Path) -> bool:
    """Interrupt so many runs of one kind and print how they ended; return whether all did as they must."""
    draw = random.Random(options.seed)
    settings = {"tests": options.tests, "seconds": options.seconds}
    span = options.span
    if span is None:
        span = time_whole_run(make_place(root / f"{kind}-whole", options.project, **settings), kind)
        print(f"{kind}: a whole run takes {span:.1f} s", flush=True)
    endings: list[Ending] = []
    for turn in range(options.runs):
        place = make_place(root / f"{kind}-{turn}", options.project, **settings)
        number = (signal.SIGINT, signal.SIGTERM)[turn % 2]
        delay = draw.uniform(0.1, span)
        with load(options.load):
            ending = run_once(place, kind, number, delay, ignoring=turn % 4 == 2)
        if ending is None:
            print(f"  {number.name} after {delay:.1f} s: had ended", flush=True)
            continue
        endings.append(ending)
        problems = "; ".join(ending.problems)
        print(
            f"  {number.name} after {delay:5.1f} s, {ending.phase:<20} "
            f"gone in {ending.seconds:5.2f} s  {problems}",
            flush=True,
        )
        shutil.rmtree(place.root, ignore_errors=True)
    times = sorted(ending.seconds for ending in endings) or [0.0]
    late = sum(seconds > LIMIT_SECONDS for seconds in times)
    unclean = sum(bool(ending.problems) for ending in endings)
    print(
        f"{kind}: {len(endings)} interrupts, median {statistics.median(times):.2f} s, "
        f"slowest {times[-1]:.2f} s, {late} over {LIMIT_SECONDS:g} s, {unclean} left something",
        flush=True,
    )
    return not late and not unclean


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--load", type=int, default=3, metavar="N", help="busy processes beside each run")
    parser.add_argument("--tests", type=int, default=200, help="slow tests of the made repository")
    parser.add_argument("--seconds", type=float, default=0.2, help="duration of each")
    parser.add_argument(
        "--span", type=float, metavar="S", help="draw moments from so many seconds; default: from a whole run"
    )
    parser.add_argument("--project", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="interrupts-") as root:
        return not all([measure(kind, options, Path(root)) for kind in options.kinds or KINDS])


if __name__ == "__main__":
    raise SystemExit(main())
