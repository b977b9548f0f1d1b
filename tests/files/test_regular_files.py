import os
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.files.regular_files import read_regular
from coder.repo.artifacts import copy_artifacts
from coder.repo.history import resolve_change
from coder.settings import collect_settings
from coder.verify.layout import pytest_options
from coder.verify.project import find_hints
from tests.builders import repo, write


@pytest.mark.parametrize("target", ["/proc/self/environ", "/dev/zero", "../outside"])
def test_reads_and_copies_nothing_through_link(tmp_path: Path, target: str) -> None:
    write(tmp_path, {"outside": "secret\n", "tree/inside": "x\n"})
    link = tmp_path / "tree" / "version.txt"
    link.symlink_to(target)
    (tmp_path / "copy").mkdir()
    assert read_regular(link) is None
    assert (
        copy_artifacts({"version.txt": "version.txt"}, source=tmp_path / "tree", target=tmp_path / "copy")
        == set()
    )
    link.unlink()
    link.symlink_to("inside")
    assert read_regular(link) == b"x\n"


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "Makefile"])
def test_skips_pipe_in_place_of_configuration(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert list(find_hints(tmp_path)) == []
    pytest_options(tmp_path)
    assert collect_settings(tmp_path, environment={"XDG_CONFIG_HOME": str(tmp_path / "none")})


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes"])
def test_reports_pipe_that_git_would_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    root = repo(tmp_path / "r", {"a.py": "a\n"})
    write(root, {"a.py": "changed\n"})
    os.mkfifo(root / name)
    with pytest.raises(UserError, match=rf"{name} is not a regular file.* Remove it"):
        resolve_change(root, revision=None, against=None)
