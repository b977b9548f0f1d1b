"""The Repository port: one session's worktrees in a person's repository, and the delivery of its result."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copy2
from uuid import uuid4

from coder.core.errors import UserError
from coder.core.values.candidate import Candidate, Delivery, Patch
from coder.repo.delivery.checkout import bring
from coder.repo.delivery.commits import STEP, make_commit, with_trailers
from coder.repo.delivery.pending import PendingDelivery
from coder.repo.git import Git, Place, find
from coder.repo.history.history import GitHistory
from coder.repo.recovery import Traces, clean
from coder.repo.worktrees import artifacts, trees, worktree
from coder.repo.worktrees.filters import notices, tracked_filter_drivers
from coder.repo.worktrees.snapshot import Snapshot, keep, stage, take, untracked_files, write_tree
from coder.repo.worktrees.worktree import Worktree


@dataclass(kw_only=True)
class SessionRepository:
    """What changes is the worktrees and the session's private refs."""

    place: Place
    traces: Traces
    head: str
    """The commit that the fix is delivered on: HEAD, or the revision asked for."""
    base: str
    left_out: tuple[str, ...]
    """Uncommitted work that `base` lacks, and whatever else a candidate's change had to leave out, each with the reason."""
    ignored: tuple[str, ...]
    """Artefacts and submodules that each worktree is given a copy of."""
    worktrees: dict[str, Worktree] = field(default_factory=dict)
    steps: int = 0
    """Commits that the candidates have made so far."""
    rebased_trees: set[str] = field(default_factory=set)
    """Those that `rebased` has made: they hold no uncommitted work any more."""

    @property
    def root(self) -> Path:
        return self.place.root

    @property
    def dirty(self) -> bool:
        return self.base != self.head

    @property
    def history(self) -> GitHistory:
        return GitHistory(git=self.place.git, revision=self.base)

    def candidate(self, name: str) -> Candidate:
        """Make a linked worktree at `base`, with the ignored artefacts that tests need."""
        path = self.traces.worktrees / f"{self.traces.session}-{name}"
        made = self._worktree(path, self.base)
        index = self.traces.indexes / name
        # An index of our own: what a model does with `git add` or `git stash` in there never matters.
        copy2(made.git.text("rev-parse", "--git-path", "index"), index)
        self.worktrees[name] = Worktree(path=path, git=made.git.with_index(index), brought=made.brought)
        return Candidate(id=name, worktree=path, base=self.base)

    def patch(self, candidate: Candidate) -> Patch:
        """The candidate's whole change so far, new files included, ignored files not."""
        return trees.patch(self.place.git, old=self.base, new=self._tree(candidate))

    def checkpoint(self, candidate: Candidate, subject: str) -> str:
        """Commit the worktree's state on the candidate's private branch, keep it as the session's next step, and return the commit."""
        git, head = self.place.git, self.traces.head_of(candidate.id)
        parent = git.commit(head) or self.base
        commit = keep(git, tree=self._tree(candidate), parent=parent, subject=subject)
        self.steps += 1
        update = f"update {head} {commit}\nupdate {self.traces.refs}steps/{self.steps} {commit}\n"
        git.call("update-ref", "--stdin", stdin=update.encode())
        return commit

    def rollback(self, candidate: Candidate, tree: str) -> None:
        """Make the candidate's worktree equal to a tree or commit of the session, untracked files included, ignored ones not.

        Its private branch moves to the step that has this tree, whichever candidate made it, or to the base.
        """
        own, git = self.worktrees[candidate.id], self.place.git
        _reset(own, tree, spared=own.brought)
        wanted = git.tree(tree)
        steps = git.call(
            "for-each-ref",
            "--sort=-version:refname",
            "--format=%(objectname) %(tree)",
            f"{self.traces.refs}steps/",
        ).stdout
        found = (line.split(" ") for line in steps.decode().splitlines())
        commit = next((commit for commit, of_step in found if of_step == wanted), self.base)
        git.call("update-ref", self.traces.head_of(candidate.id), commit)

    @contextmanager
    def restoring(self, candidate: Candidate) -> Iterator[None]:
        """On exit the candidate's worktree is as it was, so that what tests write there is no part of its change; ignored files stay."""
        own = self.worktrees[candidate.id]
        tree = self._tree(candidate)
        there = frozenset(untracked_files(own.git))
        try:
            yield
        finally:
            _reset(own, tree, spared=own.brought | there)

    @contextmanager
    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> Iterator[Path]:
        """A clean disposable worktree at `base` with the content of `tree` (all of it, or at `paths` only); gone on exit."""
        content = (
            tree if paths is None else trees.composed(self.place.git, old=self.base, new=tree, paths=paths)
        )
        path = self.traces.worktrees / f"{self.traces.session}-t{uuid4().hex[:8]}"
        try:
            yield self._worktree(path, content).path
        finally:
            worktree.remove(self.place.common, path)

    def changed(self, tree: str) -> tuple[str, ...]:
        """Paths that differ between `base` and `tree`, sorted."""
        return trees.changed_paths(self.place.git, old=self.base, new=tree)

    def edits(self, tree: str) -> Mapping[str, str | None] | None:
        """The texts in `tree` of all paths that differ (None: no such file); None at all where one is no plain file of UTF-8."""
        return trees.edits(self.place.git, old=self.base, new=tree)

    def rebased(self, patch: Patch) -> Patch | None:
        """The same change on HEAD without the uncommitted work, as a tree and diff; None where it does not fit there."""
        if not self.dirty:
            return patch
        tree = trees.carried(self.place.git, old=self.base, new=patch.tree, onto=self.head)
        if tree is None:
            return None
        self.rebased_trees.add(tree)
        return trees.patch(self.place.git, old=self.head, new=tree)

    def on_head(self) -> "SessionRepository":
        """The same repository with plain HEAD as the base, for proving a rebased change there."""
        return replace(self, base=self.head)

    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        """Put the change on a new branch on top of HEAD, with `evidence` as the commit's git note; as a diff where it does not fit.

        It is one commit, or the last after a copy of each step of a candidate, `steps_of`.
        """
        git = self.place.git
        fitting = patch if patch.tree in self.rebased_trees else self.rebased(patch)
        if fitting is None:
            return Delivery(diff=trees.diff(git, old=self.base, new=patch.tree), needs_uncommitted_work=True)
        # The trailer keeps apart what two sessions deliver in the same second: else it is one commit, with one note.
        own = with_trailers(message, f"Coder-Session: {self.traces.session}")
        parent = self.head if steps_of is None else self._copy_steps(steps_of, last=fitting.tree)
        commit = make_commit(git, tree=fitting.tree, parent=parent, message=own)
        pending = PendingDelivery(
            common=self.traces.common,
            session=self.traces.session,
            commit=commit,
            slug=slug,
            evidence=evidence,
        )
        pending.record(self.traces.state)
        return pending.complete()

    def merge(self, delivery: Delivery) -> str:
        """Bring a delivered commit onto the person's current branch; return what is there now: the commit, or an unverified copy of it.

        Raises:
            UserError: it no longer fits, or a path it needs is dirty; nothing was changed.
        """
        return bring(self.place.git, delivery.commit)

    def subjects(self, count: int) -> tuple[str, ...]:
        """The newest commit subjects, for their style."""
        output = self.place.git.call(
            "log", "--no-merges", "--format=%s", f"--max-count={count}", self.head
        ).stdout
        return tuple(output.decode("utf-8", "replace").splitlines())

    def close(self) -> None:
        """Remove worktrees and private refs, whose steps are kept as a bundle; what was delivered stays."""
        clean(self.traces)

    def _copy_steps(self, candidate: Candidate, *, last: str) -> str:
        """Copy a candidate's steps onto HEAD, those that fit there and change something, and return the newest copy.

        `last` is the tree that the commit after them will have.
        """
        git, head = self.place.git, self.traces.head_of(candidate.id)
        copy, tree = self.head, git.tree(self.head)
        steps = (
            git.text("log", "--reverse", "--format=%H %s", f"{self.base}..{head}").splitlines()
            if git.commit(head)
            else []
        )
        for commit, _, subject in (step.partition(" ") for step in steps):
            on_head = (
                trees.carried(git, old=self.base, new=commit, onto=self.head)
                if self.dirty
                else git.tree(commit)
            )
            if on_head is not None and on_head not in (tree, last):
                message = with_trailers(subject, f"{STEP}: {self.traces.session}")
                copy, tree = make_commit(git, tree=on_head, parent=copy, message=message), on_head
        return copy

    def _tree(self, candidate: Candidate) -> str:
        own = self.worktrees[candidate.id]
        left_out = stage(own.git, own.brought)
        self.left_out = tuple(dict.fromkeys((*self.left_out, *left_out)))
        return write_tree(own.git)

    def _worktree(self, path: Path, tree: str) -> Worktree:
        git = worktree.add(self.place, path, commit=self.base, tree=tree)
        return Worktree(
            path=path, git=git, brought=artifacts.bring(self.ignored, source=self.root, target=path)
        )


def open_repository(directory: Path, *, session: str, state: Path, base: str | None) -> SessionRepository:
    """Find the repository that a directory is in and note where the work starts: at `base`, or at HEAD with the uncommitted work.

    `state` is the session's own directory, outside of the repository, which this process holds.

    Raises:
        UserError: there is no repository that can be worked with, or no such revision.
    """
    place = find(directory)
    head = place.head if base is None else place.git.commit(base)
    if head is None:
        raise UserError(f"There is no revision {base!r} in {place.root}; git log shows those that exist.")
    traces = Traces(session=session, state=state.resolve(), common=place.common, head=head)
    traces.record()
    try:
        start = _start(place.git, traces, head=head, as_committed=base is not None)
        return SessionRepository(
            place=place,
            traces=traces,
            head=head,
            base=start.commit,
            left_out=(*notices(tracked_filter_drivers(place.git)), *start.left_out),
            ignored=(*artifacts.ignored_artefacts(place.git), *artifacts.submodules(place.git, start.commit)),
        )
    except BaseException:
        clean(traces)
        raise


def _reset(own: Worktree, tree: str, *, spared: Collection[str]) -> None:
    """Make a worktree equal to a tree; of what is in neither, only the `spared` and the ignored files stay."""
    for path in untracked_files(own.git):
        if path not in spared:
            worktree.remove_tree(own.path / path)
    own.git.call("read-tree", "--reset", "-u", tree)


def _start(git: Git, traces: Traces, *, head: str, as_committed: bool) -> Snapshot:
    if as_committed:
        return Snapshot(commit=head, left_out=())
    start = take(git, head=head, index=traces.indexes / "snapshot")
    if start.commit != head:
        git.call("update-ref", f"{traces.refs}snapshot", start.commit)
    return start
