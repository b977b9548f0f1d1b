"""`coder batch` as a command, with sessions in this process."""

import json
from pathlib import Path

import pytest

from coder.cli import batch
from coder.cli.app import run_command_line
from coder.core.attestation import Attestation
from tests.builders import repo
from tests.walls import flags
from tests.wiring.executor import PicklingExecutor

FILES = {
    "sums.py": "def double(x):\n    return x + 1\n",
    "test_sums.py": (
        "from unittest import TestCase\n\nfrom sums import double\n\n\nclass Sums(TestCase):\n"
        "    def test_double(self):\n        self.assertEqual(double(2), 4)\n"
        "        self.assertEqual(double(5), 10)\n"
    ),
}


def test_fixes_issues_once_and_reports_what_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batch, "open_executor", lambda place: PicklingExecutor())
    monkeypatch.chdir(repo(tmp_path / "r", FILES))
    rows = [
        {"id": "double", "issue": "test_double of test_sums.py fails.", "strategy": "offline"},
        {"id": "gone", "issue": "x", "repo": "gone"},
    ]
    (tmp_path / "list.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows) + "no JSON\n", encoding="utf-8"
    )
    command = ["batch", str(tmp_path / "list.jsonl"), "--test", "python -m unittest", "--trust", *flags()]
    assert run_command_line(command) == 1
    output = capsys.readouterr()
    assert output.out.splitlines()[:2] == [
        "1 of 3 done: 1 PROVEN; $0.0000",
        "not done  line 3: it is no JSON",
    ]
    assert output.out.splitlines()[2].startswith(f"not done  gone: {tmp_path / 'gone'} is not a directory")
    folder = Path("batch-list/double")
    evidence = Attestation.model_validate_json((folder / "evidence.json").read_bytes())
    assert evidence.verdict.label == "PROVEN"
    assert "+    return x + x" in (folder / "fix.diff").read_text(encoding="utf-8")
    assert json.loads((folder / "events.jsonl").read_text(encoding="utf-8").splitlines()[0]) == {"format": 3}
    assert Path("sums.py").read_text(encoding="utf-8") == FILES["sums.py"]
    assert run_command_line(command) == 2
    assert "--resume" in capsys.readouterr().err
    assert run_command_line([*command, "--resume"]) == 1
    table = Path("batch-list/table.md").read_text(encoding="utf-8").splitlines()[2:]
    assert [row.split(" | ")[:2] for row in table] == [
        ["| double", "PROVEN"],
        ["| gone", "not done"],
        ["| line 3", "not done"],
    ]
    assert "is not a directory" in table[1] and "it is no JSON" in table[2]
    assert "2 issues, 1 of them done before" in capsys.readouterr().err
