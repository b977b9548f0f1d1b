"""The state of a work tree as a git tree: what `git add -A` would stage, in an index of our own."""

import os
from dataclasses import dataclass
from pathlib import Path

from coder.core.errors import UserError
from coder.files.regular_files import copy_regular
from coder.repo.git import Git
from coder.repo.worktrees.filters import filter_drivers

LARGEST_UNTRACKED_BYTES = 50 << 20
LARGEST_INDEX_BYTES = 2 << 30
MOST_UNTRACKED = 50_000
NOBODYS_WORK = (
    "__pycache__/",
    "*.py[co]",
    ".hypothesis/",
    ".nox/",
    ".tox/",
    ".venv/",
    "/venv/",
    "node_modules/",
)
"""Not every repository ignores these; they are left out without a word."""
OURS = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "coder"), ("EMAIL", "coder@localhost"))
}


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A commit that holds the uncommitted work, or HEAD itself where there is none."""

    commit: str
    left_out: tuple[str, ...]
    """Untracked paths that are not in it, each with the reason."""


def take(git: Git, *, head: str, index: Path) -> Snapshot:
    """Commit the work tree as it is on top of `head`, unmerged files with their conflict markers; only `index` is written."""
    assert git.git_dir is not None
    # With its times: git tells from them which files it cannot know to be unchanged.
    copy_regular(git.git_dir / "index", index, within=git.git_dir, limit_bytes=LARGEST_INDEX_BYTES)
    copy = git.with_index(index)
    left_out = stage(copy, smudged=True)
    tree = write_tree(copy)
    if tree == git.tree(head):
        return Snapshot(commit=head, left_out=left_out)
    return Snapshot(
        commit=keep(
            git, tree=tree, parent=head, subject="The uncommitted work that a coder session started from"
        ),
        left_out=left_out,
    )


def stage(git: Git, ignored: frozenset[str] = frozenset(), *, smudged: bool = False) -> tuple[str, ...]:
    """Bring the index up to the work tree, new files included but those `ignored`; return what was left out, and why.

    Plumbing instead of `git add -A`: that starts git inside of nested repositories, with their configuration.

    Args:
        smudged: the user's git checked the files out, so that those under filters are not in the form that git keeps; they are left alone.
    """
    tracked = sorted(
        set(git.items("diff-files", "--name-only", "--no-renames", "--ignore-submodules=all", "-z"))
    )
    untracked = [path for path in untracked_files(git) if path not in ignored]
    reasons = {path: reason for path in untracked if (reason := _why_not(git.directory, path))}
    drivers = filter_drivers(git, [*tracked, *untracked]) if smudged else {}
    reasons |= {
        path: f"the git filter {driver} is not run"
        for path, driver in drivers.items()
        if _is_file(git.directory, path)
    }
    gone = [path for path in tracked if path not in reasons and not _is_file(git.directory, path)]
    there = [path for path in (*tracked, *untracked) if path not in reasons and path not in set(gone)]
    if gone:
        nothing = "0" * len(git.text("rev-parse", "HEAD"))
        git.call(
            "update-index",
            "-z",
            "--index-info",
            stdin=b"".join(os.fsencode(f"0 {nothing}\t{path}\0") for path in gone),
        )
    if there:
        git.call(
            "update-index",
            "--add",
            "--replace",
            "-z",
            "--stdin",
            stdin=b"".join(os.fsencode(f"{path}\0") for path in there),
        )
    return tuple(f"{path} ({reason})" for path, reason in reasons.items())


def untracked_files(git: Git) -> list[str]:
    """Paths that are neither tracked nor ignored; a nested repository is one path with a slash at its end.

    Raises:
        UserError: there are so many that the repository must be a home directory or the like.
    """
    found = git.items(
        "ls-files",
        "--others",
        "--exclude-standard",
        *(f"--exclude={pattern}" for pattern in NOBODYS_WORK),
        "-z",
    )
    if len(found) > MOST_UNTRACKED:
        raise UserError(
            f"{git.directory} holds {len(found)} untracked files: ignore them in .gitignore, or start from a commit: --base HEAD."
        )
    return found


def write_tree(git: Git) -> str:
    # In a partial clone an object may be elsewhere; it is the person's own and not ours to fetch.
    return git.text("write-tree", "--missing-ok")


def keep(git: Git, *, tree: str, parent: str, subject: str) -> str:
    """Make a commit of our own, which no branch will ever show."""
    return git.text(
        "commit-tree", tree, "-p", parent, "-F", "-", stdin=f"{subject}\n".encode(), environment=OURS
    )


def _why_not(root: Path, path: str) -> str:
    if path.endswith("/"):
        return "a git repository of its own"
    file = root / path
    if file.is_symlink():
        return ""
    if not os.access(file, os.R_OK):
        return "not readable"
    size = file.stat().st_size
    return f"untracked, {size >> 20} MB" if size > LARGEST_UNTRACKED_BYTES else ""


def _is_file(root: Path, path: str) -> bool:
    """Is there a file at the path itself, and not one behind a link that took the place of a directory?"""
    place = root / path
    return os.path.realpath(place.parent) == str(place.parent) and (
        place.is_symlink() or (place.exists() and not place.is_dir())
    )
