"""Options, and wrong use of them."""

import io
import json
import shlex
import subprocess
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.cli.options import (
    Options,
    drop_removed_options,
    read_issue,
    refuse_conflicts,
    typed_mentions,
)
from coder.cli.running import check_writable
from coder.core.errors import UserError
from tests.builders import git, paragraphs, repo, write
from tests.portable import coder_command


@pytest.mark.parametrize(
    ("argument", "issue", "mentions"),
    [
        ("@issue.md see @a.py", "It fails\nnow.\n\nsee @a.py", "see @a.py"),
        ("@a.py is wrong", "@a.py is wrong", "@a.py is wrong"),
        ("@Box.size is wrong", "@Box.size is wrong", "@Box.size is wrong"),
        ("it fails in @a.py", "it fails in @a.py", "it fails in @a.py"),
        ("@issue.md", "It fails\nnow.", ""),
        ("@shot.PNG", "@shot.PNG", "@shot.PNG"),
        ("@shot.PNG is wrong", "@shot.PNG is wrong", "@shot.PNG is wrong"),
    ],
)
def test_issue_files_differ_from_mentions(
    argument: str, issue: str, mentions: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("issue.md").write_bytes(b"It fails\r\nnow.\r\n")
    Path("a.py").write_text("x = 1\n")
    Path("shot.PNG").write_bytes(b"\x89PNG")
    assert (read_issue(argument), typed_mentions(argument).strip()) == (issue, mentions)


@pytest.mark.parametrize("words", ["@a.py " + "x" * 400, "д" * 200, "@ README.md please"])
def test_text_that_cannot_name_a_file_is_the_issue(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("It fails.\n")
    assert (read_issue(words), typed_mentions(words)) == (words, words)


def test_output_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="The diff cannot be written to"):
        check_writable(tmp_path / "missing" / "fix.diff", kind="diff")
    check_writable(tmp_path / "fix.diff", kind="diff")


def test_one_session_is_continued_at_a_time() -> None:
    assert [Options(continues=True).continued_session, Options(session="1a").continued_session] == [
        "last",
        "1a",
    ]
    with pytest.raises(UserError, match=r"--session names .*: it cannot be combined with --continue"):
        refuse_conflicts({"continues": True, "session": "1a"})


@pytest.mark.parametrize(
    ("words", "rest", "messages"),
    [
        ("apply last --force", "apply last", "--force no longer exists: no fix is refused.\n"),
        ("fix x --force", "fix x --force", ""),
        ("fix --color=red --color blue x", "fix x", "--color no longer exists: none.\n" * 2),
        ("fix -- --color blue", "fix -- --color blue", ""),
        ("fix --color", "fix", "--color no longer exists: none.\n"),
    ],
)
def test_removed_options_are_passed_over_with_one_line(
    words: str,
    rest: str,
    messages: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    removed = {
        "apply --force": "no fix is refused",
        "--color VALUE": "none",
    }
    monkeypatch.setattr("coder.cli.options.REMOVED_OPTIONS", removed)
    assert list(drop_removed_options(words.split())) == rest.split()
    assert capsys.readouterr().err == messages


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
