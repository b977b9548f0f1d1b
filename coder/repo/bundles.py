"""Transport of a repository to another machine as a git bundle."""

import os
import secrets
from collections.abc import Callable, Collection
from pathlib import Path

from coder.files.regular_files import discard_tree
from coder.repo.git import Checkout, Git, find_git, state_lock

BUNDLE_REFS = "refs/coder/bundle"
"""Refs of the commits in a bundle, which exist only while it is made."""
ENVIRONMENTS = (".venv", "venv", "env")
"""Virtual environments, which git ignores, so that a clone lacks them."""


def make_bundle(checkout: Checkout, commits: Collection[str]) -> bytes:
    """Return a git bundle with commits and their history.

    Raises:
        GitError: an object is missing.
    """
    prefix = f"{BUNDLE_REFS}/{secrets.token_hex(4)}"
    refs = {f"{prefix}/{commit}": commit for commit in sorted({*commits})}
    created = "".join(f"create {ref} {commit}\n" for ref, commit in refs.items())
    checkout.git.call("update-ref", "--stdin", stdin=created.encode())
    try:
        return checkout.git.call("bundle", "create", "--quiet", "-", *refs).stdout
    finally:
        deleted = "".join(f"delete {ref}\n" for ref in refs)
        checkout.git.call("update-ref", "--stdin", stdin=deleted.encode())


def unpack_bundle(read: Callable[[], bytes], directory: Path, *, commit: str, origin: Path) -> Path:
    """Return a clone with a checkout of `commit`, made from a bundle unless an earlier call has made it.

    Virtual environments of `origin`, the repository that the bundle was made from, are linked if this machine
    has them.

    Raises:
        GitError: the bundle is damaged, or has not the commit.
        OSError: the clone cannot be written.
    """
    root = directory / origin.name
    with state_lock(directory.with_suffix(".lock")):
        if not root.is_dir():
            draft = directory.with_suffix(f".{os.getpid()}") / origin.name
            discard_tree(draft.parent)
            _clone(read(), draft, commit)
            for name in ENVIRONMENTS:
                if (origin / name / "pyvenv.cfg").is_file() and not (draft / name).exists():
                    (draft / name).symlink_to(origin / name)
            draft.parent.rename(directory)
    return root


def _clone(bundle: bytes, root: Path, commit: str) -> None:
    root.mkdir(parents=True)
    file = root.parent / "repository.bundle"
    file.write_bytes(bundle)
    Git(directory=root, git_dir=root / ".git", work_tree=root).call("init", "--quiet", str(root))
    git = find_git(root)
    refs = git.text("bundle", "unbundle", str(file))
    commits = [line.split()[0] for line in refs.splitlines()]
    created = "".join(f"create refs/heads/bundle/{found} {found}\n" for found in dict.fromkeys(commits))
    git.call("update-ref", "--stdin", stdin=created.encode())
    git.call("update-ref", "--no-deref", "HEAD", commit)
    git.call("read-tree", "HEAD")
    git.call("checkout-index", "--all", "--force")
    file.unlink()
