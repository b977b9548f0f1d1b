"""Messages on wrong use: in one or two lines what happened, what is true and what to do; exit code 2."""

import io
import json
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from tests.builders import git, repo, write
from tests.portable import coder_command

MESSAGES = {
    "fix x --tset y": "coder fix has no option --tset. Did you mean --test? All options: coder fix --help",
    "log show --nonsense": "coder log show has no option --nonsense. All options: coder log show --help",
    "fix x --no-offline-first": (
        "coder fix has no option --no-offline-first. It is a setting: CODER_OFFLINE_FIRST=... for one "
        "run, or offline_first in your config.toml (see coder config)."
    ),
    "fix x --url-host=x": (
        "coder fix has no option --url-host. It is a setting: url_hosts in your config.toml"
        " (see coder config)."
    ),
    "vrify": "coder has no command 'vrify'. Did you mean verify? All commands: coder --help",
    "log shwo": "coder log has no command 'shwo'. Did you mean show? All commands: coder log --help",
    "'f returns 1'": (
        "A message alone opens the interface, which needs a terminal. In a pipe: coder fix 'f returns 1'"
    ),
    '"it\'s wrong"': (
        "A message alone opens the interface, which needs a terminal. In a pipe: coder fix 'it'\"'\"'s wrong'"
    ),
    "@notes.md": (
        "A message alone opens the interface, which needs a terminal. In a pipe: coder fix @notes.md"
    ),
    "fix": (
        "coder fix needs ISSUE (what is wrong: text, @file, or - for standard input). See coder fix --help"
    ),
    "hook install": (
        "coder hook install needs AGENT: claude, codex, gemini, qwen (when a turn ends) or git (before a "
        "push). See coder hook install --help"
    ),
    "hook": "coder hook needs a command: install, remove, status, run. See coder hook --help",
    "verify --evidence": "Option '--evidence' requires an argument. See coder verify --help",
    "undo a b": "coder undo does not take the further words 'b'. See coder undo --help",
    "fix x --attempts many": (
        "Invalid value for '--attempts': it should be a whole number. See coder fix --help"
    ),
    "hook install claud": (
        "'claud' is not one of 'claude', 'codex', 'gemini', 'qwen', 'git', 'copilot', 'cursor', "
        "'opencode', 'vibe'. Did you mean claude? See coder hook install --help"
    ),
    "hook install copilot": (
        "Copilot CLI runs Claude Code's hooks where it trusts the directory: coder hook install claude"
    ),
    "config set a b": "coder config set does not exist. Settings are set in a file: see coder config",
    "config explain minimise": "'minimise' no longer exists: the review marks the hunks that no test needs.",
    "config explain atempts": "'atempts' is no setting. Did you mean attempts? All settings: coder config",
    "fix 'It fails.' --offline --trust --test 'pytset -q'": (
        "The test command 'pytset -q' cannot start: there is no program 'pytset'. Did you mean pytest? "
        "Name a command, such as 'python -m pytest', or ids of tests, such as tests/test_a.py::test_b."
    ),
    "fix x --repo absent": "absent is not a directory; name the repository to work in.",
    "resume": "No session yet in {place}/repository.",
    "apply": "No diff came on standard input. To apply the newest fix: coder apply last",
    "": "The interface needs a terminal. In a pipe: coder fix 'what is wrong'. All commands: coder --help",
    "verify deadbeef --trust": (
        "There is no revision 'deadbeef' here, and no such file; git log shows what there is."
    ),
}
"""The end of the message by command line."""
FAILS = "fix 'It fails.' --offline --trust"


@dataclass(frozen=True, kw_only=True)
class Misuse:
    """A command line in surroundings that matter, and the end of its message."""

    command: str = FAILS
    message: str
    directory: str = "repository"
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""


MISUSES = (
    *(Misuse(command=command, message=message) for command, message in MESSAGES.items()),
    Misuse(
        command="config",
        settings="atempts = 3",
        message="config.toml sets 'atempts', which is no setting. Did you mean attempts? All settings: coder "
        "config",
    ),
    Misuse(
        command="config",
        settings='attempts = "many"',
        message="config.toml: attempts = 'many' is not valid: it should be a whole number. Explained: coder "
        "config explain attempts",
    ),
    Misuse(
        environment={"CODER_APPROVE": "ful"},
        message="CODER_APPROVE: approve = 'ful' is not valid: it should be 'read-only', 'ask', 'auto-edit' "
        "or 'full'. Did you mean full? Explained: coder config explain approve",
    ),
    Misuse(
        environment={"XDG_STATE_HOME": "/dev/null"},
        message="coder keeps its state in /dev/null/coder: make that yours to write, or name another place "
        "with XDG_STATE_HOME.",
    ),
    Misuse(
        directory="none",
        message="none is not inside a git repository. Start coder in one, or make one: git init, git add, "
        "git commit.",
    ),
    Misuse(
        directory="unborn",
        message="unborn has no commits yet; make a first one (git add, git commit) and try again.",
    ),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("errors")
    repo(place / "repository", {"a.py": "x = 1\n"})
    (place / "unborn").mkdir()
    git(place / "unborn", "init", "--quiet")
    (place / "none").mkdir()
    return place


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: misuse.command[:40])
def test_wrong_use_is_explained(
    misuse: Misuse,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place / misuse.directory)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    for name, value in misuse.environment.items():
        monkeypatch.setenv(name, value)
    write(tmp_path, {"config/coder/config.toml": misuse.settings})
    code = run_command_line(shlex.split(misuse.command))
    message = capsys.readouterr().err
    assert message.startswith("coder: ")
    assert message.endswith(f"{misuse.message.format(place=place)}\n")
    assert (code, message.count("\n")) == (2, 1)


def test_named_test_that_does_not_exist_is_wrong_use(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place / "repository")
    code = run_command_line([*shlex.split(FAILS), "--test", "tests/test_gone.py::test_x"])
    last = capsys.readouterr().out.splitlines()[-1]
    assert (code, last) == (2, "stopped  --test: tests/test_gone.py::test_x: there is no such test")


def test_removed_current_directory_is_one_sentence_and_silence_in_hooks(tmp_path: Path) -> None:
    def run(arguments: str, event: str = "") -> tuple[int, str]:
        gone = tmp_path / "gone"
        gone.mkdir()
        command = f'rmdir "{gone}" && exec {shlex.join(coder_command())} {arguments}'
        ran = subprocess.run(
            ["sh", "-c", command], cwd=gone, input=event, capture_output=True, text=True, check=False
        )
        return ran.returncode, ran.stdout + ran.stderr

    sentence = "coder: The current directory no longer exists. Change to one that does.\n"
    assert [run(words) for words in ("verify", "mcp serve", "log")] == [(2, sentence)] * 3
    event = {"hook_event_name": "Stop", "session_id": "a", "cwd": str(tmp_path / "gone")}
    assert run("hook run claude", json.dumps(event)) == (0, "")
