"""Builders of small real things: a git repository in a directory of its own."""

import atexit
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import venv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from coder.verify.project import Project


ISOLATED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}
CASES = Path(__file__).parent / "cases"


def by_hand(*cases: Any) -> list[Any]:
    """Return cases of a parametrized test that only `--thorough` runs."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.thorough)
        for case in cases
    ]


def find_project(root: Path, **options: Any) -> "Project":
    """Return how the project at `root` is tested."""
    from coder.verify import project

    return project.find_project(root, **options)


def git(directory: Path, *arguments: str) -> str:
    """Run git as a user would, without this machine's configuration; return its stripped output."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    result = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env=inherited | ISOLATED,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise AssertionError(f"git {' '.join(arguments)}: {result.stderr}")
    return result.stdout.strip()


def write(directory: Path, files: Mapping[str, str]) -> None:
    """Write text files, by path relative to the directory."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def read_case(case: Path, folder: str) -> dict[str, str]:
    """Return the text files of a folder of a case: its own, and those that `shared.txt` names."""
    listing = case / "shared.txt"
    shared = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    files = [(case / folder, path) for path in (case / folder).rglob("*") if path.is_file()]
    common = case.parent / "shared" / folder
    files += [(common, case.parent / "shared" / name) for name in shared if name.startswith(f"{folder}/")]
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for root, path in sorted(files)}


def lines(path: str) -> list[str]:
    """Return the lines of a file of tests/cases."""
    return (CASES / path).read_text(encoding="utf-8").splitlines()


def paragraphs(path: str, separator: str = "\n\n") -> list[str]:
    """Return the texts in a file of tests/cases, which blank lines separate."""
    return (CASES / path).read_text(encoding="utf-8").strip("\n").split(separator)


def projects(path: str) -> list[tuple[dict[str, str], list[str], str]]:
    """Return the projects in a file of tests/cases: their files, what is found (`=> `), what is given."""
    return [
        (
            dict(re.findall(r"^== (.*)\n((?:(?!== |=> ).*\n)*)", f"{text}\n", re.MULTILINE)),
            re.findall("^=> (.*)$", text, re.MULTILINE),
            "".join(re.findall("^given (.*)$", text, re.MULTILINE)),
        )
        for text in paragraphs(path, "\n-----\n")
    ]


def write_tree(directory: Path, files: Mapping[str, str]) -> Path:
    """Write files into a directory and return it."""
    write(directory, files)
    return directory


def repo(directory: Path, files: Mapping[str, str], *, message: str = "start") -> Path:
    """Make a repository on branch `main` with one commit that holds `files`, and return its root.

    Git runs once for all directories with the same files: each is a copy.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        init_repository(directory, files, message=message)
    else:
        shutil.copytree(
            _template(tuple(files.items()), message), directory, symlinks=True, dirs_exist_ok=True
        )
        git(directory, "update-index", "-q", "--refresh")
    return directory.resolve()


def init_repository(directory: Path, files: Mapping[str, str], *, message: str) -> None:
    """Commit `files`, beside what the directory holds, in a new repository there."""
    git(directory, "init", "--quiet", "--initial-branch=main", "--template=")
    (directory / ".git" / "hooks").mkdir()
    (directory / ".git" / "info").mkdir()
    with (directory / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    write(directory, files)
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--allow-empty", "--message", message)


@cache
def _template(files: tuple[tuple[str, str], ...], message: str) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="coder-template-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    init_repository(directory, dict(files), message=message)
    return directory


def plain_environment(directory: Path) -> Path:
    """Make a virtual environment that sees this one's packages, and in which pytest loads no plugins."""
    venv.create(directory, symlinks=True)
    site = next(directory.glob("lib/python*/site-packages"))
    (site / "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    (site / "plain.pth").write_text(
        "import os; os.environ.setdefault('PYTEST_DISABLE_PLUGIN_AUTOLOAD', '1')\n", encoding="utf-8"
    )
    return directory
