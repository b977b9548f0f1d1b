"""Findings of a project's own checkers about a change."""

import os
from pathlib import Path

import pytest

from coder.core.verdict import LintReport
from coder.sandbox.process import ProcessSandbox
from coder.verify.examine import LinterChecks, checkers_of
from tests.builders import find_project, write

OLD = "import os\n\n\ndef one():\n    return 1\n"
NEW = "import os\nimport sys\n\n\ndef one():\n    return 1\n"
CAREFUL = "[lint]\nselect = ['F']\n"


def compare_findings(
    tmp_path: Path,
    sandbox: ProcessSandbox,
    old: dict[str, str] | str,
    new: dict[str, str] | str,
    more: dict[str, str],
) -> LintReport:
    """Compare two versions of a.py, or of other files."""
    old, new = ({"a.py": files} if isinstance(files, str) else files for files in (old, new))
    write(tmp_path / "old", {**old, **more})
    write(tmp_path / "new", {**new, **more})
    project = find_project(tmp_path / "new", sandbox=sandbox, environment={})
    for path in [*(tmp_path / "old").rglob("*"), *(tmp_path / "new").rglob("*")]:
        os.utime(path, (1e9, 1e9))  # as may happen with two checkouts in one second
    return LinterChecks(project, sandbox).compare(tmp_path / "old", tmp_path / "new", sorted({*old, *new}))


@pytest.mark.parametrize(
    ("new", "more", "expected"),
    [
        (
            *(NEW, {"ruff.toml": CAREFUL}),
            LintReport(new=("ruff: a.py:2: F401 [*] `sys` imported but unused",), ran=("ruff",)),
        ),
        (f"# a\n{OLD}", {"ruff.toml": CAREFUL}, LintReport(ran=("ruff",))),
        (NEW, {".flake8": "", ".bandit": ""}, LintReport(missing=("flake8", "bandit"))),
    ],
    ids=["new", "moved lines", "missing checkers"],
)
def test_counts_only_new_findings(
    tmp_path: Path, sandbox: ProcessSandbox, new: str, more: dict[str, str], expected: LintReport
) -> None:
    assert compare_findings(tmp_path, sandbox, OLD, new, more) == expected


@pytest.mark.thorough
def test_runs_formatter_and_type_checker(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    more = {"pyproject.toml": "[tool.ruff.format]\n[tool.mypy]\n"}
    findings = compare_findings(tmp_path, sandbox, "x: int = 1\n", "x:  str = 1", more)
    assert findings.ran == ("ruff", "mypy")
    assert findings.new[0] == "ruff: a.py:1: is not formatted"
    assert findings.new[1].startswith("mypy: a.py:1: error: Incompatible types in assignment")
    assert not [*tmp_path.rglob(".mypy_cache")]


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("setup.cfg", "[flake8]\n", ["flake8"]),
        ("tox.ini", "[mypy]\n", ["mypy"]),
        ("pyproject.toml", "[tool.pylint.main]\n", ["pylint"]),
        ("pyproject.toml", "tool = 1\n", []),
    ],
)
def test_checkers_are_found_where_they_are_configured(
    file: str, text: str, names: list[str], tmp_path: Path
) -> None:
    write(tmp_path, {file: text})
    assert [checker.name for checker in checkers_of(tmp_path)] == names
