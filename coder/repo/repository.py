"""A session's repository: its worktrees, delivery of its result, and removal of what it leaves.

What it leaves is recorded first, so that any later session can clean up after a killed one.
"""

import json
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from shutil import copy2
from uuid import uuid4

from coder.core.errors import CoderError, GitError, UserError
from coder.core.values import Candidate, Delivery, NewCommit, Patch
from coder.files.regular_files import DISCARDED, discard_tree, replace_text
from coder.repo import artifacts, worktrees
from coder.repo.artifacts import InstalledPackages, find_installed_packages
from coder.repo.checkout import bring_commit, has_delivery
from coder.repo.delivery import (
    INTENT_FILE,
    NOTES_REF,
    STEP_TRAILER,
    PendingDelivery,
    append_trailers,
    create_user_commit,
    has_change,
    make_commit,
    read_pending,
    short_session_id,
)
from coder.repo.git import (
    CODER_IDENTITY,
    Checkout,
    Git,
    InertDirectory,
    current_owner,
    find_checkout,
    find_git,
    read_owner,
    repository_lock,
    session_lock,
)
from coder.repo.history import GitHistory
from coder.repo.worktrees import (
    UNCOMMITTED_SUBJECT,
    Worktree,
    WorktreePool,
    WorkTreeSnapshot,
    commit_tree,
    filter_notices,
    find_tracked_filter_drivers,
    find_untracked_files,
    format_exclusions,
    remove_worktrees,
    stage_work_tree,
    take_snapshot,
    write_tree,
)

RECORD_FILE = "workspace.json"
VISIBLE_DIRECTORY = Path("/var/tmp")


@dataclass(frozen=True, kw_only=True)
class SessionPaths:
    session: str
    state: Path
    """The session's own directory."""
    common: Path
    """The git directory of the repository."""

    def candidate_ref(self, candidate: str) -> str:
        return f"{self.refs}heads/{candidate}"

    @property
    def worktrees(self) -> Path:
        """The directory of the worktrees, in no hidden one where that is possible.

        Programs under test skip hidden directories: Express's file server answers 404 for files there.
        """
        is_hidden = any(part.startswith(".") for part in self.state.parts)
        visible = _own_visible_directory() if is_hidden else None
        if visible is None:
            return self.state / "worktrees"
        return visible / sha256(os.fsencode(self.state)).hexdigest()[:16]

    @property
    def indexes(self) -> Path:
        return self.state / "indexes"

    @property
    def refs(self) -> str:
        return f"refs/coder/{self.session}/"

    def write_record(self) -> None:
        """Write the record into the session's directory atomically, creating directories where needed."""
        self.indexes.mkdir(parents=True, exist_ok=True)
        record = json.dumps({"common": str(self.common)})
        replace_text(self.state / RECORD_FILE, record)


def _own_visible_directory() -> Path | None:
    """Return a directory of this user alone that survives a restart; None if there is none."""
    directory = VISIBLE_DIRECTORY.resolve() / f"coder-{os.getuid()}"
    try:
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        status = directory.lstat()
    except OSError:
        return None
    is_own = status.st_uid == os.getuid() and stat.filemode(status.st_mode) == "drwx------"
    is_executable = not os.statvfs(directory).f_flag & os.ST_NOEXEC  # tests start programs of the tree
    return directory if is_own and is_executable else None


def remove_traces(traces: SessionPaths, *, keep_record: bool = False) -> None:
    """Remove a session's worktrees, private refs and indexes; deliveries stay.

    With `keep_record` a later call does it again, for a session that may still be working.

    Raises:
        GitError: a ref cannot be removed; a later call may.
    """
    if traces.common.is_dir():
        remove_worktrees(traces.common, traces.worktrees, prefix=f"{traces.session}-")
        _remove_stale_locks(traces)
        git = Git(
            directory=traces.state, git_dir=traces.common, inert=InertDirectory(traces.common, traces.common)
        )
        refs = git.text("for-each-ref", "--format=delete %(refname)", traces.refs)
        git.call("update-ref", "--stdin", stdin=f"{refs}\n".encode() if refs else b"")
    discard_tree(traces.worktrees)
    discard_tree(traces.indexes)
    if not (keep_record or traces.worktrees.exists()):
        (traces.state / RECORD_FILE).unlink(missing_ok=True)


def remove_own_traces(sessions: Path) -> None:
    """Remove the traces of all sessions of this process, which is about to end without ending them.

    Their records stay, so that the next process removes what their threads create meanwhile.
    """
    for record in sessions.glob(f"*/{RECORD_FILE}"):
        with suppress(OSError, ValueError, KeyError, CoderError):
            if read_owner(record.parent) == current_owner():
                remove_traces(_read_record(record), keep_record=True)


def remove_discarded(sessions: Path) -> None:
    """Remove what is left of discarded worktrees after their removal was killed."""
    visible = _own_visible_directory()
    for rest in (*sessions.glob(f"*/*{DISCARDED}*"), *(visible.glob(f"*{DISCARDED}*") if visible else ())):
        with suppress(OSError):
            discard_tree(rest)


def _read_record(record: Path) -> SessionPaths:
    """Return the locations that a session has recorded.

    Raises:
        OSError, ValueError, KeyError: the record is gone or truncated.
    """
    common = json.loads(record.read_text(encoding="utf-8"))["common"]
    return SessionPaths(session=record.parent.name, state=record.parent, common=Path(common))


def recover_abandoned(sessions: Path, settle: Callable[[Path, PendingDelivery], None]) -> tuple[str, ...]:
    """Clean up after every session that left traces and whose process is gone; return their ids.

    `settle` completes or undoes a started delivery, as the session's log decides.
    """
    states = {record.parent for name in (RECORD_FILE, INTENT_FILE) for record in sessions.glob(f"*/{name}*")}
    return tuple(state.name for state in sorted(states) if _recover_session(state, settle))


def _recover_session(state: Path, settle: Callable[[Path, PendingDelivery], None]) -> bool:
    try:
        with session_lock(state):
            if (state / RECORD_FILE).exists():
                remove_traces(_read_record(state / RECORD_FILE))
            pending = read_pending(state)
            if pending is not None and pending.common.is_dir():
                settle(state, pending)
            (state / INTENT_FILE).unlink(missing_ok=True)
            for draft in (*state.glob(f"{RECORD_FILE}.*"), *state.glob(f"{INTENT_FILE}.*")):
                draft.unlink()  # of a process that was killed while it replaced the file
    except (UserError, GitError, OSError, ValueError, KeyError):
        # Still running, just cleaned up by another process, busy, broken, or a truncated record: this must
        # not block work in other repositories.
        return False
    return True


def _remove_stale_locks(traces: SessionPaths) -> None:
    """Remove the `<ref>.lock` files that a killed git leaves.

    Only locks that no other session and no user could hold are removed.
    """
    for lock in (traces.common / traces.refs).rglob("*.lock"):
        lock.unlink(missing_ok=True)
    for lock in (traces.common / "refs" / "heads" / "coder").glob(
        f"*-{short_session_id(traces.session)}.lock"
    ):
        lock.unlink(missing_ok=True)
    with repository_lock(traces.common):  # held by every writer of notes
        (traces.common / f"{NOTES_REF}.lock").unlink(missing_ok=True)


class WorktreeGate:
    """Lets worktrees be created until the session ends, so that a thread that lives on leaves none behind."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._creating = 0
        self._is_closed = False

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Let the end of the session wait for the block.

        Raises:
            GitError: the session has ended.
        """
        with self._change:
            if self._is_closed:
                raise GitError("The session has ended, so there is no worktree for it.")
            self._creating += 1
        try:
            yield
        finally:
            with self._change:
                self._creating -= 1
                self._change.notify_all()

    def close(self) -> None:
        """Wait for the worktrees that are being created, and let no more be."""
        with self._change:
            self._is_closed = True
            self._change.wait_for(lambda: self._creating == 0)


@dataclass(kw_only=True)
class SessionRepository:
    """The state of one session in a repository: its worktrees and private refs."""

    user_checkout: Checkout
    paths: SessionPaths
    head: str
    """The commit that the fix is delivered on: HEAD, or the requested revision."""
    base: str
    exclusions: tuple[str, ...]
    """Uncommitted work that `base` lacks, and other paths left out of a candidate's change, each with the
    reason.
    """
    copied_paths: Mapping[str, str]
    """Artefacts and submodules that are copied into each worktree, by their paths there."""
    packages: InstalledPackages
    """Packages of Node.js that each worktree shares."""
    branch: str = ""
    """An earlier delivery's branch, at `head`, which a delivery extends."""
    worktrees: dict[str, Worktree] = field(default_factory=dict)
    steps: int = 0
    """The number of commits that the candidates have made so far."""
    rebased_trees: set[str] = field(default_factory=set)
    """Trees made by `rebase_on_head`: they contain no uncommitted work any more."""
    gate: WorktreeGate = field(default_factory=WorktreeGate, repr=False)
    """Shared with copies that have another base."""
    _pool: WorktreePool = field(init=False, repr=False)
    _patches: dict[str, Patch] = field(init=False, default_factory=dict, repr=False)
    """Changes from `base` by their trees, which never change: a verdict asks for the same ones many times."""
    _contents: dict[tuple[str, frozenset[str]], str] = field(init=False, default_factory=dict, repr=False)
    """Trees of `base` with paths of another tree, by that tree and the paths."""

    def __post_init__(self) -> None:
        self._pool = WorktreePool(
            lambda: self.paths.worktrees / f"{self.paths.session}-t{uuid4().hex[:8]}",
            self._add_worktree,
            copy_artifacts=self._copy_artifacts,
        )

    @property
    def root(self) -> Path:
        return self.user_checkout.root

    @property
    def exposed_directories(self) -> tuple[Path, ...]:
        """The directories of the user's checkout that commands in worktrees must be able to read."""
        return tuple((self.root / directory).resolve() for directory in self.packages.directories)

    @property
    def base_tree(self) -> str:
        return self.user_checkout.git.resolve_tree(self.base)

    def paths_beside_base(self) -> list[str]:
        """Return the tracked paths at which the user's checkout differs from `base`."""
        return self.user_checkout.git.items("diff", "--name-only", "-z", self.base)

    @property
    def dirty(self) -> bool:
        return self.base != self.head

    @property
    def history(self) -> GitHistory:
        return GitHistory(git=self.user_checkout.git, revision=self.base)

    def contains(self, commit: str) -> bool:
        """Tell whether the session starts from a state that has the change of a delivered commit."""
        git = self.user_checkout.git
        return bool(commit and git.resolve_commit(commit)) and has_change(git, commit, self.head)

    def create_candidate(self, name: str) -> Candidate:
        path = self.paths.worktrees / f"{self.paths.session}-{name}"
        added = self._add_worktree(path, self.base)
        index = self.paths.indexes / name
        # A separate index, so that a `git add` or `git stash` by the model has no effect.
        copy2(added.git.text("rev-parse", "--git-path", "index"), index)
        self.worktrees[name] = Worktree(path=path, git=added.git.with_index(index), artifacts=added.artifacts)
        return Candidate(id=name, worktree=path, base=self.base)

    def candidate_patch(self, candidate: Candidate) -> Patch:
        tree = self._write_tree(candidate)
        if tree not in self._patches:
            self._patches[tree] = worktrees.make_patch(self.user_checkout.git, old=self.base, new=tree)
        return self._patches[tree]

    def checkpoint(self, candidate: Candidate, subject: str) -> str:
        """Commit the worktree's state on the candidate's private branch and return the commit.

        The commit is also kept as the session's next step.
        """
        git, head = self.user_checkout.git, self.paths.candidate_ref(candidate.id)
        parent = git.resolve_commit(head) or self.base
        commit = commit_tree(git, tree=self._write_tree(candidate), parent=parent, subject=subject)
        self.steps += 1
        update = f"update {head} {commit}\nupdate {self.paths.refs}steps/{self.steps} {commit}\n"
        git.call("update-ref", "--stdin", stdin=update.encode())
        return commit

    def rollback(self, candidate: Candidate, tree: str) -> None:
        """Reset the candidate's worktree to a tree or commit of the session.

        Untracked files are reset as well, ignored ones are not. The private branch moves to the step that has
        this tree, whichever candidate made it, or to the base.
        """
        own_worktree, git = self.worktrees[candidate.id], self.user_checkout.git
        _reset_worktree(own_worktree, tree, spared=own_worktree.artifacts)
        target = git.resolve_tree(tree)
        steps = git.call(
            "for-each-ref",
            "--sort=-version:refname",
            "--format=%(objectname) %(tree)",
            f"{self.paths.refs}steps/",
        ).stdout
        entries = (line.split(" ") for line in steps.decode().splitlines())
        commit = next((commit for commit, step_tree in entries if step_tree == target), self.base)
        git.call("update-ref", self.paths.candidate_ref(candidate.id), commit)

    def adopt_change(self, candidate: Candidate, patch: Patch) -> None:
        """Set the candidate's worktree to a change that was made elsewhere.

        Raises:
            GitError: the change does not lead to the tree that it names, so it was damaged on the way.
        """
        tree = worktrees.apply_to_tree(
            self.user_checkout.git, patch.diff, onto=self.base, root=candidate.worktree
        )
        if tree is None or tree != patch.tree:
            raise GitError(f"The change of {candidate.id} arrived damaged.")
        self.rollback(candidate, tree)

    @contextmanager
    def restore_on_exit(self, candidate: Candidate) -> Iterator[None]:
        own_worktree = self.worktrees[candidate.id]
        tree = self._write_tree(candidate)
        untracked = frozenset(find_untracked_files(own_worktree.git))
        try:
            yield
        finally:
            _reset_worktree(own_worktree, tree, spared=own_worktree.artifacts | untracked)

    @contextmanager
    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> Iterator[Path]:
        with self._pool.checkout(self._content(tree, paths)) as path:
            yield path

    @contextmanager
    def read(self, tree: str, paths: Sequence[str] | None = None) -> Iterator[Path]:
        with self._pool.read(self._content(tree, paths)) as path:
            yield path

    def _content(self, tree: str, paths: Sequence[str] | None) -> str:
        if paths is None:
            return tree
        key = tree, frozenset(paths)
        if key not in self._contents:
            self._contents[key] = worktrees.compose_tree(
                self.user_checkout.git, old=self.base, new=tree, paths=paths
            )
        return self._contents[key]

    def changed_paths(self, tree: str) -> tuple[str, ...]:
        patch = self._patches.get(tree)
        return (
            patch.paths if patch else worktrees.changed_paths(self.user_checkout.git, old=self.base, new=tree)
        )

    def rebase_on_head(self, patch: Patch) -> Patch | None:
        if not self.dirty:
            return patch
        git = self.user_checkout.git
        tree = worktrees.merge_change(git, old=self.base, new=patch.tree, onto=self.head)
        if tree is None or tree == git.resolve_tree(self.head):
            return None
        self.rebased_trees.add(tree)
        return worktrees.make_patch(self.user_checkout.git, old=self.head, new=tree)

    def on_head(self) -> "SessionRepository":
        return self.since(self.head)

    def since(self, commit: str) -> "SessionRepository":
        """Return the same repository with another base."""
        return replace(self, base=commit)

    def commit_before(self, sessions: Collection[str]) -> str:
        """Return the commit before those at the end of HEAD that sessions delivered.

        Empty if the last one is of none of them, or there is uncommitted work.
        """
        git, marks = self.user_checkout.git, {f"Coder-Session: {session}" for session in sessions}
        output = git.call(
            "log", "--first-parent", "-z", f"--max-count={len(marks) + 1}", "--format=%H%n%B", self.head
        ).stdout
        newest, before = "", ""
        for entry in output.decode("utf-8", "replace").split("\0"):
            commit, *lines = entry.strip("\n").split("\n")
            newest, before = newest or commit, commit
            if marks.isdisjoint(lines):
                break
        else:
            return ""
        return "" if self.dirty or before == newest else before

    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        """Put the change on a new branch on top of HEAD, with `evidence` as the commit's git note.

        Where it does not apply there, return it as a diff. It is one commit, preceded by copies of the steps
        of the candidate `steps_of`, if any.
        """
        git = self.user_checkout.git
        rebased_patch = patch if patch.tree in self.rebased_trees else self.rebase_on_head(patch)
        if rebased_patch is None:
            return Delivery(
                diff=worktrees.diff_trees(git, old=self.base, new=patch.tree), needs_uncommitted_work=True
            )
        # The trailer makes equal deliveries of two sessions in the same second distinct commits and notes.
        full_message = append_trailers(message, f"Coder-Session: {self.paths.session}")
        tree = rebased_patch.tree

        def make(signed: bool) -> str:
            parent = self.head if steps_of is None else self._copy_steps(steps_of, last=tree, signed=signed)
            return make_commit(git, tree=tree, parent=parent, message=full_message, signed=signed)

        commit = create_user_commit(git, make)
        pending = PendingDelivery(
            common=self.paths.common,
            session=self.paths.session,
            commit=commit.id,
            slug=slug,
            evidence=evidence,
            branch=self.branch,
        )
        pending.record(self.paths.state)
        try:
            return pending.complete().model_copy(update={"remark": commit.remark})
        except GitError:
            pending.roll_back()
            raise

    def merge(self, delivery: Delivery) -> NewCommit:
        return bring_commit(self.user_checkout.git, delivery.commit)

    def recent_subjects(self, count: int) -> tuple[str, ...]:
        output = self.user_checkout.git.call(
            "log", "--no-merges", "--format=%s", f"--max-count={count}", self.head
        ).stdout
        return tuple(output.decode("utf-8", "replace").splitlines())

    def close(self) -> None:
        self.gate.close()
        remove_traces(self.paths)

    def _copy_steps(self, candidate: Candidate, *, last: str, signed: bool) -> str:
        """Copy a candidate's steps onto HEAD and return the newest copy.

        Steps that do not apply there or change nothing are skipped. `last` is the tree of the commit that
        will follow.
        """
        git, head = self.user_checkout.git, self.paths.candidate_ref(candidate.id)
        copy, tree = self.head, git.resolve_tree(self.head)
        steps = (
            git.text("log", "--reverse", "--format=%H %s", f"{self.base}..{head}").splitlines()
            if git.resolve_commit(head)
            else []
        )
        for commit, _, subject in (step.partition(" ") for step in steps):
            on_head = (
                worktrees.merge_change(git, old=self.base, new=commit, onto=self.head)
                if self.dirty
                else git.resolve_tree(commit)
            )
            if on_head is not None and on_head not in (tree, last):
                message = append_trailers(subject, f"{STEP_TRAILER}: {self.paths.session}")
                copy = make_commit(git, tree=on_head, parent=copy, message=message, signed=signed)
                tree = on_head
        return copy

    def _write_tree(self, candidate: Candidate) -> str:
        own_worktree = self.worktrees[candidate.id]
        left_out = stage_work_tree(own_worktree.git, own_worktree.artifacts)
        self.exclusions = tuple(dict.fromkeys((*self.exclusions, *format_exclusions(left_out))))
        return write_tree(own_worktree.git)

    def _add_worktree(self, path: Path, tree: str) -> Worktree:
        with self.gate.admit():
            git = worktrees.add_worktree(self.user_checkout, path, commit=self.base, tree=tree)
        return Worktree(path=path, git=git, artifacts=self._copy_artifacts(path))

    def _copy_artifacts(self, target: Path) -> frozenset[str]:
        self.packages.provide(target)
        return artifacts.copy_artifacts(self.copied_paths, source=self.root, target=target)


def open_repository(
    directory: Path, *, session: str, state: Path, base: str | None, delivered: str = "", branch: str = ""
) -> SessionRepository:
    """Open the repository that contains a directory and record where the work starts.

    It starts at `base`, or at HEAD with the uncommitted work; with the uncommitted work on top of the commit
    `delivered` where HEAD does not contain that. `state` is the session's own directory, outside of the
    repository, which this process holds.

    Raises:
        UserError: there is no repository that can be worked with, or no such revision.
    """
    place = find_checkout(directory)
    head = place.head if base is None else place.git.resolve_commit(base)
    is_ahead = delivered != "" and base is None and _is_ahead(place.git, delivered)
    if head is None:
        raise UserError(f"There is no revision {base!r} in {place.root}; git log shows those that exist.")
    traces = SessionPaths(session=session, state=state.resolve(), common=place.common_directory)
    traces.write_record()
    try:
        start = WorkTreeSnapshot(commit=head)
        if base is None:
            start = take_snapshot(place.git, head=head, index=traces.indexes / "snapshot")
        if is_ahead:
            start = _move_snapshot(place.git, start, head=head, onto=delivered)
        if start.commit != head:
            place.git.call("update-ref", f"{traces.refs}snapshot", start.commit)
        ignored_paths = artifacts.find_ignored_paths(place.git)
        return SessionRepository(
            user_checkout=place,
            paths=traces,
            head=delivered if is_ahead else head,
            branch=branch if is_ahead else "",
            base=start.commit,
            exclusions=(*filter_notices(find_tracked_filter_drivers(place.git)), *start.exclusions),
            copied_paths={
                **artifacts.find_meson_modules(place.root),
                **{path: path for path in artifacts.select_artifacts(place.root, ignored_paths)},
                **{path: path for path in artifacts.submodule_paths(place.git, start.commit)},
            },
            packages=find_installed_packages(place.root, ignored_paths),
        )
    except BaseException:
        remove_traces(traces)
        raise


def _reset_worktree(own_worktree: Worktree, tree: str, *, spared: Collection[str]) -> None:
    """Reset a worktree to a tree; untracked files are removed except for `spared` and ignored ones."""
    for path in find_untracked_files(own_worktree.git):
        if path not in spared:
            worktrees.remove_tree(own_worktree.path / path)
    own_worktree.git.call("read-tree", "--reset", "-u", tree)


def _is_ahead(git: Git, commit: str) -> bool:
    """Tell whether a branch holds a delivered commit whose change HEAD does not contain."""
    return has_delivery(git, Delivery(diff="", commit=commit)) and not has_change(git, commit)


def _move_snapshot(git: Git, start: WorkTreeSnapshot, *, head: str, onto: str) -> WorkTreeSnapshot:
    """Return the uncommitted work on top of another commit; it is left out where it does not fit there."""
    if start.commit == head:
        return replace(start, commit=onto)
    tree = worktrees.merge_change(git, old=head, new=start.commit, onto=onto)
    if tree is None:
        reason = "it changes the same lines as the change that this goes on from"
        return replace(start, commit=onto, left_out={**start.left_out, "your uncommitted work": reason})
    commit = commit_tree(git, tree=tree, parent=onto, subject=UNCOMMITTED_SUBJECT)
    return replace(start, commit=commit)


def export_tree(source: Path, tree: str, target: Path) -> None:
    """Write the files of a commit or tree of a checkout into a new directory, without the history.

    The ignored artefacts of the checkout that tests need come with them.

    Raises:
        UserError: there is no such checkout.
        GitError: there is no such tree.
    """
    place = find_checkout(source)
    target.mkdir(parents=True, exist_ok=True)
    with place.git.scratch_index(place.git.resolve_tree(tree)) as index:
        index.call("checkout-index", "--all", f"--prefix={target.resolve()}/")
    ignored_paths = artifacts.find_ignored_paths(place.git)
    paths = {path: path for path in artifacts.select_artifacts(place.root, ignored_paths)}
    artifacts.copy_artifacts(paths, source=place.root, target=target)


def init_repository(directory: Path, *, message: str) -> str:
    """Create a repository with a directory's files as the first commit of `main`; return that commit.

    It is coder's: for a repository of the user's own see `init_user_repository`.
    """
    git = _init(directory)
    commit = git.text("commit-tree", write_tree(git), "-m", message, environment=CODER_IDENTITY)
    git.call("update-ref", "HEAD", commit)
    return commit


def init_user_repository(directory: Path, *, message: str) -> NewCommit:
    """Create a repository as `init_repository` does; the commit is the user's, signed if git is set so."""
    git = _init(directory)
    tree = write_tree(git)
    commit = create_user_commit(
        git, lambda signed: make_commit(git, tree=tree, parent="", message=message, signed=signed)
    )
    git.call("update-ref", "HEAD", commit.id)
    return commit


def _init(directory: Path) -> Git:
    git = Git(directory=directory, git_dir=directory / ".git", work_tree=directory)
    git.call("init", "--quiet", "--initial-branch=main", str(directory))
    git = find_git(directory)  # from here on, the repository's configuration is ignored, as everywhere
    stage_work_tree(git)
    return git
