"""Queries that `git_history` makes."""

from pathlib import Path

from coder.tools.git_history import git_history
from tests.tools.fakes import call_refused_tool, call_tool, workspace


def test_queries_commits_by_path_or_word(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"src/box.py": ""})
    assert call_tool(git_history, space) == "log None None None 10"
    assert call_tool(git_history, space, path="./src/box.py", word="size") == "log src/box.py None size 10"


def test_queries_at_most_sixty_lines(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"src/box.py": ""})
    assert call_tool(git_history, space, path="src/box.py", line=3) == "log src/box.py (3, 3) None 10"
    answer = call_tool(git_history, space, path="src/box.py", line=3, last_line=999)
    assert answer == "log src/box.py (3, 62) None 10"


def test_shows_commit_and_registers_its_files(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"src/box.py": ""})
    assert call_tool(git_history, space, commit="abc123") == "show abc123 None: changed src/box.py:3"


def test_refuses_invalid_git_queries(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    assert call_refused_tool(git_history, space, commit="--output=/tmp/x").startswith(
        "'--output=/tmp/x' is no commit."
    )
    assert "leads out of the repository" in call_refused_tool(git_history, space, path="../x")
    assert (
        call_refused_tool(git_history, space, line=3)
        == "A line needs the path of its file, which search tells."
    )
    assert call_refused_tool(git_history, space, word="a\0b").startswith(
        "A word has at most 200 characters and no NUL."
    )
    assert call_refused_tool(git_history, space, commit="gone") == (
        "git cannot answer that: There is no commit 'gone' in this repository. Check the path, line "
        "and commit."
    )
