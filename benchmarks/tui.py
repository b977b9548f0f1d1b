"""The interface against a ten-line Textual app: start, memory, idle CPU, keys under load, long sessions.

Where tmux is installed, also a session of real work that is resized, suspended, interrupted and cut off.

Run: python -m benchmarks tui
"""

import asyncio
import fcntl
import os
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coder.core.events import CandidateForked, Event, MessageFinished, ToolFinished, ToolStarted
from coder.core.messages import AssistantMessage, ToolCall, ToolMessage
from coder.session.log import EventLog
from coder.ui.tui.prompt import Prompt
from tests.builders import repo
from tests.session.fakes import ticking_clock
from tests.ui.tui import story
from tests.ui.tui.fakes import replay_app, stage

RUNS = 7
KEY, KEY_SECONDS = "ß", 0.02
IDLE_SECONDS = 5.0
EVENTS_A_SECOND, LOAD_SECONDS = 500, 6.0
LONG_SESSION = 20_000
MOST_SECONDS = 60.0
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
TEN_LINES = """
from textual.app import App
from textual.widgets import Input


class TenLines(App):
    def compose(self):
        yield Input()


TenLines().run()
"""


@dataclass
class Terminal:
    """A program in a pseudo-terminal."""

    process: "subprocess.Popen[bytes]"
    file: int

    def type_until_shown(self, key: str) -> None:
        """Type a key again and again until the program shows it."""
        seen = b""
        deadline = time.monotonic() + MOST_SECONDS
        while key.encode() not in seen:
            if time.monotonic() > deadline:
                raise TimeoutError(seen[-2000:])
            os.write(self.file, key.encode())
            if select.select([self.file], [], [], KEY_SECONDS)[0]:
                seen += os.read(self.file, 65_536)

    def drain(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.file], [], [], left)[0]:
                os.read(self.file, 65_536)

    @property
    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS

    @property
    def megabytes(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.file)


def open_terminal(command: list[str], directory: Path, environment: dict[str, str]) -> Terminal:
    """Start a program in a terminal that echoes nothing by itself."""
    file, inside = pty.openpty()
    attributes = termios.tcgetattr(inside)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(inside, termios.TCSANOW, attributes)
    fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    os.close(inside)
    return Terminal(process, file)


def measure_start(command: list[str], directory: Path, environment: dict[str, str]) -> float:
    """Return the CPU seconds until a key is shown."""
    terminal = open_terminal(command, directory, environment)
    try:
        terminal.type_until_shown(KEY)
        return terminal.cpu_seconds
    finally:
        terminal.close()


def measure_rest(command: list[str], directory: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Return the megabytes and the share of a core that the program takes while nothing happens."""
    terminal = open_terminal(command, directory, environment)
    try:
        terminal.drain(IDLE_SECONDS)
        before = terminal.cpu_seconds
        terminal.drain(IDLE_SECONDS)
        return terminal.megabytes, (terminal.cpu_seconds - before) / IDLE_SECONDS
    finally:
        terminal.close()


def turn_events(number: int) -> list[Event]:
    call = ToolCall(id=f"c{number}", name="read", arguments='{"path": "clock.py"}')
    message = ToolMessage(call_id=call.id, name="read", text="line\n" * 40)
    return [
        MessageFinished(candidate="c1", message=AssistantMessage(text=f"I look, {number}.", calls=(call,))),
        ToolStarted(candidate="c1", call=call),
        ToolFinished(candidate="c1", message=message, seconds=0.1),
    ]


async def measure_keys() -> list[float]:
    """Return the seconds from each key to its letter in the prompt, while events stream in."""
    async with stage() as terminal:
        await terminal.fix(story.STARTED, CandidateForked(candidate="c1"))
        session = terminal.session
        waits = []
        is_done = False

        async def stream() -> None:
            started, sent = time.monotonic(), 0
            while not is_done:
                for event in turn_events(sent):
                    session.log.append(event)
                    sent += 1
                await asyncio.sleep(max(0.0, started + sent / EVENTS_A_SECOND - time.monotonic()))

        streaming = asyncio.ensure_future(stream())
        prompt = terminal.app.screen.query_one(Prompt)
        deadline = time.monotonic() + LOAD_SECONDS
        while time.monotonic() < deadline:
            length, started = len(prompt.text), time.monotonic()
            terminal.press_at_once("x")
            while len(prompt.text) == length:  # noqa: ASYNC110 (the prompt has no event for it)
                await asyncio.sleep(0)
            waits.append(time.monotonic() - started)
            await asyncio.sleep(0.1)
        is_done = True
        await streaming
        return waits


async def measure_opening(count: int) -> float:
    """Return the CPU seconds to open a stored session of so many events, until the last is shown."""
    log = EventLog(clock=ticking_clock())
    log.append(story.STARTED)
    log.append(CandidateForked(candidate="c1"))
    while len(log.records) < count - 1:
        for event in turn_events(len(log.records)):
            log.append(event)
    log.append(story.FINISHED)
    log.close()
    started = time.process_time()
    async with stage(replay_app(log)) as terminal:
        while "coder/clock-add-wraps-1a2b" not in terminal.text:
            await terminal.pilot.pause(0.02)
        return time.process_time() - started


BUGGY = {
    "clock.py": "def minutes(hours):\n    return hours * 61\n",
    "test_clock.py": "from clock import minutes\n\n\ndef test_two():\n    assert minutes(2) == 120\n",
}
SIZES = ((80, 24), (40, 12), (60, 16), (120, 36))
PASTED, REQUEST = "[pasted 300 lines]", "minutes(2) gives 122 instead of 120"


class Tmux:
    """A shell in a tmux server of its own."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self._environment = environment
        self.run("-f", "/dev/null", "new-session", "-d", "-x120", "-y36", "-c", str(directory), "sh")

    def run(self, *arguments: str, text: str = "") -> str:
        command = ["tmux", "-L", f"coder-{os.getpid()}", *arguments]
        return subprocess.run(
            command, input=text, env=self._environment, capture_output=True, text=True, check=True
        ).stdout

    def type(self, text: str, *keys: str) -> None:
        if text:
            self.run("send-keys", "-l", text)
        if keys:
            self.run("send-keys", *keys)

    def wait_for(self, *texts: str) -> str:
        """Return the screen as soon as it shows all texts."""
        deadline = time.monotonic() + MOST_SECONDS
        while True:
            screen = self.run("capture-pane", "-p")
            if all(text in screen for text in texts):
                return screen
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {texts} in\n{screen}")
            time.sleep(0.1)


def endure(repository: Path, environment: dict[str, str]) -> None:
    """Work in a terminal that is resized, suspended, interrupted and closed; raise if anything is lost."""
    coder = [sys.executable, "-m", "coder"]
    subprocess.run([*coder, "trust", str(repository)], env=environment, check=True)
    terminal = Tmux(repository, environment)
    try:
        terminal.type(" ".join(coder), "Enter")
        terminal.wait_for("What is wrong?", "sandbox")
        terminal.run("load-buffer", "-", text="".join(f"line {number}\n" for number in range(300)))
        terminal.run("paste-buffer", "-p")
        terminal.wait_for(PASTED)
        terminal.type("", "C-z")
        terminal.wait_for("Stopped")
        terminal.type("fg", "Enter")
        for columns, rows in SIZES:
            terminal.run("resize-window", f"-x{columns}", f"-y{rows}")
            terminal.wait_for(PASTED, f"╭─ fix {'─' * (columns - 8)}╮")
        terminal.type("", "C-u", "BSpace")
        terminal.type(REQUEST, "Enter")
        terminal.wait_for("locate")
        terminal.type("", "C-c")
        terminal.wait_for("Interrupted")
        terminal.type(REQUEST, "Enter")
        terminal.wait_for("verify")
        terminal.run("kill-server")
        terminal = Tmux(repository, environment)
        terminal.type(" ".join([*coder, "resume"]), "Enter")
        terminal.wait_for(REQUEST, "sandbox")
    finally:
        terminal.run("kill-server")
    left = [["status", "--porcelain"], ["stash", "list"]]
    if any(subprocess.check_output(["git", "-C", str(repository), *command]) for command in left):
        raise RuntimeError("the repository was touched")
    print("endured: paste, ctrl+z, four sizes, ctrl+c, a closed terminal; nothing was lost", flush=True)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        repository = repo(directory / "repository", {"clock.py": "HOURS = 24\n"})
        app = directory / "ten_lines.py"
        app.write_text(TEN_LINES, encoding="utf-8")
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "XDG_STATE_HOME": str(directory / "state"),
            "XDG_CONFIG_HOME": str(directory / "config"),
            "OLLAMA_HOST": "127.0.0.1:9",
        }
        commands = {"ten lines": [sys.executable, str(app)], "coder": [sys.executable, "-m", "coder"]}
        starts: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):
            for name, command in commands.items():
                starts[name].append(measure_start(command, repository, environment))
        base = statistics.median(starts["ten lines"])
        for name, times in starts.items():
            median = statistics.median(times)
            print(
                f"input accepted, {name:<10} {median * 1000:6.0f} ms CPU  {median / base:5.2f} x", flush=True
            )
        for name, command in commands.items():
            megabytes, share = measure_rest(command, repository, environment)
            print(f"at rest, {name:<10} {megabytes:6.0f} MB  {share:6.1%} of a core", flush=True)
        if shutil.which("tmux"):
            endure(repo(directory / "buggy", BUGGY), environment)
    waits = sorted(asyncio.run(measure_keys()))
    print(
        f"key to prompt at {EVENTS_A_SECOND} events/s: median {statistics.median(waits) * 1000:.0f} ms, "
        f"most {waits[-1] * 1000:.0f} ms ({len(waits)} keys)",
        flush=True,
    )
    empty, long = (
        statistics.median(asyncio.run(measure_opening(count)) for _ in range(RUNS))
        for count in (4, LONG_SESSION)
    )
    print(f"opened: empty {empty:.2f} s CPU, {LONG_SESSION:,} events {long:.2f} s CPU, {long / empty:.1f} x")
    return 0


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        raise SystemExit(main())
