"""States that hooks compare: the work tree of a checkout, and branches that are being pushed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from coder.core.errors import UserError
from coder.permissions.git_configuration import parse_configuration
from coder.repo.git import Git, find_checkout
from coder.repo.history.existing_change import find_main_branch
from coder.repo.worktrees.snapshot import take_snapshot


@dataclass(frozen=True, kw_only=True)
class WorkTreeState:
    """The content of a checkout with its uncommitted work."""

    git: Git
    root: Path
    head: str
    tree: str
    """Git tree of the work tree, new files included."""

    def base_tree(self, commit: str) -> str:
        """Return the tree of the commit that `find_base` compares with."""
        return self.git.resolve_tree(self.find_base(commit))

    def find_base(self, commit: str) -> str:
        """Return the newest commit that both HEAD and an earlier HEAD come from; HEAD where there is none."""
        return _merge_base(self.git, commit, self.head) or self.head


def read_work_tree(directory: Path) -> WorkTreeState:
    """Return the state of the checkout that contains a directory; it is not changed.

    Raises:
        UserError: there is none, or none that can be worked with.
    """
    place = find_checkout(directory)
    with TemporaryDirectory(prefix="coder-") as scratch:
        snapshot = take_snapshot(place.git, head=place.head, index=Path(scratch, "index"))
    return WorkTreeState(
        git=place.git, root=place.root, head=place.head, tree=place.git.resolve_tree(snapshot.commit)
    )


@dataclass(frozen=True, kw_only=True)
class PushedBranch:
    """A branch that is being pushed."""

    name: str
    commit: str
    base: str
    """The commit that the remote repository has already."""


def find_pushed_branches(directory: Path, lines: str, *, remote: str) -> Iterator[PushedBranch]:
    """Yield the branches whose content a push changes, from the lines that git gives to a pre-push hook.

    Each line holds local name, local commit, remote name and remote commit; zeros stand for no commit. Of a
    branch that is new to the remote repository, what its main branch has already is not judged.
    """
    git = find_checkout(directory).git
    for fields in map(str.split, lines.splitlines()):
        if len(fields) != 4 or not fields[2].startswith("refs/heads/") or not fields[1].strip("0"):
            continue
        commit, known = fields[1], git.resolve_commit(fields[3]) if fields[3].strip("0") else None
        base = known or _published_base(git, remote)
        base = _merge_base(git, base, commit) if base else None
        if base is not None and git.resolve_tree(base) != git.resolve_tree(commit):
            yield PushedBranch(name=fields[2].removeprefix("refs/heads/"), commit=commit, base=base)


def find_hooks_directory(directory: Path) -> Path:
    """Return the directory of a repository's hooks.

    Raises:
        UserError: git is configured to read them from elsewhere.
    """
    place = find_checkout(directory)
    own = dict(parse_configuration(place.git.inert.text if place.git.inert else "")).get("core.hookspath")
    scopes = ("--global", "--system")
    values = (place.git.call("config", scope, "--get", "core.hooksPath", accept=(0, 1)) for scope in scopes)
    elsewhere = own or next((value for output in values if (value := output.stdout.decode().strip())), "")
    if elsewhere:
        raise UserError(
            f"git reads the hooks from {elsewhere} (core.hooksPath), which was not changed. Add to its "
            'pre-push: coder hook run git "$@"'
        )
    return place.common_directory / "hooks"


def _published_base(git: Git, remote: str) -> str | None:
    """Return the newest known commit of the remote repository's main branch."""
    head = git.resolve_commit(f"refs/remotes/{remote}/HEAD")
    main = find_main_branch(git)
    return head or (git.resolve_commit(f"refs/remotes/{remote}/{main}") if main else None)


def _merge_base(git: Git, first: str, second: str) -> str | None:
    output = git.call("merge-base", first, second, accept=None)
    return output.stdout.decode().strip() if output.status == 0 else None
