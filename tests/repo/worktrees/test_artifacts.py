import json
from pathlib import Path

from coder.repo.artifacts import (
    copy_artifacts,
    find_ignored_paths,
    find_meson_modules,
    select_artifacts,
)
from coder.repo.git import find_checkout
from tests.builders import repo, write

IGNORE = """
_version.py
*.so
*.egg-info/
.env*
.venv/
environment/
build/
node_modules/
__pycache__/
*_pb2.py
local_settings.py
generated/
"""


def test_finds_test_artifacts_without_caches_or_secrets(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {".gitignore": IGNORE, "src/a.py": "a\n"})
    expected = {
        "src/_version.py": "1\n",
        "src/fast.cpython-311-x86_64-linux-gnu.so": "\0",
        "src/r.egg-info/entry_points.txt": "x\n",
        "src/wire_pb2.py": "x\n",
        "generated/deep/_version.py": "1\n",
    }
    unwanted = {
        ".env": "KEY=secret\n",
        ".venv/lib/fast.so": "\0",
        "environment/pyvenv.cfg": "\n",
        "environment/lib/fast.so": "\0",
        "build/lib/fast.so": "\0",
        "node_modules/x/version.py": "\n",
        "src/__pycache__/_version.py": "\n",
        "local_settings.py": "KEY='secret'\n",
        "src/a.cpython-311-x86_64-linux-gnu.so": "compiled from a.py",
    }
    write(root, expected | unwanted)
    ignored_paths = find_ignored_paths(find_checkout(root).git)
    assert select_artifacts(root, ignored_paths) == tuple(sorted(expected))


def test_copies_artifacts_where_path_is_free(tmp_path: Path) -> None:
    write(
        tmp_path / "source", {"pkg/_version.py": "theirs\n", "pkg/fast.so": "built\n", "taken.so": "theirs\n"}
    )
    write(tmp_path / "target", {"taken.so": "tracked\n"})
    copied_paths = copy_artifacts(
        {path: path for path in ("pkg/_version.py", "pkg/fast.so", "taken.so", "vanished.so")},
        source=tmp_path / "source",
        target=tmp_path / "target",
    )
    assert copied_paths == {"pkg/_version.py", "pkg/fast.so"}
    write(tmp_path / "target", {"pkg/_version.py": "changed\n"})
    assert (tmp_path / "source" / "pkg" / "_version.py").read_text(encoding="utf-8") == "theirs\n"
    assert (tmp_path / "target" / "taken.so").read_text(encoding="utf-8") == "tracked\n"


def test_copy_does_not_follow_link(tmp_path: Path) -> None:
    write(tmp_path / "source", {"pkg/_version.py": "theirs\n"})
    (tmp_path / "outside").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "pkg").symlink_to(tmp_path / "outside")
    assert (
        copy_artifacts(
            {"pkg/_version.py": "pkg/_version.py"}, source=tmp_path / "source", target=tmp_path / "target"
        )
        == set()
    )
    assert list((tmp_path / "outside").iterdir()) == []


def test_finds_modules_built_by_meson_beside_their_packages(tmp_path: Path) -> None:
    def plan(*sections: dict[str, str]) -> str:
        python, targets = (
            {path: {"destination": place} for path, place in part.items()} for part in sections
        )
        return json.dumps({"python": python, "targets": targets})

    python = {f"{tmp_path}/lib/pkg/__init__.py": "{py_platlib}/pkg/__init__.py"}
    targets = {
        f"{tmp_path}/build/cp311/fast.so": "{py_platlib}/pkg/fast.so",
        f"{tmp_path}/build/cp311/top.so": "{py_platlib}/top.so",
        f"{tmp_path}/build/cp311/version.py": "{py_platlib}/pkg/version.py",
        f"{tmp_path}/build/cp311/tool": "{bindir}/tool",
        f"{tmp_path}/build/cp311/up.so": "{py_platlib}/../../up.so",
        "/usr/lib/elsewhere.so": "{py_platlib}/pkg/elsewhere.so",
    }
    write(
        tmp_path,
        {
            "build/cp311/meson-info/intro-install_plan.json": plan(python, targets),
            "build/cp312/meson-info/intro-install_plan.json": "[1]",
        },
    )
    assert find_meson_modules(tmp_path) == {
        "lib/pkg/fast.so": "build/cp311/fast.so",
        "lib/pkg/version.py": "build/cp311/version.py",
        "top.so": "build/cp311/top.so",
    }


def test_copies_packages_of_composer(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {".gitignore": "vendor/\n", "src/Half.php": "<?php\n"})
    files = {"autoload.php": "<?php\n", "composer/installed.json": "{}", "org/pkg/version.txt": "1\n"}
    write(root / "vendor", files)
    paths = select_artifacts(root, find_ignored_paths(find_checkout(root).git))
    (tmp_path / "target").mkdir()
    copy_artifacts({path: path for path in paths}, source=root, target=tmp_path / "target")
    found = (path for path in (tmp_path / "target").rglob("*") if path.is_file())
    assert {path.relative_to(tmp_path / "target" / "vendor").as_posix() for path in found} == {*files}
