"""`coder build` up to the session: directories, plans and options."""

from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from tests.builders import git, write

FIX_PLAN = "1. It is two.\n   - files: a.py\n"


@pytest.fixture(autouse=True)
def in_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run_command_line(["build", "A tool", *words])
    return code, capsys.readouterr().err


def test_new_directory_becomes_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, message = run("--into", "deep/new", "--model", "nobody:x", capsys=capsys)
    assert code == 2 and "nobody" in message
    assert git(tmp_path / "deep" / "new", "log", "--format=%s") == "Begin"
    assert git(tmp_path / "deep" / "new", "status", "--short") == ""


@pytest.mark.parametrize(
    ("files", "directory", "reason"),
    [
        ({"there/a.txt": ""}, "there", "there holds files and is no repository"),
        ({"there": ""}, "there", "there holds files and is no repository"),
        ({"there": ""}, "there/new", "there/new cannot be made: Not a directory"),
    ],
)
def test_refuses_directory_with_other_content(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], directory: str, reason: str
) -> None:
    write(tmp_path, files)
    code, message = run("--into", directory, capsys=capsys)
    assert code == 2 and reason in message and message.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--plan", "plan.md"), "plan.md is the plan of a fix"),
        (("--plan", "plan.md", "--plan-only"), "--plan runs a plan: it cannot be combined with --plan-only."),
        (("--plan", "broken.md"), "broken.md holds no plan: a has no tests"),
        (("--plan", "none.md"), "'none.md' cannot be read"),
    ],
)
def test_refuses_what_is_no_plan_of_components(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reason: str
) -> None:
    write(tmp_path, {"plan.md": FIX_PLAN, "broken.md": "1. a: It is.\n   - path: a.py\n"})
    code, message = run(*words, capsys=capsys)
    assert code == 2 and reason in message
