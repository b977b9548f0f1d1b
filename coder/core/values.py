"""Values that cross layers: tasks, candidates, hunks, proposals, and short texts."""

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from coder.core.messages import Image
from coder.core.notes import Plan


class Value(BaseModel):
    """An immutable record, compared by its fields, that turns into JSON and back."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EventValue(Value):
    """An event, or a part of one; unknown fields of other versions are ignored."""

    model_config = ConfigDict(extra="ignore")


Mode = Literal["fix", "change", "ask", "build"]
"""A bug to fix and prove; any other change, which need not be proven; a question to answer; components of new
code."""
Restore = Literal["both", "conversation", "code"]
"""Parts of a session that return to an earlier point; the other stays as it is."""


class Budget(Value):
    """Limits of one session; None is no limit."""

    usd: Decimal | None = None
    usd_phrase: str = ""
    """The limit of money for the user, with the setting it comes from; empty: the amount says it all."""
    unpriced: bool = False
    """Whether a model without a known price may be asked although there is a limit of money."""
    tokens: int | None = None
    seconds: float | None = None
    requests: int | None = None
    candidates: int | None = None
    """Edits that a search without a model may try."""
    attempts: int = 3
    """Failed verifications before giving up."""
    attempts_per_side: int = 2
    """Attempts at the code, or at the test, after which the other side is blamed for the same failure."""


class Attachment(Value):
    """A file or definition that the user named in a request with `@`."""

    name: str
    """Name and place, for the user and the model."""
    text: str
    """Numbered lines; empty for an image."""
    image: Image | None = None


class Source(Value):
    """A text beside the repository that may be read for a question."""

    path: str
    """Where the worktree has it, and citations name it."""
    origin: str
    """The file, address or package that it comes from, for the user."""
    text: str = ""
    files: Mapping[str, Path] = Field(default_factory=dict)
    """Instead of a text: files on this machine, by their paths below `path`."""


class Task(EventValue):
    """One request of the user in one repository, as the first event of its session holds it."""

    issue: str
    """The request: an issue, the description of a change, or a question."""
    mode: Mode = "fix"
    attachments: tuple[Attachment, ...] = ()
    """Shown to the model with the request; they are no part of the issue that tests are tied to."""
    deep: bool = False
    """A question that is researched in parts, evaluated, and answered by a report."""
    iterations: int = 3
    """Rounds of a research, each for the gaps that the one before left."""
    sources: tuple[Source, ...] = ()
    """Texts beside the repository that the user allows for a question."""
    continues: str = ""
    """Id of the session whose conversation, and whose delivered change, this one continues."""
    forks: bool = False
    """Sessions that continue this one are delivered to a branch of their own."""
    directory: Path
    """Working directory of the command; the repository is found from here."""
    base: str | None = None
    """A revision to start from without the uncommitted work; None is HEAD plus that work."""
    test_command: str | None = None
    only: tuple[str, ...] = ()
    """Paths or globs, relative to the repository's root, that patches may write to; empty is all."""
    dry_run: bool = False
    merge: bool = False
    minimise: bool = False
    """Deliver only what the verdict depends on."""
    keep_steps: bool = False
    """The branch has a commit for each change that led to the fix, not just the fix."""
    trusted: bool = False
    plan_only: bool = False
    """Make and show a plan, and change nothing."""
    plan: Plan | None = None
    """The user's own plan, where no planner is to make one."""
    single_file: bool = False
    """Merge the components that are built into one file."""
    given: bool = False
    """The change exists already and is only judged: nothing is delivered."""
    needs_ties: bool = True
    """An existing test that turns green proves the fix only if evidence ties it to the issue; a commit
    message is no such issue."""
    accept_test_edits: bool = False
    """The user has looked at how the change edits existing tests, and accepts it."""
    unrelated_tests: tuple[str, ...] = ()
    """Ids of tests that the user says are not about the issue: they are never its targets."""
    after: str = ""
    """Id of a session whose change this one judges again, by the whole suite."""
    budget: Budget = Budget()

    def without_images(self) -> "Task":
        """Return the task with the names of its images alone: the conversation holds them."""
        names = tuple(attachment.model_copy(update={"image": None}) for attachment in self.attachments)
        return self.model_copy(update={"attachments": names})

    @property
    def images(self) -> tuple[Image, ...]:
        """Images among the attachments."""
        return tuple(attachment.image for attachment in self.attachments if attachment.image is not None)


class Candidate(Value):
    """One attempt at the task, isolated from the user's checkout and from other candidates."""

    id: str
    """Unique within the session, such as `c1`."""
    worktree: Path
    """A linked worktree that only this candidate writes to."""
    base: str
    """The commit it started from: HEAD plus a snapshot of the uncommitted work."""


class Patch(Value):
    """A change as git represents it."""

    diff: str
    """Unified diff against the candidate's base, empty when nothing changed."""
    paths: tuple[str, ...] = ()
    """Changed paths, sorted; both names of a renamed file."""
    tree: str = ""
    """The git tree that contains the change."""


class NewCommit(Value):
    """A commit made for the user."""

    id: str
    unsigned: str = ""
    """Message that git could not sign it although the user's configuration asks for that."""


class Delivery(Value):
    """The result of delivering a fix."""

    diff: str
    """Against HEAD where it applies there, otherwise against HEAD plus the uncommitted work."""
    branch: str = ""
    """Empty: nothing was written to the repository."""
    commit: str = ""
    merged: bool = False
    needs_uncommitted_work: bool = False
    """The fix only applies on top of uncommitted work, so it is a diff and not a branch."""
    unsigned: str = ""
    """Message that git could not sign the commit although the user's configuration asks for that."""


class CommitInfo(Value):
    """A commit and the paths it changed."""

    commit: str
    date: str
    """Such as 2020-01-31."""
    subject: str
    """The first line of its message, untrusted."""
    paths: tuple[str, ...]


_NEW_RANGE = re.compile(r"@@ -\S+ \+(\d+)")


class HunkComment(Value):
    """A request of the user for one hunk of a review."""

    hunk: int
    """Its number in the diff."""
    text: str


class EditedHunk(Value):
    """The user's changes to one hunk of a review."""

    hunk: int
    """Its number in the diff."""
    body: str = ""
    """The hunk from `@@` to its last line, as the user has rewritten it; empty: as proposed."""
    omitted: tuple[int, ...] = ()
    """Changed lines that are left out, by their position among the lines of that body, from 0."""


class HunkDecisions(EventValue):
    """The user's decisions in a review. With comments, the change is worked on and reviewed again.

    Otherwise `coder.patching.git_hunks.rebuild_diff(diff, accepted, edits)` is delivered; unless it is the
    whole diff, it must be verified itself.
    """

    accepted: tuple[int, ...]
    """Numbers in `coder.patching.git_hunks.split_git_diff(diff)`, from 0, ascending."""
    comments: tuple[HunkComment, ...] = ()
    edits: tuple[EditedHunk, ...] = ()
    refused: bool = False
    """Nothing is to be delivered; the decisions are kept in case the review goes on."""


class Hunk(Value):
    """The smallest part of a diff that can be accepted or rejected."""

    path: str
    """The file's new name; its old one where it is deleted."""
    header: str
    """The file's lines before its first `@@`, the same for all hunks of the file."""
    body: str
    """From `@@` to the last line; empty where the file changes without a hunk (a rename, a mode, an empty or
    a binary file)."""


def first_line(hunk: Hunk) -> int:
    """Return the number in the new file of a hunk's first line; 0 if it has no lines."""
    match = _NEW_RANGE.match(hunk.body)
    return int(match[1]) if match else 0


def first_changed_line(hunk: Hunk) -> int:
    """Return the number in the new file of the first line that a hunk changes; 0 if it has no lines."""
    if not (start := first_line(hunk)):
        return 0
    lines = hunk.body.splitlines()[1:]
    unchanged = next((place for place, line in enumerate(lines) if line[:1] in ("+", "-")), 0)
    return start + unchanged


class Suspect(Value):
    """A function that may hold the fault."""

    place: str
    """`path::Qualified.name`, or `path:line` outside of any function."""
    line: int
    """The most suspicious line, from 1."""
    score: float
    """Ochiai, 0 to 1; 0 where only the wording of the issue points here."""


class SuspectRanking(Value):
    """Places that failing tests suggest as the fault."""

    suspects: tuple[Suspect, ...] = ()
    """Most suspicious first."""
    tests: tuple[str, ...] = ()
    """Ids of the failing tests that the ranking is based on."""
    problem: str = ""
    """Why there is no ranking; one line."""


class Proposal(Value):
    """A change that made the failing tests pass when it was tried; not verified."""

    diff: str
    """git-style unified diff against the tree it was generated for."""
    summary: str
    """Summary of the change, fit for a commit subject."""
    place: str
    """`path::Qualified.name` of the changed function."""
    apart: str = ""
    """A call that returns something else than under another proposal."""


class Proposals(Value):
    """Result of a search without a model."""

    proposals: tuple[Proposal, ...] = ()
    """Most credible first."""
    alternatives: tuple[Proposal, ...] = ()
    """Other changes that turned the tests green, or that evidence cannot rank; for the user to judge, at most
    three."""
    suspects: tuple[Suspect, ...] = ()
    """Most suspicious first."""
    tried: int = 0
    """Candidates that were run."""
    seconds: float = 0.0
    note: str = ""
    """What was searched, or why nothing was; one line."""


_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX 9), which reorder
displayed text."""
_SURROGATES = range(0xD800, 0xE000)
"""Surrogate code points, which no encoding can write."""
_UNSAFE = (
    *(code for code in range(32) if chr(code) not in "\t\n"),
    *range(127, 160),
    0x2028,
    0x2029,
    *_BIDI,
    *_SURROGATES,
)
_REPLACEMENTS = dict.fromkeys(_UNSAFE, "�") | {ord("\r"): None}


def sanitize_text(text: str) -> str:
    """Remove escape sequences, and replace control and bidirectional characters by a visible mark.

    Tab and newline are kept.

    Everything shown on a screen or written into a commit message, a trailer or a note goes through here.
    """
    return _SEQUENCE.sub("", text).translate(_REPLACEMENTS)


def shorten_line(text: str, limit: int) -> str:
    """Return a text as one line of at most `limit` characters; an ellipsis stands for the rest."""
    line = " ".join(text.split()) if "\n" in text else text
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
