"""An existing change, and the base that it is compared with."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from coder.core.errors import UserError
from coder.core.values.candidate import Delivery
from coder.permissions.secrets import PLACEHOLDER
from coder.repo.delivery.commits import delivery_base
from coder.repo.git import Git, find_checkout
from coder.repo.worktrees.snapshot import take_snapshot

USUAL_MAIN_BRANCHES = ("main", "master", "trunk", "develop")


@dataclass(frozen=True, kw_only=True)
class ExistingChange:
    """An existing change, as two states of a repository."""

    base: str
    """A commit."""
    tree: str
    """The tree with the change applied."""
    label: str
    """For display: the change and its base."""
    message: str = ""
    """The commits' messages, newest first: the purpose of the change in its author's words."""
    exclusions: tuple[str, ...] = ()
    """Uncommitted work that the tree lacks, with the reasons."""


def resolve_change(directory: Path, *, revision: str | None, against: str | None) -> ExistingChange:
    """Return the change of a revision, a range `A..B` or `A...B`, or (None) the uncommitted work.

    Without `against`, uncommitted work is compared with HEAD, a branch with its merge base with the main
    branch, any other commit with its parent; a clean checkout means its branch.

    Raises:
        UserError: there is no such revision, or nothing to compare.
    """
    git = find_checkout(directory).git
    if revision is None:
        with TemporaryDirectory(prefix="coder-") as scratch:
            snapshot = take_snapshot(git, head=_resolve_commit(git, "HEAD"), index=Path(scratch, "index"))
        base = _resolve_commit(git, against or "HEAD")
        if git.resolve_tree(snapshot.commit) != git.resolve_tree("HEAD"):
            label = f"the uncommitted work against {_describe_revision(git, against or 'HEAD')}"
            return ExistingChange(
                base=base, tree=git.resolve_tree(snapshot.commit), label=label, exclusions=snapshot.exclusions
            )
        revision = git.text("rev-parse", "--abbrev-ref", "HEAD")
        if against is None and (revision == "HEAD" or revision == find_main_branch(git)):
            raise UserError(
                "There is no uncommitted work to judge. Name a commit, a branch or a file with a diff, "
                "such as coder verify HEAD."
            )
    start, dots, end = revision.partition("..")
    if dots:
        against, revision = against or start or "HEAD", end.removeprefix(".") or "HEAD"
        base = _merge_base(git, against, revision) if end.startswith(".") else _resolve_commit(git, against)
        return _change_between(git, base, revision)
    if against is not None:
        return _change_between(git, _resolve_commit(git, against), revision)
    main = find_main_branch(git)
    if (
        main is not None
        and _is_branch(git, revision)
        and (merge_base := _merge_base(git, main, revision)) != _resolve_commit(git, revision)
    ):
        return _change_between(git, merge_base, revision)
    commit = _resolve_commit(git, revision)
    parent = delivery_base(git, commit)
    if not parent:
        raise UserError(f"{revision} is the first commit; there is nothing before it to compare it with.")
    return _change_between(git, parent, revision)


def has_tree(directory: Path, tree: str) -> bool:
    """Return whether the repository contains a tree."""
    return (
        find_checkout(directory)
        .git.call("rev-parse", "--quiet", "--verify", "--end-of-options", f"{tree}^{{tree}}", accept=None)
        .status
        == 0
    )


def delivered_diff(directory: Path, delivery: Delivery) -> str:
    """Return the diff of a delivery.

    It is taken from the commit if secrets are masked in the stored diff and the repository still contains the
    commit.
    """
    if not delivery.commit or not PLACEHOLDER.search(delivery.diff):
        return delivery.diff
    git = find_checkout(directory).git
    if git.resolve_commit(delivery.commit) is None:
        return delivery.diff
    output = git.call(
        "diff-tree",
        "-r",
        "-p",
        "-M",
        "--binary",
        delivery_base(git, delivery.commit),
        delivery.commit,
        accept=None,
    )
    return output.stdout.decode("utf-8", "replace") if output.status == 0 else delivery.diff


def _change_between(git: Git, base: str, revision: str) -> ExistingChange:
    commit = _resolve_commit(git, revision)
    if git.resolve_tree(commit) == git.resolve_tree(base):
        raise UserError(f"{revision} is the same as {base[:10]}: there is no change to judge.")
    message = git.text("log", "--no-merges", "--max-count=20", "--format=%B", f"{base}..{commit}").strip()
    return ExistingChange(
        base=base,
        tree=git.resolve_tree(commit),
        message=message,
        label=f"{_describe_revision(git, revision)} against {_describe_revision(git, base)}",
    )


def _describe_revision(git: Git, revision: str) -> str:
    short = _resolve_commit(git, revision)[:10]
    return short if _resolve_commit(git, revision).startswith(revision) else f"{revision} ({short})"


def _resolve_commit(git: Git, revision: str) -> str:
    commit = git.resolve_commit(revision)
    if commit is None:
        raise UserError(
            f"There is no revision {revision!r} here, and no such file; git log shows what there is."
        )
    return commit


def _merge_base(git: Git, first: str, second: str) -> str:
    output = git.call("merge-base", _resolve_commit(git, first), _resolve_commit(git, second), accept=(0, 1))
    if output.status != 0:
        raise UserError(f"{first} and {second} have no common past; say what to compare with: --against REV.")
    return output.stdout.decode().strip()


def find_main_branch(git: Git) -> str | None:
    """Return the branch that work is merged into, as far as the repository shows."""
    origin_head = git.call("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD", accept=None)
    remote = [origin_head.stdout.decode().strip()] if origin_head.status == 0 else []
    return next((name for name in (*USUAL_MAIN_BRANCHES, *remote) if _is_branch(git, name)), None)


def _is_branch(git: Git, name: str) -> bool:
    return any(
        git.call("show-ref", "--verify", "--quiet", f"refs/{kind}/{name}", accept=None).status == 0
        for kind in ("heads", "remotes")
    )
