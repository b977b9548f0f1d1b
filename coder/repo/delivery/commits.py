"""Commits, branches and notes in the person's name."""

import re
from collections.abc import Iterator, Mapping, Sequence

from coder.core.errors import GitError
from coder.core.values.text import printable
from coder.repo.git import Git
from coder.repo.locks import repository_lock

NOTES = "refs/notes/coder"
STEP = "Coder-Step"
"""Trailer of the commits before the last of a delivery of several: the session that made it."""
VERDICT_TRAILER = re.compile(r"Coder-(?:Verdict|Test|Suite): ")
"""Trailers that say what was tested; they are true of one tree only."""
FALLBACK = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "coder"), ("EMAIL", "coder@localhost"))
}


def make_commit(git: Git, *, tree: str, parent: str, message: str) -> str:
    """Make a commit that nothing points to yet, in the person's name, or coder's where git knows none."""
    return git.text(
        "commit-tree", tree, "-p", parent, "-F", "-", stdin=git_text(message), environment=_identity(git)
    )


def git_text(text: str) -> bytes:
    """Return a commit message or note as it is stored: the one place that all text for git passes."""
    return (printable(text).rstrip() + "\n").encode()


def make_copy(git: Git, commit: str, *, tree: str, parent: str, verdict: Sequence[str]) -> str:
    """Make a commit with the message of another, which its last line names as `git cherry-pick -x` does.

    `verdict` are the trailers that take the place of those in which the original tells its own verdict.
    """
    message = git.text("log", "-1", "--format=%B", commit).rstrip()
    body, gap, last = message.rpartition("\n\n")
    kept = [line for line in last.split("\n") if not gap or not VERDICT_TRAILER.match(line)]
    text = f"{body}{gap}" + "\n".join(kept)
    return make_commit(
        git,
        tree=tree,
        parent=parent,
        message=with_trailers(text, *verdict, f"(cherry picked from commit {commit})"),
    )


def with_trailers(message: str, *lines: str) -> str:
    """Add lines to the trailers of a message, or begin such a block at its end."""
    text = message.rstrip()
    has_trailers = "\n\n" in text and re.match(r"[\w-]+: ", text.rpartition("\n")[2])
    return f"{text}{chr(10) if has_trailers else chr(10) * 2}" + "\n".join(lines)


def base_of(git: Git, commit: str) -> str:
    """Return the commit that a delivery begins at: its parent, or that of its first step; empty where a commit has no parent."""
    line = "%H %(trailers:key={},valueonly,separator=%x2C)"
    own = git.text("log", "-1", f"--format={line.format('Coder-Session')}", commit).partition(" ")[2]
    parent = ""
    for described in git.text(
        "log", "--first-parent", "--max-count=500", f"--format={line.format(STEP)}", commit
    ).splitlines()[1:]:
        parent, _, session = described.partition(" ")
        if not own or session != own:
            break
    return parent


def claimed_verdict(git: Git, commit: str) -> str:
    """Return the kind of verdict that a commit's trailers tell, such as `PROVEN`; empty where they tell none."""
    return (
        git.text("log", "-1", "--format=%(trailers:key=Coder-Verdict,valueonly)", commit)
        .partition("\n")[0]
        .strip()
    )


def copies(git: Git, commit: str) -> list[str]:
    """Commits of HEAD that say they were picked from this one, newest first."""
    since = (f"^{base}",) if git.commit(commit) and (base := base_of(git, commit)) else ()
    return git.text(
        "log",
        "--format=%H",
        "--fixed-strings",
        f"--grep=(cherry picked from commit {commit})",
        "HEAD",
        *since,
    ).split()


def make_branch(git: Git, *, slug: str, session: str, commit: str) -> str:
    """Point a branch `coder/<slug>-<end of the session's id>` at a commit, unless one does already, and return its name."""
    fault = ""
    for branch in branch_names(slug=slug, session=session, commit=commit):
        made = git.call(
            "update-ref",
            "-m",
            "coder: delivered",
            f"refs/heads/{branch}",
            commit,
            "0" * len(commit),
            accept=None,
        )
        if made.status == 0 or git.commit(f"refs/heads/{branch}") == commit:
            return branch
        fault = made.fault
    raise GitError(f"No branch could be made for {commit[:10]}: {fault}")


def branch_names(*, slug: str, session: str, commit: str) -> Iterator[str]:
    """Yield the names that the branch of a delivery may have, the best first."""
    words = re.sub(r"[^a-z0-9]+", "-", slug.lower()).strip("-")[:40].rstrip("-") or "fix"
    name = f"coder/{words}-{short(session)}"
    yield name
    yield f"{name}-{commit[:7]}"  # where the name is taken
    yield f"{name}-{commit[:7]}".replace("/", "-", 1)  # where a branch is named just `coder`


def short(session: str) -> str:
    """The end of a session's id, fit for a branch's name."""
    return re.sub(r"[^a-z0-9]", "", session.lower())[-6:] or "0"


def add_note(git: Git, commit: str, text: str) -> None:
    """Attach a note that `git notes --ref=coder show` and `git log --notes=coder` print."""
    _edit_notes(git, "add", "--force", "-F", "-", commit, stdin=git_text(text))


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
    named = all(
        git.call("-c", "user.useConfigOnly=true", "var", role, accept=None).status == 0 for role in roles
    )
    return {} if named else FALLBACK
