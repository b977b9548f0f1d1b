"""Changes to the user's checkout on request: apply, merge and undo."""

import re
from collections.abc import Sequence
from pathlib import Path

from coder.core.errors import UserError
from coder.core.text import first_line
from coder.core.values import Delivery, NewCommit
from coder.repo.delivery import (
    create_user_commit,
    delivery_base,
    find_copies,
    has_change,
    make_commit,
    make_copy,
    remove_notes,
)
from coder.repo.git import Git, find_checkout
from coder.repo.worktrees import changed_entries, encode_diff, find_filter_drivers, make_patch, merge_change

UNFINISHED_OPERATIONS = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisect",
}
FAST_FORWARD_COMMAND = (
    "merge",
    "--ff-only",
    "--quiet",
    "--no-squash",
    "--no-autostash",
    "--no-stat",
    "--no-verify-signatures",
)


def has_delivery(git: Git, delivery: Delivery) -> bool:
    """Tell whether a branch holds a delivered commit that HEAD has not reverted; a diff counts as there."""
    commit = delivery.commit
    if not commit:
        return True
    return git.resolve_commit(commit) is not None and (
        (delivery.branch and _holds(git, f"refs/heads/{delivery.branch}", commit))
        or (
            _holds(git, "refs/heads", commit)
            and not _is_reverted(git, commit)
            and any(not _has_revert(git, found) for found in (commit, *find_copies(git, commit)))
        )
    )


def _holds(git: Git, refs: str, commit: str) -> bool:
    return bool(git.text("for-each-ref", "--count=1", f"--contains={commit}", refs))


def _is_reverted(git: Git, commit: str) -> bool:
    """Tell whether HEAD contains a commit and the reversal of its change."""
    head = git.resolve_commit("HEAD")
    is_contained = head is not None and git.succeeds("merge-base", "--is-ancestor", commit, head)
    if head is None or not is_contained or git.resolve_commit(f"{commit}^") is None:
        return False
    base = delivery_base(git, commit)
    is_empty = git.resolve_tree(commit) == git.resolve_tree(base)
    return not is_empty and merge_change(git, old=commit, new=base, onto=head) == git.resolve_tree(head)


def bring_commit(git: Git, commit: str, earlier: Sequence[str] = ()) -> NewCommit:
    """Bring a delivered commit onto the current branch, after those that it builds on.

    Return the resulting commit: the delivered one, or its copy on a newer HEAD. Nobody has tested the tree of
    a copy: its trailers say so, and it has no note.

    Raises:
        UserError: it does not fit, or a path it touches is not clean; nothing was changed.
    """
    head = _require_head(git)
    brought = create_user_commit(
        git, lambda signed: _stack_commits(git, (*earlier, commit), head=head, signed=signed)
    )
    _fast_forward(git, brought.id, action="coder apply")
    return brought


def _stack_commits(git: Git, commits: Sequence[str], *, head: str, signed: bool = False) -> str:
    """Return HEAD with delivered commits on top, as copies where the parent differs; no ref points to it."""
    *earlier, newest = commits
    missing = (old for old in earlier if git.resolve_commit(old) and not has_change(git, old))
    for commit in (*missing, newest):
        is_next = delivery_base(git, commit) == head
        head = commit if is_next else _make_unverified_copy(git, commit, head=head, signed=signed)
    return head


def _make_unverified_copy(git: Git, commit: str, *, head: str, signed: bool = False) -> str:
    """Copy a fix that was verified elsewhere onto HEAD and return the commit."""
    claims = git.text("log", "-1", "--format=%(trailers:key=Coder-Verdict,valueonly)", commit)
    claimed, base = first_line(claims), delivery_base(git, commit)
    verdict = (f"Coder-Verdict: UNVERIFIED ({claimed.lower()} on {base[:10]})",) if claimed else ()
    tree = _tree_on_head(git, head, commit)
    return make_copy(git, commit, tree=tree, parent=head, verdict=verdict, signed=signed)


def check_commit(directory: Path, commit: str, earlier: Sequence[str] = ()) -> str:
    """Report in one line what `apply_commit` would do, without changing anything.

    Raises:
        UserError: it would refuse.
    """
    git, head, brought = _try_commit(directory, commit, earlier)
    paths = list(changed_entries(git, old=head, new=brought))
    fix = f"the fix {commit[:10]}" if brought == commit else f"an unverified copy of the fix {commit[:10]}"
    return (
        f"{_current_branch(git)} would move on to {fix}, and {', '.join(paths[:10])} would change; "
        "nothing was written."
    )


def preview_commit(directory: Path, commit: str, earlier: Sequence[str] = ()) -> tuple[str, bool]:
    """Return the diff of what `apply_commit` would change, and whether that is the delivered commit alone.

    Raises:
        UserError: it would refuse.
    """
    git, head, brought = _try_commit(directory, commit, earlier)
    is_delivered = brought == commit and delivery_base(git, commit) == head
    return make_patch(git, old=head, new=brought).diff, is_delivered


def _try_commit(directory: Path, commit: str, earlier: Sequence[str]) -> tuple[Git, str, str]:
    """Return git, HEAD, and the commit that `apply_commit` would move it to."""
    git = find_checkout(directory).git
    head = _require_head(git)
    brought = _stack_commits(git, (*earlier, commit), head=head)
    paths = list(changed_entries(git, old=head, new=brought))
    unclean = {
        *git.items("diff-index", "--name-only", "-z", head, "--", *paths),
        *git.items("ls-files", "--others", "-z", "--", *paths),
    }
    if unclean:
        raise _overwrite_error(sorted(unclean))
    return git, head, brought


def apply_commit(directory: Path, commit: str, earlier: Sequence[str] = ()) -> str:
    """Bring a delivered commit onto the current branch of the checkout and return a report.

    `earlier` are the commits that it builds on, oldest first; those that HEAD lacks come with it.

    Raises:
        UserError: it does not fit, or a path it touches is not clean; nothing was changed.
    """
    git = find_checkout(directory).git
    brought = bring_commit(git, commit, earlier)
    sentence = f"{_current_branch(git)} is now at {brought.id[:10]}, which holds the fix"
    if brought.id == commit:
        return f"{sentence}."
    sentence += ", UNVERIFIED: HEAD has moved since it was judged. Judge it here: coder verify HEAD"
    return _join_lines(sentence, brought.remark)


def apply_diff(directory: Path, diff: str, *, check: bool = False, reverse: bool = False) -> str:
    """Apply a change delivered as a diff to the files of a checkout, uncommitted, or reverse it.

    Either all of it is applied or nothing.

    Raises:
        UserError: it does not fit; nothing was changed.
    """
    checkout = find_checkout(directory)
    options = [option for option, is_set in (("--check", check), ("--reverse", reverse)) if is_set]
    applied = checkout.git.call(
        *("apply", "--whitespace=nowarn", *options, "-"),
        stdin=encode_diff(diff, checkout.root),
        accept=None,
        has_terminal=False,  # as when a commit is brought
    )
    if applied.status != 0:
        raise UserError(
            f"The change does not fit the files as they are now ({applied.fault}). Nothing was changed."
        )
    if check:
        return "The change fits the working tree; nothing was written."
    return (
        "The change was taken out of the working tree."
        if reverse
        else "The change is in the working tree, uncommitted."
    )


def undo_delivery(directory: Path, *, branch: str, commit: str, earlier: str = "") -> str:
    """Undo a delivered fix: revert it where HEAD contains it, then delete its branch and notes.

    Return a report. If the branch also holds an `earlier` delivery, it is set back to that.

    Raises:
        UserError: the branch holds more than the fix, or the revert does not fit; nothing was changed.
    """
    git = find_checkout(directory).git
    tip = git.resolve_commit(f"refs/heads/{branch}")
    if tip is not None:
        _check_branch(git, branch, tip=tip, commit=commit)
    applied_commits = _find_applied(git, commit, branch=branch)
    reverts = [_revert(git, applied_commit) for applied_commit in applied_commits]
    actions = [action for action, _ in reverts]
    if tip is not None:
        if earlier and git.succeeds("merge-base", "--is-ancestor", earlier, tip):
            git.call("update-ref", "-m", "coder: undone", f"refs/heads/{branch}", earlier, tip)
            actions.append(f"set the branch {branch} back to {earlier[:10]}")
        else:
            git.call("branch", "--quiet", "-D", branch)
            actions.append(f"deleted the branch {branch}")
    remove_notes(git, *{commit, *applied_commits})
    sentence = " and ".join(actions) or "there was nothing left of the fix to take back"
    left = "" if applied_commits else _describe_rest(git, commit)
    return _join_lines(f"{sentence[0].upper()}{sentence[1:]}.", left, *(remark for _, remark in reverts))


def _describe_rest(git: Git, commit: str) -> str:
    """Return that HEAD has the change of a commit by another, such as a squashed merge; else nothing."""
    head = git.resolve_commit("HEAD")
    if head is None or git.resolve_commit(commit) is None:
        return ""
    tree = merge_change(git, old=delivery_base(git, commit), new=commit, onto=head)
    rest = "The current branch holds its change by another commit: take that back with git revert."
    return rest if tree == git.resolve_tree(head) else ""


def _check_branch(git: Git, branch: str, *, tip: str, commit: str) -> None:
    if tip != commit:
        raise UserError(
            f"{branch} has later commits on top of the fix; nothing was changed. Take back later ones first, "
            f"or delete it yourself with: git branch -D {branch}"
        )
    if where := git.text("for-each-ref", "--format=%(worktreepath)", f"refs/heads/{branch}"):
        where = str(git.directory) if git.inert and Path(where).is_relative_to(git.inert.path) else where
        raise UserError(
            f"{branch} is checked out in {where}; switch to another branch first. Nothing was changed."
        )


def _find_applied(git: Git, commit: str, *, branch: str) -> list[str]:
    """Return the commit through which HEAD contains the fix, as a list of at most one."""
    if git.resolve_commit(commit) is not None:
        if git.succeeds("merge-base", "--is-ancestor", commit, "HEAD"):
            return _newest_in_effect(git, [*find_copies(git, commit), commit])
        others = git.text(
            "for-each-ref", "--format=%(refname:short)", f"--contains={commit}", "refs/heads"
        ).split()
        if others := [other for other in others if other != branch]:
            raise UserError(
                f"The fix {commit[:10]} is on {others[0]}, not on the current branch; check that out "
                "first. Nothing was changed."
            )
    return _newest_in_effect(git, find_copies(git, commit))


def _newest_in_effect(git: Git, commits: Sequence[str]) -> list[str]:
    """Return the first commit that is not reverted, else the last one, as a list of at most one."""
    return [commit for commit in commits if not _has_revert(git, commit)][:1] or [*commits[-1:]]


def _has_revert(git: Git, commit: str) -> bool:
    """Tell whether a later commit of HEAD says that it reverts this one, and is not reverted itself."""
    endings = (f"--grep=This reverts commit {commit}", f"--grep=..{commit}.")
    reverts = git.text("log", "--format=%H", "--fixed-strings", *endings, f"{commit}..HEAD").split()
    return any(not _has_revert(git, revert) for revert in reverts)


def _revert(git: Git, commit: str) -> tuple[str, str]:
    """Revert a commit, unless HEAD holds its reversal already.

    Return what was done, and the remark about the new commit.
    """
    if _has_revert(git, commit):
        return f"found {commit[:10]} reverted already", ""
    head, base = _require_head(git), delivery_base(git, commit)
    tree = merge_change(git, old=commit, new=base, onto=head)
    if tree is None:
        raise UserError(
            f"{commit[:10]} cannot be reverted: later commits changed the same lines. Nothing was "
            f"changed; try: git revert {commit[:10]}"
        )
    if git.resolve_tree(commit) == git.resolve_tree(base):
        return f"left {commit[:10]} in place, because it changes nothing", ""
    if tree == git.resolve_tree(head):
        return f"found {commit[:10]} reverted already", ""
    subject = git.text("log", "-1", "--format=%s", commit)
    description = (
        f"commit {commit}" if git.resolve_commit(f"{commit}^") == base else f"the commits {base}..{commit}"
    )
    message = f'Revert "{subject}"\n\nThis reverts {description}.'
    revert = create_user_commit(
        git, lambda signed: make_commit(git, tree=tree, parent=head, message=message, signed=signed)
    )
    _fast_forward(git, revert.id, action="coder undo")
    return f"reverted {commit[:10]} with {revert.id[:10]}", revert.remark


def _tree_on_head(git: Git, head: str, commit: str) -> str:
    if git.resolve_commit(commit) is None:
        raise UserError(f"The commit {commit[:10]} is not in this repository any more; nothing was changed.")
    tree = merge_change(git, old=delivery_base(git, commit), new=commit, onto=head)
    if tree is None:
        raise UserError(
            f"The fix {commit[:10]} no longer fits: HEAD has changed the same lines since. Nothing was "
            "changed."
        )
    if tree == git.resolve_tree(head):
        raise UserError(f"HEAD already holds the change of {commit[:10]}; nothing was changed.")
    return tree


def _require_head(git: Git) -> str:
    """Return HEAD; raise UserError if an operation of the user is unfinished."""
    for name, operation in UNFINISHED_OPERATIONS.items():
        if (git.directory / git.text("rev-parse", "--git-path", name)).exists():
            raise UserError(
                f"{operation.capitalize()} is under way in {git.directory}; finish or abort it first. "
                "Nothing was changed."
            )
    return git.text("rev-parse", "HEAD")


def _current_branch(git: Git) -> str:
    return git.text("rev-parse", "--abbrev-ref", "HEAD")


def _fast_forward(git: Git, commit: str, *, action: str) -> None:
    """Move HEAD and the files to a child of HEAD.

    Git itself leaves dirty files alone and refuses if it would have to change one.

    Raises:
        UserError: git refuses, or a file has a filter, which coder does not run and without which git would
            write the stored form.
    """
    if drivers := find_filter_drivers(git, list(changed_entries(git, old="HEAD", new=commit))):
        path, driver = next(iter(drivers.items()))
        raise UserError(
            f"{path} is under the git filter {driver}, which coder does not run; nothing was changed. "
            f"Try: git merge {commit[:10]}"
        )
    merge = git.call(
        *(*FAST_FORWARD_COMMAND, commit),
        environment={"GIT_REFLOG_ACTION": action},
        accept=None,
        has_terminal=False,  # so that no interrupt leaves half of the files
    )
    if merge.status == 0:
        return
    paths = re.findall(r"^\t(.+)$", merge.stderr, re.MULTILINE)
    if paths:
        raise _overwrite_error(paths)
    raise UserError(f"git refused to move HEAD ({merge.fault}). Nothing was changed.")


def _overwrite_error(paths: Sequence[str]) -> UserError:
    return UserError(
        f"{', '.join(paths[:5])} would be overwritten, and what is there is not committed. Commit "
        "or stash it and try again."
    )


def _join_lines(*lines: str) -> str:
    return "\n".join(filter(None, lines))
