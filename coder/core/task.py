"""Task: what the user asks for, with its limits."""

from decimal import Decimal
from pathlib import Path
from typing import Literal

from coder.core.messages import Image
from coder.core.notes import Plan
from coder.core.values import EventValue, Value
from coder.core.verdict import Requirement

Mode = Literal["fix", "change", "ask", "build"]
"""A bug to fix and prove; any other change, which need not be proven; a question to answer; components of new
code."""
Restore = Literal["both", "conversation", "code"]
"""Parts of a session that return to an earlier point; the other stays as it is."""


class Budget(EventValue):
    """Limits of one session; None is no limit."""

    usd: Decimal | None = None
    usd_phrase: str = ""
    """The limit of money for the user, with the setting it comes from; empty: the amount says it all."""
    unpriced: bool = False
    """True if a money limit does not exclude models without a known price."""
    tokens: int | None = None
    seconds: float | None = None
    requests: int | None = None
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


class Source(EventValue):
    """A text beside the repository that may be read for a question."""

    path: str
    """Where the worktree has it, and citations name it."""
    origin: str
    """The file or address that it comes from, for the user."""
    text: str = ""


class Task(EventValue):
    """One request of the user in one repository, as the first event of its session holds it."""

    issue: str
    """The request: an issue, the description of a change, or a question."""
    mode: Mode = "fix"
    origin: str = ""
    """Address that the issue was fetched from: others wrote it, so models are shown it as data."""
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
    conversation: str = ""
    """Id that an editor knows the conversation by; empty where it has none of its own."""
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
    in_turn: bool = False
    """Whether an agent waits for the verdict at the end of its turn: it gets half a minute."""
    require: Requirement = "fixed"
    """The least verdict that ends with exit code 0."""
    unrelated_tests: tuple[str, ...] = ()
    """Ids of tests that the user says are not about the issue: they are never its targets."""
    budget: Budget = Budget()

    def without_images(self) -> "Task":
        """Return the task with the names of its images alone: the conversation holds them."""
        names = tuple(attachment.model_copy(update={"image": None}) for attachment in self.attachments)
        return self.model_copy(update={"attachments": names})

    @property
    def images(self) -> tuple[Image, ...]:
        """Images among the attachments."""
        return tuple(attachment.image for attachment in self.attachments if attachment.image is not None)
