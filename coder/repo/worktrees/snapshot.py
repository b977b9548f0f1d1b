"""Snapshot of a work tree as a git tree, equal to `git add -A` but in a separate index."""

import os
from dataclasses import dataclass
from pathlib import Path

from coder.core.errors import UserError
from coder.files.regular_files import copy_regular
from coder.repo.git import Git
from coder.repo.worktrees.filters import find_filter_drivers

LARGEST_UNTRACKED_BYTES = 50 << 20
LARGEST_INDEX_BYTES = 2 << 30
MOST_UNTRACKED = 50_000
UNCOMMITTED_SUBJECT = "The uncommitted work that a coder session started from"
GENERATED_PATTERNS = (
    "__pycache__/",
    "*.py[co]",
    ".hypothesis/",
    ".nox/",
    ".tox/",
    ".venv/",
    "/venv/",
    "node_modules/",
)
"""Generated files that not every repository ignores; they are left out silently."""
CODER_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "coder"), ("EMAIL", "coder@localhost"))
}


@dataclass(frozen=True, kw_only=True)
class WorkTreeSnapshot:
    """A commit of the uncommitted work, or HEAD itself where there is none."""

    commit: str
    exclusions: tuple[str, ...]
    """Untracked paths that the snapshot lacks, each with the reason."""


def take_snapshot(git: Git, *, head: str, index: Path) -> WorkTreeSnapshot:
    """Commit the work tree on top of `head`, unmerged files with their conflict markers.

    Only `index` is written.
    """
    assert git.git_dir is not None
    # Its timestamps are kept, since git uses them to detect files that may have changed.
    copy_regular(git.git_dir / "index", index, within=git.git_dir, limit_bytes=LARGEST_INDEX_BYTES)
    snapshot_git = git.with_index(index)
    left_out = stage_work_tree(snapshot_git, is_smudged=True)
    tree = write_tree(snapshot_git)
    if tree == git.resolve_tree(head):
        return WorkTreeSnapshot(commit=head, exclusions=left_out)
    return WorkTreeSnapshot(
        commit=commit_tree(git, tree=tree, parent=head, subject=UNCOMMITTED_SUBJECT),
        exclusions=left_out,
    )


def stage_work_tree(
    git: Git, ignored: frozenset[str] = frozenset(), *, is_smudged: bool = False
) -> tuple[str, ...]:
    """Update the index to the work tree, including new files; return what was left out, and why.

    Plumbing commands instead of `git add -A`, which starts git inside nested repositories with their
    configuration.

    Args:
        ignored: new files to leave out.
        smudged: the user's git checked the files out, so that files under filters are not in the stored form;
            they are left alone.
    """
    tracked = sorted(
        set(git.items("diff-files", "--name-only", "--no-renames", "--ignore-submodules=all", "-z"))
    )
    untracked = [path for path in find_untracked_files(git) if path not in ignored]
    reasons = {path: reason for path in untracked if (reason := _exclusion_reason(git.directory, path))}
    drivers = find_filter_drivers(git, [*tracked, *untracked]) if is_smudged else {}
    reasons |= {
        path: f"the git filter {driver} is not run"
        for path, driver in drivers.items()
        if _is_file(git.directory, path)
    }
    deleted = [path for path in tracked if path not in reasons and not _is_file(git.directory, path)]
    present = [path for path in (*tracked, *untracked) if path not in reasons and path not in set(deleted)]
    if deleted:
        null_id = "0" * len(git.text("rev-parse", "HEAD"))
        git.call(
            "update-index",
            "-z",
            "--index-info",
            stdin=b"".join(os.fsencode(f"0 {null_id}\t{path}\0") for path in deleted),
        )
    if present:
        git.call(
            "update-index",
            "--add",
            "--replace",
            "-z",
            "--stdin",
            stdin=b"".join(os.fsencode(f"{path}\0") for path in present),
        )
    return tuple(f"{path} ({reason})" for path, reason in reasons.items())


def find_untracked_files(git: Git) -> list[str]:
    """Return the paths that are neither tracked nor ignored.

    A nested repository is one path that ends with a slash.

    Raises:
        UserError: there are so many that the repository must be a home directory or the like.
    """
    paths = git.items(
        "ls-files",
        "--others",
        "--exclude-standard",
        *(f"--exclude={pattern}" for pattern in GENERATED_PATTERNS),
        "-z",
    )
    if len(paths) > MOST_UNTRACKED:
        raise UserError(
            f"{git.directory} holds {len(paths)} untracked files: ignore them in .gitignore, or start "
            "from a commit: --base HEAD."
        )
    return paths


def write_tree(git: Git) -> str:
    # In a partial clone an object may be missing; it already exists elsewhere and must not be fetched.
    """Write the index as a tree and return its hash."""
    return git.text("write-tree", "--missing-ok")


def commit_tree(git: Git, *, tree: str, parent: str, subject: str) -> str:
    """Create a commit in coder's name that no branch will contain; return its hash."""
    return git.text(
        "commit-tree",
        tree,
        "-p",
        parent,
        "-F",
        "-",
        stdin=f"{subject}\n".encode(),
        environment=CODER_IDENTITY,
    )


def _exclusion_reason(root: Path, path: str) -> str:
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
    """Return whether the path itself is a file, not one behind a link that replaced a directory."""
    full_path = root / path
    return os.path.realpath(full_path.parent) == str(full_path.parent) and (
        full_path.is_symlink() or (full_path.exists() and not full_path.is_dir())
    )
