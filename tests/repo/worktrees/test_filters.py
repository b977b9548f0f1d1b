from pathlib import Path

from coder.repo.git import find_checkout
from coder.repo.worktrees import find_filter_drivers, find_tracked_filter_drivers
from tests.builders import git, repo

ATTRIBUTES = "*.dat filter=used\n*.none filter=nobody.s\n"


def test_finds_tracked_files_under_configured_filters_only(tmp_path: Path) -> None:
    root = repo(
        tmp_path / "r", {"a.dat": "a\n", "b.none": "b\n", "c.py": "c\n", ".gitattributes": ATTRIBUTES}
    )
    assert find_tracked_filter_drivers(find_checkout(root).git) == {}
    git(root, "config", "filter.used.clean", "cat")
    assert find_tracked_filter_drivers(find_checkout(root).git) == {"a.dat": "used"}


def test_an_include_may_configure_any_filter(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"a.dat": "a\n", "b.none": "b\n", ".gitattributes": ATTRIBUTES})
    git(root, "config", "include.path", "../.gitconfig")
    assert find_filter_drivers(find_checkout(root).git, ["a.dat", "b.none"]) == {
        "a.dat": "used",
        "b.none": "nobody.s",
    }
