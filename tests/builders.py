"""Builders of small real things: a git repository in a directory of its own."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

ISOLATED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


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


def write_tree(directory: Path, files: Mapping[str, str]) -> Path:
    """Write files into a directory and return it."""
    write(directory, files)
    return directory


def repo(directory: Path, files: Mapping[str, str], *, message: str = "start") -> Path:
    """Make a repository on branch `main` with one commit that holds `files`, and return its root."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "--quiet", "--initial-branch=main")
    git(directory, "config", "user.name", "Ada")
    git(directory, "config", "user.email", "ada@example.org")
    write(directory, files)
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--allow-empty", "--message", message)
    return directory.resolve()
