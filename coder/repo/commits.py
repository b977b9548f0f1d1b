"""Commits, branches and notes in the person's name."""

import os
import re
from collections.abc import Mapping

from coder.core.errors import GitError
from coder.repo.git import Git
from coder.repo.locks import repository_lock

NOTES = "refs/notes/coder"
FALLBACK = {
    f"GIT_{role}_{field}": value for role in ("AUTHOR", "COMMITTER") for field, value in (("NAME", "coder"), ("EMAIL", "coder@localhost"))
}


def make_commit(git: Git, *, tree: str, parent: str, message: str) -> str:
    """Make a commit that nothing points to yet, in the person's name, or coder's where git knows none."""
    text = message.rstrip() + "\n"
    return git.text("commit-tree", tree, "-p", parent, "-F", "-", stdin=os.fsencode(text), environment=_identity(git))


def make_copy(git: Git, commit: str, *, tree: str, parent: str) -> str:
    """Make a commit with the message of another, which its last line names as `git cherry-pick -x` does."""
    message = git.text("log", "-1", "--format=%B", commit).rstrip()
    has_trailers = "\n\n" in message and re.match(r"[\w-]+: ", message.rpartition("\n")[2])
    gap = "\n" if has_trailers else "\n\n"
    return make_commit(git, tree=tree, parent=parent, message=f"{message}{gap}(cherry picked from commit {commit})")


def copies(git: Git, commit: str) -> list[str]:
    """Commits of HEAD that say they were picked from this one, newest first."""
    since = (f"^{parent}",) if (parent := git.commit(f"{commit}^")) else ()
    return git.text("log", "--format=%H", "--fixed-strings", f"--grep=(cherry picked from commit {commit})", "HEAD", *since).split()


def make_branch(git: Git, *, slug: str, session: str, commit: str) -> str:
    """Point a new branch `coder/<slug>-<end of the session's id>` at a commit and return its name."""
    words = re.sub(r"[^a-z0-9]+", "-", slug.lower()).strip("-")[:40].rstrip("-") or "fix"
    name = f"coder/{words}-{short(session)}"
    # The second where the name is taken, the third where a branch is named just `coder`.
    for branch in (name, f"{name}-{commit[:7]}", f"{name}-{commit[:7]}".replace("/", "-", 1)):
        made = git.call("update-ref", "-m", "coder: delivered", f"refs/heads/{branch}", commit, "0" * len(commit), accept=None)
        if made.status == 0:
            return branch
    raise GitError(f"No branch could be made for {commit[:10]}: {made.fault}")


def short(session: str) -> str:
    """The end of a session's id, fit for a branch's name."""
    return re.sub(r"[^a-z0-9]", "", session.lower())[-6:] or "0"


def add_note(git: Git, commit: str, text: str) -> None:
    """Attach a note that `git notes --ref=coder show` and `git log --notes=coder` print."""
    _edit_notes(git, "add", "--force", "-F", "-", commit, stdin=text.encode())


def copy_note(git: Git, source: str, target: str) -> None:
    if git.call("notes", f"--ref={NOTES}", "list", source, accept=None).status == 0:
        _edit_notes(git, "copy", "--force", source, target)


def remove_notes(git: Git, *commits: str) -> None:
    _edit_notes(git, "remove", "--ignore-missing", *commits)
    tip = git.commit(NOTES)
    if tip and not git.items("ls-tree", "-z", tip):
        git.call("update-ref", "-d", NOTES, tip, accept=None)


def _edit_notes(git: Git, *arguments: str, stdin: bytes = b"") -> None:
    """`git notes` itself does not notice when another process adds a note at the same time, and one of them is lost."""
    with repository_lock(git.common):
        git.call("notes", f"--ref={NOTES}", *arguments, stdin=stdin, environment=_identity(git))


def _identity(git: Git) -> Mapping[str, str]:
    """Variables that name an author where the configuration names none."""
    roles = ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT")
    named = all(git.call("-c", "user.useConfigOnly=true", "var", role, accept=None).status == 0 for role in roles)
    return {} if named else FALLBACK
