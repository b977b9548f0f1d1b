"""Change and base that `coder verify` selects."""

import shutil
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.repo.history import ExistingChange, resolve_change
from tests.builders import git, repo, write


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return `main` with two commits, and a branch `topic` that left it after the first; it is only read."""
    root = repo(tmp_path_factory.mktemp("change") / "r", {"a.py": "A = 1\n"})
    git(root, "checkout", "--quiet", "-b", "topic")
    _commit(root, "a.py", "A = 2\n", "A is two")
    _commit(root, "a.py", "A = 3\n", "A is three")
    git(root, "checkout", "--quiet", "main")
    _commit(root, "b.py", "B = 1\n", "B is one")
    return root


def _commit(root: Path, name: str, text: str, message: str) -> None:
    write(root, {name: text})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message)


def _resolve(root: Path, revision: str) -> str:
    return git(root, "rev-parse", revision)


def _is_change(change: ExistingChange, root: Path, base: str, revision: str) -> bool:
    return (change.base, change.tree) == (_resolve(root, base), _resolve(root, f"{revision}^{{tree}}"))


def test_compares_uncommitted_work_with_head(root: Path, tmp_path: Path) -> None:
    root = shutil.copytree(root, tmp_path / "copy")
    write(root, {"b.py": "B = 2\n", "new.py": ""})
    change = resolve_change(root, revision=None, against=None)
    assert change.base == _resolve(root, "HEAD")
    assert git(root, "show", f"{change.tree}:b.py") == "B = 2"
    assert git(root, "ls-tree", "--name-only", change.tree).split() == ["a.py", "b.py", "new.py"]
    assert git(root, "status", "--porcelain").split() == ["M", "b.py", "??", "new.py"]


def test_compares_branch_with_merge_base(root: Path) -> None:
    change = resolve_change(root, revision="topic", against=None)
    assert _is_change(change, root, "main~1", "topic")
    assert change.message == "A is three\n\nA is two"


def test_compares_commit_with_parent(root: Path) -> None:
    assert _is_change(
        resolve_change(root, revision=_resolve(root, "topic")[:12], against=None), root, "topic~1", "topic"
    )
    assert _is_change(resolve_change(root, revision="main", against=None), root, "main~1", "main")


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        (None, "no uncommitted work"),
        ("nothing", "no revision 'nothing'"),
        ("main~1", "the first commit"),
        ("main..main", "no change to judge"),
    ],
)
def test_reports_nothing_to_verify(root: Path, revision: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        resolve_change(root, revision=revision, against=None)


@pytest.mark.parametrize("path", ["../missing.diff", "docs/../missing.diff", ".../x"])
def test_path_is_no_range(root: Path, path: str) -> None:
    with pytest.raises(UserError, match=f"There is no revision '{path}' here, and no such file"):
        resolve_change(root, revision=path, against=None)
