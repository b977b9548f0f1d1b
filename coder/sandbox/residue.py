"""What a command has left in a worktree that other programs of the person would act on later."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

from coder.core.values.base import Value

Kind = Literal["repository", "link", "runs later"]
RUN_LATER = {
    ".envrc": "direnv runs it when somebody enters the directory",
    ".pre-commit-config.yaml": "pre-commit runs what it names",
    ".gitmodules": "git fetches what it names",
    ".gitattributes": "git runs the filters that it names",
    ".lfsconfig": "git-lfs sends files where it says",
    ".mcp.json": "assistants start what it names",
    "Makefile": "make runs it",
    "conftest.py": "pytest runs it before every test",
    "sitecustomize.py": "Python runs it whenever it starts",
    "usercustomize.py": "Python runs it whenever it starts",
    "setup.py": "pip runs it",
    "noxfile.py": "nox runs it",
    "tasks.py": "invoke runs it",
    "package.json": "npm runs the scripts that it names",
}
RUN_LATER_IN = {
    ".github/workflows": "GitHub runs it",
    ".circleci": "CircleCI runs it",
    ".husky": "git hooks run it",
    ".githooks": "git hooks run it",
    ".vscode": "the editor may run what it names",
    ".idea": "the editor may run what it names",
    ".devcontainer": "the editor may run what it names",
}
RUN_LATER_NAMED = {
    ".gitlab-ci.yml": "GitLab runs it",
    ".travis.yml": "Travis runs it",
    "Jenkinsfile": "Jenkins runs it",
    "tox.ini": "tox runs it",
}
ENVIRONMENTS = frozenset({".venv", "venv", "env", "node_modules", ".tox", ".nox", "__pycache__"})
"""Directories full of links and programs by their nature, which are part of no change."""

Mark = tuple[int, int, int]
"""Changed with every write: inode, size, time of the last change of either."""


class Finding(Value):
    """One thing that was left."""

    kind: Kind
    path: str
    """Relative to the worktree."""
    text: str
    """Half a sentence for the person."""

    @property
    def refused(self) -> bool:
        """Must it not stay?"""
        return self.kind != "runs later"


def survey(tree: Path) -> Mapping[str, tuple[Finding, Mark]]:
    """Everything of interest in a worktree, by its path."""
    return {finding.path: (finding, _mark(tree / finding.path)) for finding in _found(tree)}


def findings(
    before: Mapping[str, tuple[Finding, Mark]], after: Mapping[str, tuple[Finding, Mark]]
) -> tuple[Finding, ...]:
    """What is new or has changed between two surveys."""
    return tuple(
        finding for path, (finding, mark) in sorted(after.items()) if before.get(path) != (finding, mark)
    )


def remove(tree: Path, finding: Finding) -> None:
    """Take away what must not stay; no link on the way is followed, since the survey followed none."""
    path = tree / finding.path
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _found(tree: Path) -> Iterator[Finding]:
    real = os.path.realpath(tree)
    for directory, folders, files in os.walk(tree):
        inside = PurePosixPath(os.path.relpath(directory, tree))
        if inside.parts and {"HEAD", "objects", "refs"} <= {*folders, *files}:
            yield Finding(
                kind="repository", path=str(inside), text="a bare git repository inside of the worktree"
            )
            folders.clear()
            continue
        for name in (*folders, *files):
            path = inside / name
            if name == ".git":
                if inside.parts:
                    yield Finding(
                        kind="repository", path=str(path), text="a git repository inside of the worktree"
                    )
            elif (tree / path).is_symlink():
                yield from _link(tree, path, real)
            elif name in files and (why := _runs_later(path)):
                yield Finding(kind="runs later", path=str(path), text=why)
        folders[:] = [name for name in folders if name != ".git" and name not in ENVIRONMENTS]


def _link(tree: Path, path: PurePosixPath, real: str) -> Iterator[Finding]:
    target = os.path.realpath(tree / path)
    if target != real and not target.startswith(f"{real}/"):
        yield Finding(
            kind="link", path=str(path), text=f"a symbolic link that leads out of the worktree, to {target}"
        )


def _runs_later(path: PurePosixPath) -> str:
    named = RUN_LATER.get(path.name) or (RUN_LATER_NAMED.get(path.name) if len(path.parts) == 1 else "")
    return named or next((why for place, why in RUN_LATER_IN.items() if path.is_relative_to(place)), "")


def _mark(path: Path) -> Mark:
    found = path.lstat()
    return found.st_ino, found.st_size, found.st_ctime_ns
