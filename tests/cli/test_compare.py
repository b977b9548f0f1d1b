"""`coder compare` as a command, on a real suite."""

import json
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from tests.builders import git, repo, write

SUMS = "def double(x):\n    return 2 * x\n\n\ndef show(x):\n    return str(x)\n"
FILES = {
    "sums.py": SUMS,
    "notes.txt": "one\n",
    "test_sums.py": """\
import unittest
import sums


class Sums(unittest.TestCase):
    def test_double(self):
        self.assertEqual(sums.double(2), 4)
        sums.show(3)
""",
}
CHANGES = {
    "equal": {"sums.py": SUMS.replace("2 * x", "x + x")},
    "other": {"sums.py": SUMS.replace("2 * x", "x ** 2")},
    "moved": {
        "sums.py": "from other import double\n\n\ndef show(x):\n    return str(x)\n",
        "other.py": "def double(x):\n    return x * 2\n",
    },
    "renamed": {"sums.py": SUMS.replace("double", "twice")},
    "broken": {"sums.py": SUMS.replace("2 * x", "x + x"), "test_sums.py": "import nothing_here\n"},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = repo(tmp_path_factory.mktemp("compared") / "sums", FILES)
    for name, files in CHANGES.items():
        git(place, "checkout", "-q", "-b", name, "main")
        write(place, files)
        git(place, "add", "-A")
        git(place, "commit", "-q", "-m", name)
    git(place, "checkout", "-q", "main")
    return place


@pytest.mark.parametrize(
    ("name", "code", "call"),
    [
        pytest.param("equal", 0, "", marks=pytest.mark.thorough),
        ("moved", 0, ""),
        ("other", 1, "double(3)"),
        ("renamed", 7, ""),
    ],
)
def test_tells_whether_calls_are_answered_alike(
    place: Path, name: str, code: int, call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compare", f"main..{name}", "--repo", str(place), "--test", "python -m unittest"]
    assert run_command_line([*arguments, "--trust", "--json"]) == code
    output = json.loads(capsys.readouterr().out)
    assert output["exit_code"] == code
    assert bool(output["changed"]) == (code == 1)
    examples = [row["call"] for function in output["functions"] for row in function["examples"]]
    assert call in examples if call else not examples
    assert output["calls"] > 0


def test_equal_trees_are_the_same(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "main..main", "--repo", str(place), "--trust"]
    assert run_command_line(arguments) == 0
    assert "main is the same as" in capsys.readouterr().out
    assert run_command_line([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["functions"] == []


def test_compares_environments(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    arguments = ["compare", "--environment", sys.prefix, "--repo", str(place), "--test", "python -m unittest"]
    assert run_command_line([*arguments, "--trust"]) == 0
    assert "the same on" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["main..nowhere"], "no revision 'nowhere'"),
        ([], "There is no uncommitted work to judge"),
        (["main..other", "--test", "make test"], "Behavior is compared for"),
        (["--environment", "nowhere"], "nowhere is no virtual environment"),
    ],
)
def test_says_what_cannot_be_compared(
    place: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["compare", *arguments, "--repo", str(place), "--trust"]) == 2
    assert message in capsys.readouterr().err
