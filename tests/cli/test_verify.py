"""`coder verify` in projects whose tests need files that git ignores, and in an unfinished merge."""

import shutil
from pathlib import Path

import pytest

from tests.builders import git, write
from tests.place import Place


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_judges_workspace_of_change_with_installed_packages(tmp_path: Path) -> None:
    place = Place(tmp_path)
    git(place.repository, "rm", "-q", "-r", ".")
    imports = "import { test } from 'node:test'\nimport half from '@x/half'\n"
    files = {
        ".gitignore": "node_modules/\n",
        "package.json": '{"private": true, "scripts": {"test": "node --test tests/"}}',
        "half/package.json": '{"name": "@x/half", "main": "half.js"}',
        "half/half.js": "exports.check = (n, half) => require('same')(n / 3, half)\n",
        "tests/half.test.mjs": f"{imports}test('halves', () => half.check(8, 4))\n",
    }
    write(place.repository, files)
    git(place.repository, "add", "--all")
    git(place.repository, "commit", "-qm", "start")
    same = "module.exports = (a, b) => { if (a !== b) throw new Error(`${a} is not ${b}`) }\n"
    write(place.repository, {"node_modules/same/index.js": same})
    (place.repository / "node_modules" / "@x").mkdir()
    (place.repository / "node_modules" / "@x" / "half").symlink_to("../../half")
    write(place.repository, {"half/half.js": files["half/half.js"].replace("3", "2")})
    git(place.repository, "commit", "-qam", "divide by two")
    (place.repository / "half" / "half.js").write_text("throw new Error('of the user')\n", encoding="utf-8")
    result = place.coder("verify", "HEAD", "--trust")
    assert "1 passed (before: 1 failed)" in result.stdout, result.stdout + result.stderr


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
