from pathlib import Path

import pytest

from coder.core.errors import GitError
from coder.repo.git import find
from coder.repo.history import GitHistory
from tests.builders import git, repo, write


@pytest.fixture
def history(tmp_path: Path) -> GitHistory:
    root = repo(tmp_path / "r", {"a.py": "one\ntwo\nthree\n", "b.py": "b\n"}, message="first: begins")
    write(root, {"a.py": "one\nTWO = overflow\nthree\n"})
    git(root, "commit", "-qam", "second: shouts")
    write(root, {"b.py": "B\n"})
    git(root, "commit", "-qam", "third: about the Overflow (#12)")
    return GitHistory(git=find(root).git, revision="HEAD")


def subjects(told: str) -> list[str]:
    return [line.split("Ada: ")[1] for line in told.splitlines()]


def test_tells_the_newest_commits_first(history: GitHistory) -> None:
    assert subjects(history.log(count=2)) == ["third: about the Overflow (#12)", "second: shouts"]


def test_tells_which_commits_touched_a_path_or_its_lines(history: GitHistory) -> None:
    assert subjects(history.log(path="a.py")) == ["second: shouts", "first: begins"]
    assert subjects(history.log(path="a.py", lines=(3, 3))) == ["first: begins"]


def test_finds_a_word_in_messages_and_then_in_changes(history: GitHistory) -> None:
    assert subjects(history.log(word="overflow")) == ["third: about the Overflow (#12)", "second: shouts"]
    assert subjects(history.log(word="overflow", path="a.py")) == ["second: shouts"]
    assert history.log(word=".*") == ""


def test_blames_a_range(history: GitHistory) -> None:
    lines = history.blame("a.py", 2, 3).splitlines()
    assert [line.split(") ", 1)[1] for line in lines] == ["TWO = overflow", "three"]


def test_shows_a_commit_limited_to_a_path(history: GitHistory) -> None:
    assert "+TWO = overflow" in history.show("HEAD~1")
    assert "+TWO" not in history.show("HEAD~1", "b.py")


def test_starts_no_program_that_the_configuration_names(history: GitHistory, tmp_path: Path) -> None:
    root = history.git.directory
    write(root, {".git/info/attributes": "*.py diff=evil\n"})
    for key in ("diff.external", "diff.evil.textconv", "diff.evil.command", "gpg.program", "core.pager"):
        git(root, "config", key, f"touch {tmp_path}/ran; cat")
    git(root, "config", "log.showSignature", "true")
    history.show("HEAD")
    history.log(path="a.py", lines=(1, 2))
    history.blame("a.py", 1, 2)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("revision", ["nothing", "--output=evil", "HEAD:a.py"])
def test_what_is_no_commit_is_refused(history: GitHistory, revision: str) -> None:
    with pytest.raises(GitError, match="There is no commit"):
        history.show(revision)


def test_a_missing_path_or_line_is_an_error_in_one_line(history: GitHistory) -> None:
    with pytest.raises(GitError, match="no such path"):
        history.blame("absent.py", 1, 2)
    with pytest.raises(GitError, match="has only 3 lines"):
        history.log(path="a.py", lines=(40, 50))
