"""Directories of importable code."""

import os
from pathlib import Path

import pytest

from coder.verify.layout import module_name, source_roots
from tests.builders import projects, write


@pytest.mark.parametrize(("files", "roots", "_given"), projects("hints/roots.txt"))
def test_finds_import_roots(tmp_path: Path, files: dict[str, str], roots: list[str], _given: str) -> None:
    write(tmp_path, files)
    assert [root.relative_to(tmp_path).as_posix() for root in source_roots(tmp_path)] == roots


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/pkg/module.py", "pkg.module"),
        ("src/pkg/__init__.py", "pkg"),
        ("other/deep/module.py", "deep.module"),
        ("src/pkg/data.json", None),
        ("src/pkg/not-a-name.py", None),
    ],
)
def test_module_name_matches_import(tmp_path: Path, path: str, name: str | None) -> None:
    write(tmp_path, {"src/pkg/__init__.py": "", "other/deep/__init__.py": ""})
    assert module_name(path, tmp_path) == name


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_passes_over_directory_that_must_not_be_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "data/x": ""})
    (tmp_path / "data").chmod(0)
    try:
        assert source_roots(tmp_path) == (tmp_path,)
    finally:
        (tmp_path / "data").chmod(0o700)
