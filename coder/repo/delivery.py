"""Commits, notes and branches of a delivery, and its write-ahead record."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from coder.core.errors import GitError, IdentityError, SigningError
from coder.core.text import sanitize_text
from coder.core.values import Delivery, NewCommit
from coder.files.regular_files import replace_text
from coder.repo.git import CODER_IDENTITY, Git, repository_lock
from coder.repo.worktrees import diff_trees

NOTES_REF = "refs/notes/coder"
STEP_TRAILER = "Coder-Step"
"""Trailer of all but the last commit of a delivery; its value is the session."""
VERDICT_TRAILER = re.compile(r"Coder-(?:Verdict|Test|Suite): ")
"""Trailers about what was tested; they hold for one tree only."""
SET_IDENTITY = "Set them: git config --global user.name NAME, git config --global user.email ADDRESS"
SIGNING_SECONDS = 60.0
"""Time for a passphrase in a window of its own, or for a touch of a hardware key."""


def make_commit(git: Git, *, tree: str, parent: str, message: str, signed: bool = False) -> str:
    """Create a commit that no ref points to, in the user's name, or coder's where git knows none.

    A first commit has an empty `parent`.

    Raises:
        SigningError: git cannot sign it.
    """
    parents = ("-p", parent) if parent else ()
    arguments = ("commit-tree", *(("-S",) if signed else ()), tree, *parents, "-F", "-")
    text, identity = encode_git_text(message), _identity_variables(git)
    if not signed:
        return git.text(*arguments, stdin=text, environment=identity)
    try:
        output = git.call(
            *arguments,
            stdin=text,
            environment={**identity, "GPG_TTY": ""},
            timeout_seconds=SIGNING_SECONDS,
            has_terminal=False,
            accept=None,
        )
    except GitError as error:
        raise SigningError(str(error)) from None
    if output.status != 0:
        raise SigningError(output.fault)
    return output.stdout.decode().strip()


def create_user_commit(git: Git, make: Callable[[bool], str]) -> NewCommit:
    """Return what `make` creates, called with whether to sign as the user's git configuration asks.

    Where git cannot sign, it is called again without; its remark says so, and where git knows no author.

    Raises:
        IdentityError: git knows no author, and `user.useConfigOnly` forbids to make one up.
    """
    if not _identity_variables(git):
        return _sign_if_configured(git, make)
    asked = git.call("config", "--type=bool", "--get", "user.useConfigOnly", accept=None)
    if asked.stdout.strip() == b"true":
        raise IdentityError(
            "git knows no name and e-mail address here, and user.useConfigOnly forbids others. "
            + SET_IDENTITY
        )
    commit = _sign_if_configured(git, make)
    remark = (
        f"{commit.id[:10]} is by coder <coder@localhost>, since git knows no name and e-mail address here. "
        f"{SET_IDENTITY}; then check its branch out, and: git commit --amend --no-edit --reset-author"
    )
    return NewCommit(id=commit.id, remark="\n".join(filter(None, (commit.remark, remark))))


def _sign_if_configured(git: Git, make: Callable[[bool], str]) -> NewCommit:
    # Not from a list of known values: git itself refuses an invalid one, with the reason.
    setting = git.call("config", "--type=bool", "--get", "commit.gpgSign", accept=None)
    if setting.status == 1 or setting.stdout.strip() == b"false":
        return NewCommit(id=make(False))
    try:
        return NewCommit(id=make(True))
    except SigningError as error:
        commit = make(False)
        return NewCommit(id=commit, remark=_describe_failure(commit, str(error)))


def _describe_failure(commit: str, reason: str) -> str:
    return (
        f"{commit[:10]} is not signed, although your git configuration asks for it: {reason.rstrip('.?')}. "
        "Sign it on your branch: git commit --amend --no-edit -S"
    )


def encode_git_text(text: str) -> bytes:
    """Return a commit message or note in its stored form; all text for git goes through here."""
    return (sanitize_text(text).rstrip() + "\n").encode()


def make_copy(
    git: Git, commit: str, *, tree: str, parent: str, verdict: Sequence[str], signed: bool = False
) -> str:
    """Create a commit with the message of another, named in the last line as `git cherry-pick -x` does.

    `verdict` holds the trailers that replace those of the original verdict.
    """
    message = git.text("log", "-1", "--format=%B", commit).rstrip()
    body, gap, last = message.rpartition("\n\n")
    trailers = [line for line in last.split("\n") if not gap or not VERDICT_TRAILER.match(line)]
    text = f"{body}{gap}" + "\n".join(trailers)
    return make_commit(
        git,
        tree=tree,
        parent=parent,
        message=append_trailers(text, *verdict, f"(cherry picked from commit {commit})"),
        signed=signed,
    )


def append_trailers(message: str, *lines: str) -> str:
    text = message.rstrip()
    has_trailers = "\n\n" in text and re.match(r"[\w-]+: ", text.rpartition("\n")[2])
    return f"{text}{chr(10) if has_trailers else chr(10) * 2}" + "\n".join(lines)


def delivery_base(git: Git, commit: str) -> str:
    """Return the commit that a delivery starts from: its parent, or that of its first step.

    Empty where there is no parent.
    """
    form = "%H %(trailers:key={},valueonly,separator=%x2C)"
    own_session = git.text("log", "-1", f"--format={form.format('Coder-Session')}", commit).partition(" ")[2]
    parent = ""
    for entry in git.text(
        "log", "--first-parent", "--max-count=500", f"--format={form.format(STEP_TRAILER)}", commit
    ).splitlines()[1:]:
        parent, _, session = entry.partition(" ")
        if not own_session or session != own_session:
            break
    return parent


def find_copies(git: Git, commit: str) -> list[str]:
    """Return the commits of HEAD whose messages say they were picked from this one, newest first."""
    since = (f"^{base}",) if git.resolve_commit(commit) and (base := delivery_base(git, commit)) else ()
    return git.text(
        "log",
        "--format=%H",
        "--fixed-strings",
        f"--grep=(cherry picked from commit {commit})",
        "HEAD",
        *since,
    ).split()


def has_change(git: Git, delivered: str, commit: str = "HEAD") -> bool:
    return git.succeeds("merge-base", "--is-ancestor", delivered, commit) or bool(find_copies(git, delivered))


def make_branch(git: Git, *, slug: str, session: str, commit: str) -> str:
    """Create a branch `coder/<slug>-<end of the session's id>` at a commit and return its name.

    A branch that points there already is reused.
    """
    fault = ""
    for branch in branch_names(slug=slug, session=session, commit=commit):
        output = git.call(
            "update-ref",
            "-m",
            "coder: delivered",
            f"refs/heads/{branch}",
            commit,
            "0" * len(commit),
            accept=None,
        )
        if output.status == 0 or git.resolve_commit(f"refs/heads/{branch}") == commit:
            return branch
        fault = output.fault
    raise GitError(f"No branch could be made for {commit[:10]}: {fault}")


def branch_names(*, slug: str, session: str, commit: str) -> Iterator[str]:
    """Yield possible names for the branch of a delivery, best first."""
    words = re.sub(r"[^a-z0-9]+", "-", slug.lower()).strip("-")[:40].rstrip("-") or "fix"
    name = f"coder/{words}-{short_session_id(session)}"
    yield name
    yield f"{name}-{commit[:7]}"  # where the name is taken
    yield f"{name}-{commit[:7]}".replace("/", "-", 1)  # where a branch is named just `coder`


def short_session_id(session: str) -> str:
    """Return the end of a session's id, valid in a branch name."""
    return re.sub(r"[^a-z0-9]", "", session.lower())[-6:] or "0"


def add_note(git: Git, commit: str, text: str) -> None:
    """Attach a note that `git notes --ref=coder show` and `git log --notes=coder` print."""
    _edit_notes(git, "add", "--force", "-F", "-", commit, stdin=encode_git_text(text))


def remove_notes(git: Git, *commits: str) -> None:
    """Remove coder's notes of some commits, and the notes ref once it is empty."""
    _edit_notes(git, "remove", "--ignore-missing", *commits)
    tip = git.resolve_commit(NOTES_REF)
    if tip and not git.items("ls-tree", "-z", tip):
        git.call("update-ref", "-d", NOTES_REF, tip, accept=None)


def find_undone(git: Git, commits: Collection[str]) -> frozenset[str]:
    """Return the delivered commits that are in the repository, and whose branch and note are gone."""
    branches = ("refs/heads/coder", "refs/heads/coder-*")
    tips = git.text("for-each-ref", "--format=%(objectname)", *branches).split()
    noted = git.text("notes", f"--ref={NOTES_REF}", "list").split()[1::2]
    missing = {*commits} - {*tips, *noted}
    if not missing:
        return frozenset()
    answers = git.text("cat-file", "--batch-check", stdin="\n".join(sorted(missing)).encode()).splitlines()
    return frozenset(answer.split()[0] for answer in answers if not answer.endswith(" missing"))


def _edit_notes(git: Git, *arguments: str, stdin: bytes = b"") -> None:
    """Run `git notes` under the repository lock: a note is lost when another process adds one meanwhile."""
    with repository_lock(git.common_directory):
        git.call("notes", f"--ref={NOTES_REF}", *arguments, stdin=stdin, environment=_identity_variables(git))


def _identity_variables(git: Git) -> Mapping[str, str]:
    """Return variables that name an author where the configuration names none."""
    roles = ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT")
    has_identity = all(
        git.call("-c", "user.useConfigOnly=true", "var", role, accept=None).status == 0 for role in roles
    )
    return {} if has_identity else CODER_IDENTITY


INTENT_FILE = "delivery.json"
"""File beside the session's log; removed once the log says how the delivery ended."""


@dataclass(frozen=True, kw_only=True)
class PendingDelivery:
    """All data needed to deliver an existing commit; every step is idempotent."""

    common: Path
    """The git directory of the repository."""
    session: str
    commit: str
    slug: str
    evidence: str
    branch: str = ""
    """An earlier delivery's branch that this one extends, if it still points to the parent."""

    @property
    def git(self) -> Git:
        """Git on the repository, without a work tree."""
        return Git(directory=self.common, git_dir=self.common)

    def record(self, state: Path) -> None:
        """Write the record into the session's own directory atomically."""
        fields = asdict(self) | {
            "common": str(self.common),
            "evidence": encode_git_text(self.evidence).decode() if self.evidence else "",
        }
        replace_text(state / INTENT_FILE, json.dumps(fields))

    def complete(self) -> Delivery:
        """Add the note and create the branch, as far as they are missing."""
        if self.evidence:
            add_note(self.git, self.commit, self.evidence)
        branch = self._extend_branch() or make_branch(
            self.git, slug=self.slug, session=self.session, commit=self.commit
        )
        return Delivery(
            diff=diff_trees(self.git, old=delivery_base(self.git, self.commit), new=self.commit),
            branch=branch,
            commit=self.commit,
        )

    def _extend_branch(self) -> str:
        """Move the earlier delivery's branch on to the commit, and return it; empty if that is impossible."""
        if not self.branch:
            return ""
        ref, parent = f"refs/heads/{self.branch}", delivery_base(self.git, self.commit)
        self.git.call("update-ref", "-m", "coder: delivered", ref, self.commit, parent, accept=None)
        return self.branch if self.git.resolve_commit(ref) == self.commit else ""

    def roll_back(self) -> None:
        """Remove the branch and the note, unless the branch has moved on; an extended one is set back."""
        if self.branch:
            parent = delivery_base(self.git, self.commit)
            self.git.call("update-ref", f"refs/heads/{self.branch}", parent, self.commit, accept=None)
        for branch in branch_names(slug=self.slug, session=self.session, commit=self.commit):
            self.git.call("update-ref", "-d", f"refs/heads/{branch}", self.commit, accept=None)
        remove_notes(self.git, self.commit)


def read_pending(state: Path) -> PendingDelivery | None:
    """Return the recorded delivery of a session; None where there is none or it is settled.

    Raises:
        ValueError: the file is not a record of a delivery.
    """
    try:
        fields = json.loads((state / INTENT_FILE).read_text(encoding="utf-8"))
        return PendingDelivery(**fields | {"common": Path(fields["common"])})
    except FileNotFoundError:
        return None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{state / INTENT_FILE} does not record a delivery") from error
