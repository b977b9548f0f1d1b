import sys
from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.sandbox.process import ProcessSandbox
from coder.verify.extensions import Build, ExtensionBuilder, ExtensionProject, find_projects, linked_libraries
from coder.verify.project import find_project
from tests.builders import write

BACKEND = """
import zipfile

def build_wheel(directory):
    with zipfile.ZipFile(f"{directory}/pkg-1-cp311-cp311-linux_x86_64.whl", "w") as wheel:
        for name in ("pkg/fast.so", "pkg/fast.py", "other/fast.so", "pkg/../../up.so", "/tmp/absolute.so"):
            wheel.writestr(name, "built from " + open("pkg.pyx").read())
"""
"""Backend in the tree, under the name of one that compiles extension modules."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a checkout with a nested project that has such a backend."""
    files = {
        "setup.py": "from setuptools import setup\nsetup()\n",
        "nested/pyproject.toml": "[build-system]\nbuild-backend = 'mesonpy'\n",
        "nested/mesonpy.py": BACKEND,
        "nested/pkg.pyx": "source",
        "nested/src/pkg/__init__.py": "",
    }
    write(tmp_path / "tree", files)
    return tmp_path / "tree"


def build(tree: Path, sandbox: ProcessSandbox) -> Build:
    project = find_project(tree, sandbox=sandbox, environment={}, test_command=f"{sys.executable} -m pytest")
    builder = ExtensionBuilder(project, sandbox=sandbox, scratch=sandbox.scratch, limits=Limits())
    return builder.build(tree, find_projects(["nested/pkg.pyx"], tree))


def test_reads_linked_libraries_of_module() -> None:
    content = b"\x7fELF\0__gmon_start__\0libz.so.1\0PyInit_x\0libstdc++.so.6\0notlib.so\0"
    assert linked_libraries(content) == {"libz.so.1", "libstdc++.so.6"}


def test_nearest_project_with_extension_modules_counts(tree: Path) -> None:
    assert find_projects(["nested/src/deep/x.c", "nested/pkg.pyx", "main.c"], tree) == (
        ExtensionProject(directory="nested", backend="mesonpy"),
    )


def test_takes_modules_of_wheel_into_source_packages_only(tree: Path, sandbox: ProcessSandbox) -> None:
    assert build(tree, sandbox) == Build(modules={"nested/src/pkg/fast.so": b"built from source"})


def test_build_without_modules_fails_with_output(tree: Path, sandbox: ProcessSandbox) -> None:
    write(tree, {"nested/mesonpy.py": "def build_wheel(directory):\n    print('nothing to do')\n"})
    assert build(tree, sandbox) == Build(error="the build makes no extension module", output="nothing to do")
    write(tree, {"nested/mesonpy.py": "raise SystemExit('x.pyx:1:2: error: bad name')"})
    assert build(tree, sandbox).error == "x.pyx:1:2: error: bad name"
