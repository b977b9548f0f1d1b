"""History as of a commit: log, show; and changes that exist already: commits, uncommitted work."""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

from coder.core.errors import GitError, NothingToJudgeError, SameTreesError, UserError
from coder.core.values import Delivery
from coder.permissions.secrets import DENY_READ, PLACEHOLDER, is_read_denied, parse_configuration
from coder.repo.git import Git, find_checkout
from coder.repo.worktrees import (
    UNCOMMITTED_SUBJECT,
    changed_paths,
    commit_tree,
    diff_trees,
    find_conflicts,
    find_ignored_sources,
    list_briefly,
    merge_change,
    take_snapshot,
)

SEARCH_SECONDS = 20.0
"""Searching every diff of a large repository for a word can take minutes."""
MOST_CHANGED_LINES = 20_000
SEARCH_FACTOR = 10
"""Factor by which more commits are searched where some of them only touch private files."""
SHOW_OPTIONS = ("--no-ext-diff", "--no-textconv", "--date=short")
LOG_FORMAT = "--format=%h %ad %an: %s"


@dataclass(frozen=True, kw_only=True)
class GitHistory:
    """Read-only access to commits."""

    git: Git
    revision: str
    """The newest commit of the history."""
    deny_read: tuple[str, ...] = DENY_READ
    """Patterns of `coder.permissions.secrets`: matching files are neither searched nor shown."""
    seconds: float = SEARCH_SECONDS
    """Time limit of one query."""

    def log(
        self,
        *,
        path: str | None = None,
        lines: tuple[int, int] | None = None,
        word: str | None = None,
        count: int = 10,
    ) -> str:
        """Return the newest commits that touch a path or lines, or mention a word in message or change.

        `lines` are first and last, from 1. On time-out the commits found so far are returned, with a line
        that says so.

        Raises:
            GitError: there is no such path or line.
        """
        if path is not None and lines is not None:
            return self._log(f"-L{lines[0]},{lines[1]}:{path}", "--no-patch", count=count)
        where = ("--", path) if path is not None else ("--",)
        if word is None:
            return self._log(*where, count=count)
        mentioned = self._log(
            "--fixed-strings", "--regexp-ignore-case", f"--grep={word}", *where, count=count
        )
        changed = self._find_word_changes(word, where, count=count)
        sections = {
            f"In the message (whatever the case): {word}": mentioned,
            f"Added or removed by the change: {word}": changed,
        }
        return "\n".join(f"{title}\n{commits}" for title, commits in sections.items() if commits)

    def show(self, revision: str, path: str | None = None) -> str:
        """Return the message and diff of one commit, limited to `path` if given.

        A very large diff is left out.

        Raises:
            GitError: there is no such commit.
        """
        commit = self.git.resolve_commit(revision)
        if commit is None:
            raise GitError(f"There is no commit {revision!r} in this repository.")
        where = ("--", path) if path is not None else ()
        names = self._read(
            "show", *SHOW_OPTIONS, "--format=", "--name-only", "--no-renames", "-z", commit, *where
        ).split("\0")
        hidden = [name for name in names if is_read_denied(name, self.deny_read)]
        place = f":(top,literal){path}" if path else ":(top)"
        limit = ("--", place, *(f":(top,exclude,literal){name}" for name in hidden)) if hidden else where
        counts = self._read("show", *SHOW_OPTIONS, "--format=", "--numstat", commit, *limit).split()
        size = sum(int(count) for count in counts if count.isdigit())
        patch = () if size > MOST_CHANGED_LINES else ("--patch",)
        output = self._read("show", *SHOW_OPTIONS, "--stat", *patch, commit, *limit)
        # Git shows nothing of a commit if no path is left.
        if len(hidden) == len(list(filter(None, names))):
            output = self._read("show", *SHOW_OPTIONS, "--no-patch", commit)
        return "\n".join([output, *(f"{name}: not shown, it may hold secrets" for name in hidden)])

    def _log(self, *arguments: str, count: int, form: str = LOG_FORMAT) -> str:
        at = arguments.index("--") if "--" in arguments else len(arguments)
        options, where = arguments[:at], arguments[at:]
        return self._read(
            "log", *SHOW_OPTIONS, form, f"--max-count={count}", *options, self.revision, *where, partly=True
        )

    def _find_word_changes(self, word: str, where: tuple[str, ...], *, count: int) -> str:
        """Return the newest commits that add or remove a word in a readable file.

        Git lists the files in which each commit does.
        """
        lines: list[str] = []
        # A second search is needed only if commits of private files displaced others.
        for limit in (count, SEARCH_FACTOR * count):
            output = self._log(
                f"-S{word}",
                "--name-status",
                *where,
                count=limit,
                form=f"--format=%x00{LOG_FORMAT.removeprefix('--format=')}",
            )
            records, _, stop_note = (
                output.partition("\n[stopped after ") if "[stopped after " in output else (output, "", "")
            )
            commits = [record.strip("\n").split("\n") for record in records.split("\0")[1:]]
            lines = [head for head, *files in commits if any(self._is_readable(file) for file in files)]
            if len(lines) == len(commits) or len(commits) < limit:
                break
        return "\n".join([*lines[:count], *([f"[stopped after {stop_note}"] if stop_note else [])])

    def _is_readable(self, status: str) -> bool:
        """Return whether all paths of a `--name-status` line (both of a renamed file) may be read.

        A path that git has to quote may not.
        """
        paths = status.split("\t")[1:]
        return bool(paths) and not any(
            path.startswith('"') or is_read_denied(path, self.deny_read) for path in paths
        )

    def _read(self, *arguments: str, partly: bool = False) -> str:
        """Return the output of git; with `partly`, the partial output on time-out."""
        variables = (
            {"GIT_LITERAL_PATHSPECS": "0"}
            if any(argument.startswith(":(top") for argument in arguments)
            else None
        )
        output = self.git.call(
            *arguments, environment=variables, timeout_seconds=self.seconds, accept_timeout=partly
        )
        text = output.stdout.decode("utf-8", "replace").rstrip("\n")
        return (
            f"{text}\n[stopped after {self.seconds:g} s; older commits were not looked at]".lstrip()
            if output.timed_out
            else text
        )


MOST_FINGERPRINTED = 20_000
USUAL_MAIN_BRANCHES = ("main", "master", "trunk", "develop")


@dataclass(frozen=True, kw_only=True)
class ExistingChange:
    """An existing change, as two states of a repository."""

    base: str
    """A commit."""
    tree: str
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
        UserError: there is no such revision, nothing to compare, or an unresolved merge conflict.
    """
    git = find_checkout(directory).git
    if revision is None:
        snapshot = take_snapshot(git, head=_resolve_commit(git, "HEAD"))
        base = _resolve_commit(git, against or "HEAD")
        _refuse_conflicts(git)
        if git.resolve_tree(snapshot.commit) != git.resolve_tree("HEAD"):
            label = f"the uncommitted work against {_describe_revision(git, against or 'HEAD')}"
            return ExistingChange(
                base=base, tree=git.resolve_tree(snapshot.commit), label=label, exclusions=snapshot.exclusions
            )
        if against is None and snapshot.exclusions:
            raise UserError(
                "There is no uncommitted work that can be judged. Left out: "
                f"{list_briefly(snapshot.exclusions)}. Name a commit or a branch to judge that."
            )
        revision = git.text("rev-parse", "--abbrev-ref", "HEAD")
        if against is None and (revision == "HEAD" or revision == find_main_branch(git)):
            ignored = find_ignored_sources(git)
            hint = f" Ignored files are not looked at: {list_briefly(ignored)}." if ignored else ""
            raise NothingToJudgeError(
                f"There is no uncommitted work to judge.{hint} Name a commit, a branch or a range, such as "
                "HEAD; coder verify takes a file with a diff, too."
            )
    start, dots, end = revision.partition("..")
    if dots and not end.lstrip(".").startswith("/"):  # else a path
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
    from coder.repo.delivery import delivery_base

    commit = _resolve_commit(git, revision)
    parent = delivery_base(git, commit)
    if not parent and (missing := git.explain_missing_history()):
        raise UserError(f"The commit before {revision} is not here: {missing}")
    if not parent:
        raise UserError(f"{revision} is the first commit; there is nothing before it to compare it with.")
    return _change_between(git, parent, revision)


def _refuse_conflicts(git: Git) -> None:
    if conflicts := find_conflicts(git):
        raise UserError(
            f"Merge conflicts are not resolved in {list_briefly(conflicts)}: resolve them, or name a commit "
            "or a branch to judge that."
        )


def has_tree(directory: Path, tree: str) -> bool:
    query = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{tree}^{{tree}}")
    return find_checkout(directory).git.call(*query, accept=None).status == 0


def delivered_diff(directory: Path, delivery: Delivery) -> str:
    """Return the diff of a delivery.

    It is taken from the commit if secrets are masked in the stored diff and the repository still contains the
    commit.
    """
    from coder.repo.delivery import delivery_base

    if not delivery.commit or not PLACEHOLDER.search(delivery.diff):
        return delivery.diff
    git = find_checkout(directory).git
    if git.resolve_commit(delivery.commit) is None:
        return delivery.diff
    return diff_trees(git, old=delivery_base(git, delivery.commit), new=delivery.commit)


def _change_between(git: Git, base: str, revision: str) -> ExistingChange:
    commit = _resolve_commit(git, revision)
    if git.resolve_tree(commit) == git.resolve_tree(base):
        raise SameTreesError(f"{revision} is the same as {base[:10]}: there is no change to judge.")
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
        missing = git.explain_missing_history()
        raise UserError(
            f"There is no revision {revision!r} here, and no such file; "
            + (f"but {missing}" if missing else "git log shows what there is.")
        )
    return commit


def _merge_base(git: Git, first: str, second: str) -> str:
    if base := _find_merge_base(git, _resolve_commit(git, first), _resolve_commit(git, second)):
        return base
    if missing := git.explain_missing_history():
        raise UserError(f"The common past of {first} and {second} is not here: {missing}")
    raise UserError(f"{first} and {second} have no common past; say what to compare with: --against REV.")


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


@dataclass(frozen=True, kw_only=True)
class WorkTreeState:
    """The content of a checkout with its uncommitted work."""

    git: Git
    root: Path
    head: str
    tree: str
    """Git tree of the work tree, new files included."""
    commit: str
    """A commit with this tree: HEAD, or one on top of it that no branch contains."""
    hidden: Mapping[str, str]
    """Parts of the work that the tree lacks, and the files that decide on it, each with a fingerprint."""

    def base_tree(self, commit: str) -> str:
        return self.git.resolve_tree(self.find_base(commit))

    def find_start(self, *, head: str, commit: str) -> str:
        """Return the commit that stands for the work tree of an earlier time, on the history of now.

        `commit` is that work tree, on top of what `head` was. Where HEAD left `head` since, as for another
        branch or a rebase, the uncommitted work of then is merged onto the newest common commit; where that
        conflicts, or git has pruned it, the common commit itself is returned.
        """
        base = self.find_base(head)
        if commit == head or self.git.resolve_commit(commit) is None:
            return base
        if base == head:
            return commit
        tree = merge_change(self.git, old=head, new=commit, onto=base)
        return commit_tree(self.git, tree=tree, parent=base, subject=UNCOMMITTED_SUBJECT) if tree else base

    def changed_paths(self, commit: str) -> tuple[str, ...]:
        """Return the paths whose content differs from a commit, sorted."""
        return changed_paths(self.git, old=commit, new=self.tree)

    def lost_paths(self, *, head: str, commit: str) -> tuple[str, ...]:
        """Return the paths whose uncommitted work of `commit`, made on top of `head`, was undone since."""
        uncommitted = changed_paths(self.git, old=head, new=commit)
        changed = {*self.changed_paths(commit)} - {*self.changed_paths(head)}
        return tuple(path for path in uncommitted if path in changed)

    def find_base(self, commit: str) -> str:
        """Return the newest commit that both HEAD and an earlier HEAD come from; HEAD where there is none."""
        return _find_merge_base(self.git, commit, self.head) or self.head


def read_work_tree(directory: Path) -> WorkTreeState:
    """Return the state of the checkout that contains a directory; it is not changed.

    Raises:
        UserError: there is none, or none that can be worked with.
    """
    place = find_checkout(directory)
    snapshot = take_snapshot(place.git, head=place.head)
    return WorkTreeState(
        git=place.git,
        root=place.root,
        head=place.head,
        tree=place.git.resolve_tree(snapshot.commit),
        commit=snapshot.commit,
        hidden=_find_hidden_work(place.git, place.root, snapshot.left_out),
    )


def _find_hidden_work(git: Git, root: Path, left_out: Mapping[str, str]) -> Mapping[str, str]:
    info = git.common_directory / "info"
    rules = dict.fromkeys((info / "exclude", info / "attributes"), "it decides which files git shows")
    ignored = dict.fromkeys(find_ignored_sources(git), "git ignores it")
    reasons = {**{root / path: reason for path, reason in {**ignored, **left_out}.items()}, **rules}
    states = {path: _fingerprint(path) for path in reasons}
    return {
        f"{path.relative_to(root) if path.is_relative_to(root) else path} ({reasons[path]})": state
        for path, state in states.items()
        if state
    }


def _fingerprint(path: Path) -> str:
    """Return a digest of the names, sizes and times of a file, or of the files below a directory."""
    paths = [path] if path.is_file() else islice(path.rglob("*"), MOST_FINGERPRINTED)
    states = []
    for file in paths:
        try:
            status = file.lstat()
        except OSError:
            continue
        if ".git" not in file.relative_to(path).parts and not stat.S_ISDIR(status.st_mode):
            states.append((str(file), status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return sha256(repr(states).encode("utf-8", "surrogateescape")).hexdigest()[:24] if states else ""


@dataclass(frozen=True, kw_only=True)
class PushedBranch:
    name: str
    commit: str
    base: str
    """The commit that the remote repository has already; empty if nothing says which."""
    changed: tuple[str, ...] = ()
    """Paths that differ from the base."""
    obstacle: str = ""
    """Why it is not judged: a clause; empty if it can be."""


def find_pushed_branches(directory: Path, lines: str, *, remote: str) -> Iterator[PushedBranch]:
    """Yield the branches whose content a push changes, from the lines that git gives to a pre-push hook.

    Each line holds local name, local commit, remote name and remote commit; zeros stand for no commit. Of a
    branch that is new to the remote repository, what its main branch has already is not judged. What brings
    commits that no known branch of the remote repository has, and cannot be judged, has an obstacle.
    """
    git = find_checkout(directory).git
    for fields in map(str.split, lines.splitlines()):
        if len(fields) != 4 or not fields[1].strip("0"):
            continue
        name, commit = fields[2].removeprefix("refs/heads/"), fields[1]
        known = git.resolve_commit(fields[3]) if fields[3].strip("0") else None
        base = known or _published_base(git, remote)
        base = _find_merge_base(git, base, commit) if base else None
        if not fields[2].startswith("refs/heads/"):
            obstacle = "only branches are"
        elif base is None:
            obstacle = (
                f"no commit that {remote or 'the other side'} is known to have is a part of its history"
            )
        else:
            if changed := changed_paths(git, old=base, new=commit):
                yield PushedBranch(name=name, commit=commit, base=base, changed=changed)
            continue
        if git.text("rev-list", "--max-count=1", commit, "--not", f"--remotes={remote or '*'}").strip():
            yield PushedBranch(name=name, commit=commit, base="", obstacle=obstacle)


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


def _find_merge_base(git: Git, first: str, second: str) -> str | None:
    output = git.call("merge-base", first, second, accept=None)
    return output.stdout.decode().strip() if output.status == 0 else None
