"""Which question `git_history` asks."""

from pathlib import Path

from coder.tools.git_history import git_history
from tests.tools.fakes import called, refused, workspace


def test_asks_for_commits_of_a_path_or_with_a_word(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"src/box.py": ""})
    assert called(git_history, space) == "log None None None 10"
    assert called(git_history, space, path="./src/box.py", word="size") == "log src/box.py None size 10"


def test_asks_who_changed_a_range_of_at_most_sixty_lines(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"src/box.py": ""})
    assert called(git_history, space, path="src/box.py", line=3) == "blame src/box.py 3 3\nlog src/box.py (3, 3) None 10"
    assert called(git_history, space, path="src/box.py", line=3, last_line=999).startswith("blame src/box.py 3 62\n")


def test_shows_a_commit_and_names_what_it_names(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"src/box.py": ""})
    assert called(git_history, space, commit="abc123") == "show abc123 None: changed src/box.py:3"
    assert space.named == {"src/box.py": {3}}


def test_refuses_what_git_must_not_see(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    assert refused(git_history, space, commit="--output=/tmp/x").startswith("'--output=/tmp/x' is no commit.")
    assert "outside the repository" in refused(git_history, space, path="../x")
    assert refused(git_history, space, line=3) == "A line needs the path of its file."
    assert refused(git_history, space, commit="gone") == (
        "git cannot answer that: There is no commit 'gone' in this repository. Check the path, line and commit."
    )
