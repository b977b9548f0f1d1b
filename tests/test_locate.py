"""`coder locate` as a user and a script call it."""

import io
import json
import os
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from tests.builders import repo, write

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


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a trusted repository with a failing test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    checks = (
        "from calc import add, double\n\ndef test_add():\n    assert add(1, 2) == 3\n\n"
        "def test_double():\n    assert double(2) == 4\n"
    )
    source = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n"
    root = repo(tmp_path / "project", {"calc.py": source, "test_calc.py": checks})
    assert run_command_line(["trust", str(root)]) == 0
    capsys.readouterr()
    return root


def test_failing_tests_point_to_functions(failing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["locate", "--tests", "--unsafe-no-sandbox", "--repo", str(failing), "--json"]
    assert run_command_line(command) == 0
    payload = json.loads(capsys.readouterr().out)
    assert (payload["failing"], payload["problem"]) == (["test_calc.py::test_add"], "")
    assert [suspect["place"] for suspect in payload["suspects"]] == ["calc.py::add"]
    assert sorted(path.name for path in failing.iterdir()) == [".git", "calc.py", "test_calc.py"]


@pytest.mark.thorough
def test_failing_tests_come_before_other_reasons(failing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["locate", "adding is wrong", "--tests", "--unsafe-no-sandbox", "--repo", str(failing)]
    assert run_command_line(command) == 0
    head = (
        "Executed by failing tests (1) and less by passing ones\n 1  add\n      calc.py:2, suspicion 1.00\n\n"
    )
    assert capsys.readouterr().out.startswith(head)
