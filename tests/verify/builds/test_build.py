import sys
from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.sandbox.process import ProcessSandbox
from coder.verify.build import Build, Builder, BuiltTrees, find_build, separate_builds
from tests.builders import find_project, repo, write
from tests.repo.opened import open_session_repository

MESON = "[build-system]\nbuild-backend = 'mesonpy'\n"


class CountingBuilder(Builder):
    count = 0

    def build(self, tree: Path) -> Build:
        self.count += 1
        return super().build(tree)


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


@pytest.mark.parametrize(
    ("test", "own", "command", "kept"),
    [
        ("test/a.js", "", "tsc -p src && rollup", ()),
        ("test/a.ts", "", "", ("tsc -p src", "rollup")),
        ("test/a.js", "make", "make", ("tsc -p src", "rollup")),
    ],
)
def test_builds_of_a_script_are_made_once_unless_they_compile_tests(
    tmp_path: Path, sandbox: ProcessSandbox, test: str, own: str, command: str, kept: tuple[str, ...]
) -> None:
    scripts = '{"scripts": {"test": "tsc -p src && rollup && mocha"}}'
    write(tmp_path, {"package.json": scripts, test: "", "src/a.ts": "", "node_modules/.bin/mocha": ""})
    project = find_project(tmp_path, sandbox=sandbox, environment={}, test_command="npm test")
    separated, build_command = separate_builds(project, tmp_path, own)
    assert (separated.command.builds, build_command) == (kept, command)


@pytest.mark.parametrize(("target", "count"), [("built.txt", 2), ("test/built.js", 3)])
def test_each_content_of_sources_is_built_once(
    tmp_path: Path, sandbox: ProcessSandbox, target: str, count: int
) -> None:
    """Where tests are built, too, the base with the tests of the change has a build of its own."""
    root = repo(tmp_path / "r", {"a.txt": "old", "test/a.js": "", ".gitignore": "built*\n"})
    project = find_project(root, sandbox=sandbox, environment={}, test_command=f"{sys.executable} -m pytest")
    builder = CountingBuilder(
        project, sandbox=sandbox, limits=Limits(), command=f"cat a.txt test/a.js > {target}"
    )
    with open_session_repository(root) as repository:
        candidate = repository.create_candidate("c1")
        write(candidate.worktree, {"a.txt": "new", "test/a.js": " tested"})
        patch = repository.candidate_patch(candidate)
        trees, read = BuiltTrees(repository, builder), {}
        assert trees.prepare(patch.tree) is None
        for side, paths in {"base": (), "tests": ("test/a.js",), "change": None}.items():
            with trees.checkout(patch.tree, paths) as place:
                read[side] = (place / target).read_text()
    tested = " tested" if count == 3 else ""
    assert (read["base"], read["tests"], read["change"]) == ("old", f"old{tested}", "new tested")
    assert builder.count == count
