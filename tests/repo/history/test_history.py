import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.errors import GitError, UserError
from coder.repo.git import find_checkout
from coder.repo.history import ExistingChange, GitHistory, resolve_change
from tests.builders import git, repo, write


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> GitHistory:
    """Return a history of three commits, which is only read."""
    root = repo(
        tmp_path_factory.mktemp("history") / "r",
        {"a.py": "one\ntwo\nthree\n", "b.py": "b\n"},
        message="first: begins",
    )
    write(root, {"a.py": "one\nTWO = overflow\nthree\n"})
    git(root, "commit", "-qam", "second: shouts")
    write(root, {"b.py": "B\n"})
    git(root, "commit", "-qam", "third: about the Overflow (#12)")
    return GitHistory(git=find_checkout(root).git, revision="HEAD")


def copy_of(history: GitHistory, directory: Path) -> GitHistory:
    root = shutil.copytree(history.git.directory, directory / "copy")
    return GitHistory(git=find_checkout(root).git, revision="HEAD")


def subjects_of(message: str) -> list[str]:
    return [line.split("Ada: ")[1] for line in message.splitlines()]


def test_lists_commits_touching_path_or_lines(history: GitHistory) -> None:
    assert subjects_of(history.log(path="a.py")) == ["second: shouts", "first: begins"]
    assert subjects_of(history.log(path="a.py", lines=(3, 3))) == ["first: begins"]


def test_finds_a_word_in_messages_and_in_changes(history: GitHistory) -> None:
    lines = history.log(word="overflow").splitlines()
    assert lines[0] == "In the message (whatever the case): overflow"
    assert subjects_of(lines[1]) == ["third: about the Overflow (#12)"]
    assert lines[2] == "Added or removed by the change: overflow"
    assert subjects_of(lines[3]) == ["second: shouts"]
    assert subjects_of(history.log(word="overflow", path="a.py").splitlines()[1]) == ["second: shouts"]
    assert history.log(word=".*") == ""


def test_time_limit_returns_partial_results(history: GitHistory) -> None:
    limited_history = replace(history, seconds=0.0)
    assert limited_history.log() == "[stopped after 0 s; older commits were not looked at]"
    with pytest.raises(GitError, match="did not end within 0 seconds"):
        limited_history.show("HEAD")


@pytest.mark.parametrize("revision", ["nothing", "--output=evil", "HEAD:a.py"])
def test_refuses_unknown_revision(history: GitHistory, revision: str) -> None:
    with pytest.raises(GitError, match="There is no commit"):
        history.show(revision)


def test_missing_path_or_line_gives_one_line_error(history: GitHistory) -> None:
    with pytest.raises(GitError, match="There is no path"):
        history.log(path="absent.py", lines=(1, 2))
    with pytest.raises(GitError, match="has only 3 lines"):
        history.log(path="a.py", lines=(40, 50))


SECRET = "hunter-of-secrets"


@pytest.fixture(scope="module")
def history_with_private_files(tmp_path_factory: pytest.TempPathFactory) -> GitHistory:
    """Return a history with private files added, renamed into a readable one, and changed beside code; it is
    only read.
    """
    root = repo(
        tmp_path_factory.mktemp("private") / "leaky",
        {".env": f"a=1\nb=2\nc=3\nd=4\nKEY={SECRET}\n", "deploy/key.pem": SECRET},
        message="private alone",
    )
    write(root, {"app.py": "x = 1\n", ".env": f"a=1\nb=2\nc=3\nd=4\ne=5\nKEY={SECRET}\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "both")
    git(root, "mv", ".env", "plain.txt")
    write(root, {"plain.txt": "a=1\nb=2\nc=3\nd=4\ne=5\n"})
    git(root, "commit", "-qam", "renamed")
    return GitHistory(git=find_checkout(root).git, revision="HEAD")


def test_searches_no_private_file(history_with_private_files: GitHistory, tmp_path: Path) -> None:
    history_with_private_files = copy_of(history_with_private_files, tmp_path)
    assert history_with_private_files.log(word=SECRET) == ""
    assert history_with_private_files.log(word=SECRET, path="deploy") == ""
    write(history_with_private_files.git.directory, {"app.py": f"x = '{SECRET}'\n"})
    git(history_with_private_files.git.directory, "commit", "-qam", "now in code")
    assert subjects_of(history_with_private_files.log(word=SECRET).split("\n", 1)[1]) == ["now in code"]


@pytest.mark.parametrize("revision", ["HEAD", "HEAD~1", "HEAD~2"])
def test_shows_no_private_file(history_with_private_files: GitHistory, revision: str) -> None:
    text = history_with_private_files.show(revision)
    assert SECRET not in text
    assert ".env: not shown, it may hold secrets" in text
    assert ("both" in text, "x = 1" in text) == (revision == "HEAD~1", revision == "HEAD~1")
    assert SECRET not in history_with_private_files.show(revision, "deploy")
    assert SECRET in replace(history_with_private_files, deny_read=()).show("HEAD~2")


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
