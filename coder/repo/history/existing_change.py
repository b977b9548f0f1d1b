"""A change that is there already, and what it is to be judged against."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from coder.core.errors import UserError
from coder.core.values.candidate import Delivery
from coder.permissions.secrets import PLACEHOLDER
from coder.repo.delivery.commits import base_of
from coder.repo.git import Git, find
from coder.repo.worktrees.snapshot import take

USUAL = ("main", "master", "trunk", "develop")


@dataclass(frozen=True, kw_only=True)
class Given:
    """Two states of a repository."""

    base: str
    """A commit."""
    tree: str
    """With the change made."""
    label: str
    """For the screen: what is judged against what."""
    message: str = ""
    """Of the commits that make it, the newest first: what the change is for, in its author's words."""
    left_out: tuple[str, ...] = ()
    """Uncommitted work that the tree lacks, with the reasons."""


def given(directory: Path, *, revision: str | None, against: str | None) -> Given:
    """The change that a revision, a range `A..B` or `A...B`, or (None) the uncommitted work makes.

    Without `against` uncommitted work is compared with HEAD, a branch with where it left the main one, any other commit with its parent;
    a clean checkout means its branch.

    Raises:
        UserError: there is no such revision, or nothing to compare.
    """
    git = find(directory).git
    if revision is None:
        with TemporaryDirectory(prefix="coder-") as scratch:
            work = take(git, head=_commit(git, "HEAD"), index=Path(scratch, "index"))
        base = _commit(git, against or "HEAD")
        if git.tree(work.commit) != git.tree("HEAD"):
            label = f"the uncommitted work against {_named(git, against or 'HEAD')}"
            return Given(base=base, tree=git.tree(work.commit), label=label, left_out=work.left_out)
        revision = git.text("rev-parse", "--abbrev-ref", "HEAD")
        if against is None and (revision == "HEAD" or revision == _main(git)):
            raise UserError(
                "There is no uncommitted work to judge. Name a commit, a branch or a file with a diff, such as coder verify HEAD."
            )
    start, dots, end = revision.partition("..")
    if dots:
        against, revision = against or start or "HEAD", end.removeprefix(".") or "HEAD"
        base = _merge_base(git, against, revision) if end.startswith(".") else _commit(git, against)
        return _between(git, base, revision)
    if against is not None:
        return _between(git, _commit(git, against), revision)
    main = _main(git)
    if (
        main is not None
        and _is_branch(git, revision)
        and (left := _merge_base(git, main, revision)) != _commit(git, revision)
    ):
        return _between(git, left, revision)
    commit = _commit(git, revision)
    parent = base_of(git, commit)
    if not parent:
        raise UserError(f"{revision} is the first commit; there is nothing before it to compare it with.")
    return _between(git, parent, revision)


def has_tree(directory: Path, tree: str) -> bool:
    """Does the repository hold this tree?"""
    return (
        find(directory)
        .git.call("rev-parse", "--quiet", "--verify", "--end-of-options", f"{tree}^{{tree}}", accept=None)
        .status
        == 0
    )


def delivered_diff(directory: Path, delivery: Delivery) -> str:
    """Return the diff of a delivery: that of its commit where secrets were masked in it, and the repository still holds the commit."""
    if not delivery.commit or not PLACEHOLDER.search(delivery.diff):
        return delivery.diff
    git = find(directory).git
    if git.commit(delivery.commit) is None:
        return delivery.diff
    done = git.call(
        "diff-tree", "-r", "-p", "-M", "--binary", base_of(git, delivery.commit), delivery.commit, accept=None
    )
    return done.stdout.decode("utf-8", "replace") if done.status == 0 else delivery.diff


def _between(git: Git, base: str, revision: str) -> Given:
    commit = _commit(git, revision)
    if git.tree(commit) == git.tree(base):
        raise UserError(f"{revision} is the same as {base[:10]}: there is no change to judge.")
    message = git.text("log", "--no-merges", "--max-count=20", "--format=%B", f"{base}..{commit}").strip()
    return Given(
        base=base,
        tree=git.tree(commit),
        message=message,
        label=f"{_named(git, revision)} against {_named(git, base)}",
    )


def _named(git: Git, revision: str) -> str:
    short = _commit(git, revision)[:10]
    return short if _commit(git, revision).startswith(revision) else f"{revision} ({short})"


def _commit(git: Git, revision: str) -> str:
    commit = git.commit(revision)
    if commit is None:
        raise UserError(
            f"There is no revision {revision!r} here, and no such file; git log shows what there is."
        )
    return commit


def _merge_base(git: Git, one: str, other: str) -> str:
    found = git.call("merge-base", _commit(git, one), _commit(git, other), accept=(0, 1))
    if found.status != 0:
        raise UserError(f"{one} and {other} have no common past; say what to compare with: --against REV.")
    return found.stdout.decode().strip()


def _main(git: Git) -> str | None:
    """The branch that work is merged into, as far as the repository tells."""
    told = git.call("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD", accept=None)
    remote = [told.stdout.decode().strip()] if told.status == 0 else []
    return next((name for name in (*USUAL, *remote) if _is_branch(git, name)), None)


def _is_branch(git: Git, name: str) -> bool:
    return any(
        git.call("show-ref", "--verify", "--quiet", f"refs/{kind}/{name}", accept=None).status == 0
        for kind in ("heads", "remotes")
    )
