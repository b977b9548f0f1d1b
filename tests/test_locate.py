"""`coder locate` as a user and a script call it."""

import io
import json
import os
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from tests.builders import write

FILES = {
    "shop/cart.py": 'class Cart:\n    def total(self, coupon):\n        raise ValueError("no coupon")\n',
    "shop/mail.py": "def send(message):\n    print(message)\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write(tmp_path / "tree", FILES)
    return tmp_path / "tree"


def test_names_pipe_in_place_of_ignore_file(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tree / ".gitignore")
    assert run_command_line(["locate", "`Cart.total` ignores the coupon", "--repo", str(tree)]) == 2
    assert ".gitignore is not a regular file" in capsys.readouterr().err


def test_json_has_files_symbols_and_reasons(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree.parent / "issue.md").write_text("`Cart.total` ignores the coupon\n", encoding="utf-8")
    assert run_command_line(["locate", "--repo", str(tree), f"@{tree.parent / 'issue.md'}", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert list(payload) == ["files", "symbols", "reasons"]
    assert (payload["files"][0], payload["symbols"][0]) == ("shop/cart.py", "shop/cart.py::Cart.total")
    assert "its name says total" in payload["reasons"]["shop/cart.py::Cart.total"]


def test_the_issue_may_be_a_file_or_standard_input(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "issue.md").write_text("send prints", encoding="utf-8")
    monkeypatch.chdir(tree)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"send prints")))
    answers = []
    for issue in ("send prints", "@issue.md", "-"):
        assert run_command_line(["locate", issue]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] == answers[2]
    assert "shop/mail.py" in answers[0]
