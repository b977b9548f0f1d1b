"""A session's repository for the duration of a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coder.core.values import Candidate
from coder.repo.repository import SessionRepository, open_repository
from tests.builders import git


@contextmanager
def open_session_repository(
    root: Path, base: str | None = None, *, session: str = "20260101-abc123", within: str = "."
) -> Iterator[SessionRepository]:
    """Open a session's repository from a directory `within`, with its state beside the repository, and
    close it.
    """
    repository = open_repository(
        root / within, session=session, state=root.parent / "sessions" / session, base=base
    )
    try:
        yield repository
    finally:
        repository.close()


@contextmanager
def open_candidate(
    root: Path, base: str | None = None, **options: str
) -> Iterator[tuple[SessionRepository, Candidate]]:
    """Open a session's repository, as `open_session_repository` does, with its first candidate."""
    with open_session_repository(root, base, **options) as repository:
        yield repository, repository.create_candidate("c1")


def fingerprint(root: Path) -> dict[str, object]:
    """Return all that a session must not change: the files with their times, the index, branches, HEAD,
    stash and configuration.
    """
    skipped = root / ".git"
    files = sorted(path for path in root.rglob("*") if skipped not in path.parents and path != skipped)
    own = [skipped / name for name in ("index", "HEAD", "config", "ORIG_HEAD") if (skipped / name).is_file()]
    return {
        "files": [
            (
                path,
                path.lstat().st_mtime_ns,
                path.lstat().st_mode,
                path.read_bytes() if path.is_file() else b"",
            )
            for path in files
        ],
        "own": [(path, path.read_bytes()) for path in own],
        "index": (skipped / "index").stat().st_mtime_ns if (skipped / "index").exists() else None,
        "refs": [line for line in git(root, "for-each-ref").splitlines() if "refs/coder/" not in line],
        "reflog": git(root, "reflog"),
    }
