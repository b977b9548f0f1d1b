"""`coder bench` as a command: real sessions in separate processes, with a scripted model."""

import json
from pathlib import Path

import pytest

from coder.bench.runner import read_outcomes
from coder.cli.app import run_command_line
from tests.builders import write

WRONG = "def double(x):\n    return x + 1\n"
DIFF = (
    "--- a/sums.py\n+++ b/sums.py\n@@ -1,2 +1,2 @@\n def double(x):\n-    return x + 1\n+    return {new}\n"
)
TEST = """from unittest import TestCase

from sums import double


class Sums(TestCase):
    def test_{name}(self):
        self.assertEqual(double({given}), {wanted})
"""


def write_suite(place: Path, **fixes: str) -> str:
    """Create tasks of one module each, whose script makes `double` return its argument; unittest starts in
    a tenth of pytest's time.
    """
    for name, new in fixes.items():
        step = {
            "text": "Doubled.",
            "calls": [{"name": "apply_patch", "arguments": {"diff": DIFF.format(new=new)}}],
        }
        files = {
            "task.toml": 'test = "python -m unittest"\n',
            "issue.md": "test_double of test_sums.py fails.\n",
            "repository/sums.py": WRONG,
            "repository/test_sums.py": TEST.format(name="double", given=2, wanted=4),
            "hidden/test_more.py": TEST.format(name="more", given=5, wanted=10),
            "script.jsonl": json.dumps(step) + "\n",
        }
        write(place / name, files)
    return str(place)


@pytest.mark.thorough
def test_judges_and_stores_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = write_suite(tmp_path / "two", right="x * 2", special="4 if x == 2 else x + 1")
    arguments = ["bench", place, "--model", "scripted", "--max-requests", "3", "--on", "local:2"]
    assert run_command_line(arguments) == 0
    output = capsys.readouterr()
    assert output.err.count("hidden tests") == 2
    result = {outcome.job.task: outcome for outcome in read_outcomes(Path("bench-two/runs.jsonl"))}
    assert (result["right"].proven, result["right"].passes_hidden, result["right"].spent.requests) == (
        True,
        True,
        1,
    )
    assert {role: spent.requests for role, spent in result["right"].roles.items()} == {"executor": 1}
    assert (result["special"].passes_hidden, result["special"].hidden.failed) == (False, 1)
    assert {path.name for path in Path("bench-two").iterdir()} >= {"table.md", "results.csv"}
    assert run_command_line(arguments) == 0
    assert capsys.readouterr().err == "2 of 2 runs are there already.\n"


def test_reports_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["bench", "starter", "--strategy", "linear"]) == 2
    assert run_command_line(["bench", "nowhere"]) == 2
    assert run_command_line(["bench", "starter", "--on", "ray"]) == 2
    output = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in output] == ["coder"] * 3
    assert not list(tmp_path.iterdir())
