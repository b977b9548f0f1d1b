"""Search for the change that turned a test red."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.core.events import Event, FilesChanged, MessageFinished
from coder.core.values import AssistantMessage
from coder.core.verdict import TestReport
from coder.repo.git import find_git
from coder.wiring.regression import (
    Light,
    Observation,
    _resolve_test,
    find_first_bad,
    find_regression,
    minimize_failure,
    reply_diffs,
)
from tests.builders import git, repo, write
from tests.records import make_records


@pytest.mark.parametrize("guilty", [{3}, {0, 7}, {1, 2, 6}, {0, 1, 2, 3, 4, 5, 6, 7}])
def test_minimizes_to_guilty_items(guilty: set[int]) -> None:
    assert set(minimize_failure(range(8), guilty.issubset)) == guilty


@pytest.mark.parametrize(
    ("lights", "first_bad", "suspects"),
    [("ggggrrrr", 4, ()), ("grrrrrrr", 1, ()), ("gggu?rrr", 5, (3, 4)), ("gu?grr?r", 4, ())],
)
def test_bisects_past_untestable_commits(
    tmp_path: Path, lights: str, first_bad: int, suspects: tuple[int, ...]
) -> None:
    root = repo(tmp_path / "r", {"a": "0"})
    for number in range(1, len(lights)):
        git(root, "commit", "-q", "--allow-empty", "-m", str(number))
    commits = git(root, "rev-list", "--reverse", "HEAD").split()
    names: dict[str, Light] = {"g": "green", "r": "red", "u": "untestable", "?": "unsteady"}

    def observe(commit: str) -> Observation:
        return Observation(light=names[lights[commits.index(commit)]])

    bad, good, others = find_first_bad(find_git(root), goods=commits[:1], bad=commits[-1], observe=observe)
    assert commits.index(bad) == first_bad
    assert commits.index(good) == max(number for number in range(first_bad) if lights[number] == "g")
    assert sorted(map(commits.index, others)) == list(suspects)


def test_change_that_is_taken_back_is_no_replys() -> None:
    reply = MessageFinished(candidate="c1", message=AssistantMessage())
    changes = [FilesChanged(candidate="c1", paths=(), diff=diff) for diff in ("first", "second", "")]
    events: list[Event] = [reply, changes[0], reply, reply, changes[1], changes[2]]
    assert reply_diffs(make_records(*events)) == {1: "first", 3: "second"}


@pytest.mark.thorough
def test_blames_hunk_of_uncommitted_work_and_touches_nothing(tmp_path: Path) -> None:
    lines = "".join(f"LINE_{number} = {number}\n" for number in range(40))
    test = "from calc import double\n\n\ndef test_double() -> None:\n    assert double(3) == 6\n"
    files = {"calc.py": f"{lines}def double(x):\n    return x * 2\n", "tests/test_calc.py": test}
    root = repo(tmp_path / "r", {**files, ".gitignore": "__pycache__\n"})
    broken = files["calc.py"].replace("LINE_1 = 1", "LINE_1 = 11").replace("x * 2", "x * 3")
    write(root, {"calc.py": broken})
    before = git(root, "status", "--porcelain"), git(root, "for-each-ref"), git(root, "stash", "list")
    found = find_regression(
        root, "test_double", runs=1, test_command=f"{sys.executable} -m pytest", trusted=True, unsafe=True
    )
    assert (found.stage, found.test, found.removable) == ("work", "tests/test_calc.py::test_double", True)
    assert found.hunks == ("hunk 2 of calc.py",)
    assert "x * 3" in found.diff
    assert "LINE_1 " not in found.diff
    assert before == (
        git(root, "status", "--porcelain"),
        git(root, "for-each-ref"),
        git(root, "stash", "list"),
    )


@pytest.mark.thorough
def test_shallow_clone_is_named_where_all_of_it_is_red(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"test_calc.py": "def test_one():\n    pass\n"})
    for text in ("assert 0", "assert 0  # again"):
        write(root, {"test_calc.py": f"def test_one():\n    {text}\n"})
        git(root, "commit", "--quiet", "--all", "--message", text)
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{root}", "clone")
    command = f"{sys.executable} -m pytest"
    found = find_regression(
        tmp_path / "clone", "test_one", runs=1, test_command=command, trusted=True, unsafe=True
    )
    assert "git fetch --unshallow" in found.explanation


class Collected:
    """Runner that has collected some tests."""

    def collect(self, tree: Path, files: Sequence[str]) -> TestReport:
        ids = (
            "test_calc.py::TestCalc::test_double[3]",
            "test_calc.py::TestCalc::test_half",
            "test_other.py::test_half",
        )
        return TestReport(command="", collected=tuple(id for id in ids if id.partition("::")[0] in files))


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("test_double", "test_calc.py::TestCalc::test_double"),
        ("test_calc.py", "test_calc.py"),
        ("test_calc.py::TestCalc::test_inherited", "test_calc.py::TestCalc::test_inherited"),
        ("TestDouble/half", "TestDouble/half"),
    ],
)
def test_name_becomes_id_where_it_is_unique(tmp_path: Path, named: str, found: str) -> None:
    text = "class TestCalc(Base):\n    def test_double(self): pass\n    def test_half(self): pass\n"
    write(tmp_path, {"test_calc.py": text, "test_other.py": "def test_half(): pass\n"})
    assert _resolve_test(Collected(), tmp_path, named) == found  # type: ignore[arg-type]
    with pytest.raises(UserError, match="Several tests are called test_half: test_calc"):
        _resolve_test(Collected(), tmp_path, "test_half")  # type: ignore[arg-type]
