"""Messages on wrong use: in one or two lines what happened, what is true and what to do; exit code 2."""

import io
import json
import shlex
import subprocess
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from tests.builders import git, paragraphs, repo, write
from tests.portable import coder_command

FAILS = "fix 'It fails.' --offline --trust"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("errors")
    repo(place / "repository", {"a.py": "x = 1\n", "clock.py": "x = 2\n"})
    (place / "unborn").mkdir()
    git(place / "unborn", "init", "--quiet")
    (place / "none").mkdir()
    return place


@pytest.mark.loopback  # it looks for model servers of this machine
@pytest.mark.parametrize(
    "misuse", paragraphs("misuses/messages.txt"), ids=lambda text: text[2:].split("\n")[0]
)
def test_wrong_use_is_explained(
    misuse: str,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command, *surroundings, expected = misuse.split("\n")
    said = dict(line.split(" ", 1) for line in surroundings)
    monkeypatch.chdir(place / said.get("in", "repository"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    if variable := said.get("with"):
        monkeypatch.setenv(*variable.split("=", 1))
    write(tmp_path, {"config/coder/config.toml": said.get("set", "")})
    code = run_command_line(shlex.split(command.removeprefix("$")))
    message = capsys.readouterr().err
    assert message.startswith("coder: ")
    assert message.endswith(f"{expected.format(place=place)}\n")
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
