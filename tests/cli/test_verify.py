"""`coder verify` in projects whose tests need files that git ignores, and in an unfinished merge."""

from pathlib import Path

import pytest

from tests.builders import git, write
from tests.place import Place


def test_names_unresolved_conflicts(tmp_path: Path) -> None:
    place = Place(tmp_path)
    git(place.repository, "checkout", "-q", "-b", "other")
    for branch, text in (("other", "A = 1\n"), ("main", "A = 2\n")):
        git(place.repository, "checkout", "-q", branch)
        write(place.repository, {"clock.py": text})
        git(place.repository, "commit", "-qam", "change")
    with pytest.raises(AssertionError, match="git merge"):
        git(place.repository, "merge", "-q", "--no-commit", "other")
    before = place.user_state()
    result = place.coder("verify", "--trust")
    assert (result.returncode, result.stdout) == (2, "")
    assert (
        "coder: Merge conflicts are not resolved in clock.py: resolve them, or name a commit" in result.stderr
    )
    fixed = place.coder("fix", "it is wrong", "--offline", "--trust")
    assert "Merge conflicts are not resolved in clock.py: tests that use them fail." in fixed.stdout
    assert place.user_state() == before


def test_removed_format_is_answered_in_one_line(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write(place.repository, {"README.md": "Prose.\n"})
    result = place.coder("verify", "--trust", "--format", "json")
    assert (result.returncode, result.stdout.split()[0]) == (3, "PASSING")
    assert "--format no longer exists: coder log evidence" in result.stderr
