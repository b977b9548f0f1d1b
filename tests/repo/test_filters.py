from pathlib import Path

from coder.repo.filters import unused_filters
from coder.repo.git import find
from tests.builders import git, repo


def test_names_the_drivers_that_no_file_uses(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"a.dat": "a\n", ".gitattributes": "*.dat filter=used\n*.none filter=nobody.s\n"})
    assert unused_filters(find(root).git) == ()
    git(root, "config", "filter.used.clean", "cat")
    git(root, "config", "filter.nobody.s.smudge", "cat")
    git(root, "config", "filter.lfs.process", "git-lfs filter-process")
    assert unused_filters(find(root).git) == ("lfs", "nobody.s")
