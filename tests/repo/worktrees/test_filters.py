from pathlib import Path

import pytest

from coder.repo.git import find_checkout
from coder.repo.worktrees import filter_notices, find_filter_drivers, find_tracked_filter_drivers
from tests.builders import git, repo, write

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


def test_counts_filters_of_user_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"user": '[filter "nobody.s"]\n\tsmudge = cat\n'})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "user"))
    root = repo(tmp_path / "r", {"b.none": "b\n", ".gitattributes": ATTRIBUTES})
    assert find_tracked_filter_drivers(find_checkout(root).git) == {"b.none": "nobody.s"}


def test_a_notice_names_the_driver_and_its_files() -> None:
    (line,) = filter_notices({"b.bin": "lfs", "a.bin": "lfs"})
    assert line.startswith("The git filter lfs is not run: a.bin, b.bin are worked on as they are committed")
