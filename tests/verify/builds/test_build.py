import sys
from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.sandbox.process import ProcessSandbox
from coder.verify.build import Build, Builder, find_build
from tests.builders import find_project, write

MESON = "[build-system]\nbuild-backend = 'mesonpy'\n"


def build(tree: Path, sandbox: ProcessSandbox, command: str) -> Build:
    project = find_project(tree, sandbox=sandbox, environment={}, test_command=f"{sys.executable} -m pytest")
    return Builder(project, sandbox=sandbox, limits=Limits(), command=command).build(tree)


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"setup.py": "setup(ext_modules=[])"}, "python setup.py build_ext --inplace --force"),
        ({"setup.py": "setup()"}, ""),
        (
            {"a b/setup.py": "setup(cffi_modules=[])", "setup.py": "setup(ext_modules=[])"},
            "(cd 'a b' && python setup.py build_ext --inplace --force)",
        ),
        (
            {"a b/pyproject.toml": MESON, "a b/src/pkg/__init__.py": ""},
            "(cd 'a b' && python -m pip install --quiet --no-index --no-deps --no-build-isolation --upgrade "
            "--target src .)",
        ),
        (
            {"pyproject.toml": "[tool.setuptools]\next-modules = []\n"},
            "python -c 'import setuptools; setuptools.setup()' build_ext --inplace --force",
        ),
    ],
)
def test_detects_build_of_nearest_project(files: dict[str, str], command: str, tmp_path: Path) -> None:
    write(tmp_path, files)
    assert find_build("a b/pkg.pyx", tmp_path) == command


def test_takes_what_a_named_command_writes(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    write(tmp_path / "tree", {"a.txt": "1", "b.txt": "2"})
    command = "mkdir dist && cp a.txt dist/c.txt && python -c \"open('b.txt', 'w').write('3')\""
    assert build(tmp_path / "tree", sandbox, command) == Build(files={"b.txt": b"3", "dist/c.txt": b"1"})


def test_failed_build_names_first_error(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    write(tmp_path / "tree", {"a.txt": "1"})
    failed = build(tmp_path / "tree", sandbox, "echo 'x.c:1:2: error: bad name'; echo more; exit 3")
    assert failed == Build(error="x.c:1:2: error: bad name", output="x.c:1:2: error: bad name\nmore")
