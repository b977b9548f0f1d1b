"""Values that cross layers: candidates, hunks, proposals, phases, policies, and the messages of models."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from threading import Event, RLock
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field


class Value(BaseModel):
    """An immutable record, compared by its fields, that turns into JSON and back."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EventValue(Value):
    """An event, or a part of one; unknown fields of other versions are ignored."""

    model_config = ConfigDict(extra="ignore")


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
    id: str
    remark: str = ""
    """Message that git could not sign it as the user's configuration asks, or knows no author."""


class Delivery(Value):
    diff: str
    """Against HEAD where it applies there, otherwise against HEAD plus the uncommitted work."""
    branch: str = ""
    """Empty: nothing was written to the repository."""
    commit: str = ""
    merged: bool = False
    needs_uncommitted_work: bool = False
    """The fix only applies on top of uncommitted work, so it is a diff and not a branch."""
    remark: str = Field(default="", validation_alias=AliasChoices("remark", "unsigned"))
    """Message about the commit, as of `NewCommit`; `unsigned` in older logs."""


class HunkComment(Value):
    """A request of the user for one hunk of a review."""

    hunk: int
    """Its number in the diff."""
    text: str


class HunkDecisions(EventValue):
    """The user's decisions in a review. With comments, the change is worked on and reviewed again.

    Otherwise `coder.patching.git_hunks.rebuild_diff(diff, accepted)` is delivered; unless it is the whole
    diff, it must be verified itself.
    """

    accepted: tuple[int, ...]
    """Numbers in `coder.patching.git_hunks.split_git_diff(diff)`, from 0, ascending."""
    comments: tuple[HunkComment, ...] = ()
    refused: bool = False
    """Nothing is to be delivered; the decisions are kept in case the review goes on."""


class Environment(EventValue):
    """The environment in which the tests of a session ran."""

    interpreter: str = ""
    """Path of the Python interpreter; empty where the tests need none."""
    python: str = ""
    """Its version."""
    packages: tuple[str, ...] = ()
    """Installed distributions of Python, `name-version`, sorted."""
    sandbox: str = ""
    """Name of the sandbox, with the image of a container; empty without a sandbox."""
    is_reduced: bool = False
    """True if isolation is reduced: fewer namespaces than in a full sandbox."""
    sha256: str = ""
    """Of all other fields."""

    @property
    def sentence(self) -> str:
        packages = f"{len(self.packages)} packages of Python, " if self.packages else ""
        sandbox = f"{self.sandbox}{' (reduced)' * self.is_reduced}" if self.sandbox else "no sandbox"
        return f"Environment: {packages}{sandbox}; SHA-256 {self.sha256[:16]}."

    def with_hash(self) -> "Environment":
        content = self.model_dump_json(exclude={"sha256"}).encode("utf-8", "surrogateescape")
        return self.model_copy(update={"sha256": sha256(content).hexdigest()})


class Hunk(Value):
    """The smallest part of a diff that can be accepted or rejected."""

    path: str
    """The file's new name; its old one where it is deleted."""
    header: str
    """The file's lines before its first `@@`, the same for all hunks of the file."""
    body: str
    """From `@@` to the last line; empty where the file changes without a hunk (a rename, a mode, an empty or
    a binary file)."""


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
    answer: str = ""
    """Its answer to the deciding call."""


class Proposals(Value):
    """Result of a search without a model."""

    proposals: tuple[Proposal, ...] = ()
    """Changes that pass the tests and answer other calls differently, plainest first; at most three.

    One alone is the only kind of change that was found."""
    more: int = 0
    """Most further kinds of changes: they pass the failing tests, and perhaps no others."""
    call: str = ""
    """A call that the proposals answer differently; empty if none was seen."""
    suspects: tuple[Suspect, ...] = ()
    """Most suspicious first."""
    tried: int = 0
    """Candidates that were run."""
    is_cut: bool = False
    """True if time ended the search before others could pass."""
    seconds: float = 0.0
    note: str = ""
    """Search that was made, or the reason why none was; one line."""

    @property
    def open_question(self) -> str:
        """A sentence on what the tests leave open; empty where one kind of change was found."""
        count = len(self.proposals) + self.more
        if count < 2:
            return ""
        rest = f" and up to {self.more} more" if self.more else ""
        edits = f"the tests do not decide between {len(self.proposals)} edits{rest}"
        answers = [*dict.fromkeys(proposal.answer for proposal in self.proposals if proposal.answer)]
        if not self.call or len(answers) < 2:
            return f"{edits}; no call in which they differ was found"
        return f"{edits}; they differ in `{self.call}`: {', '.join(answers[:-1])} or {answers[-1]}"


PhaseName = Literal[
    "locate",
    "reproduce",
    "plan",
    "generate",
    "edit",
    "verify",
    "diagnose",
    "repair",
    "review",
    "explain",
    "answer",
    "research",
    "evaluate",
    "synthesize",
]
NoteKind = Literal[
    "sites",
    "reproduction",
    "plan",
    "done",
    "diagnosis",
    "findings",
    "give_up",
    "answer",
    "research_plan",
    "research",
    "evaluation",
    "report",
]
StageState = Literal["running", "done", "failed"]


class Phase(Value):
    """One purpose and the note that ends it."""

    name: PhaseName
    note: NoteKind
    writes: bool
    """Whether tools may change files."""
    yields: bool = False
    """A read-only phase that the first change ends, implying its note; elsewhere a change is refused."""
    answers: bool = False
    """A reply without calls ends the phase and is its note; elsewhere the model is reminded to go on."""
    max_turns: int
    """Replies after which the phase counts as failed."""

    @property
    def end_marker(self) -> str:
        """The way in which a reply ends the phase, for the model."""
        return "a reply without calls" if self.answers else f"hand_over(kind='{self.note}')"


LOCATE = Phase(name="locate", note="sites", writes=False, yields=True, max_turns=24)
REPRODUCE = Phase(name="reproduce", note="reproduction", writes=True, max_turns=12)
PLAN = Phase(name="plan", note="plan", writes=False, max_turns=12)
GENERATE = Phase(name="generate", note="done", writes=True, max_turns=24)
EDIT = Phase(name="edit", note="done", writes=True, max_turns=24)
DIAGNOSE = Phase(name="diagnose", note="diagnosis", writes=False, yields=True, max_turns=12)
REPAIR = Phase(name="repair", note="done", writes=True, max_turns=24)
REVIEW = Phase(name="review", note="findings", writes=False, max_turns=8)
ANSWER = Phase(name="answer", note="answer", writes=False, answers=True, max_turns=24)
PLAN_RESEARCH = Phase(name="plan", note="research_plan", writes=False, max_turns=6)
RESEARCH = Phase(name="research", note="research", writes=False, max_turns=10)
EVALUATE = Phase(name="evaluate", note="evaluation", writes=False, max_turns=4)
SYNTHESIZE = Phase(name="synthesize", note="report", writes=False, max_turns=6)
EXPLAIN = Phase(name="explain", note="give_up", writes=False, max_turns=2)


class Policy(Value):
    """Access granted to one command; the default is workspace-write without network."""

    writes: bool = True
    """Whether it may write in its working directory, which is then a worktree; elsewhere only in a private
    temporary directory."""
    network: bool = False
    """False: no host is reachable, not even this one; a private loopback interface exists where the sandbox
    can provide one."""


READ_ONLY = Policy(writes=False)


class Cutoff:
    """The large test runs in progress that the user may cut short; used from several threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._cuts: list[Event] = []
        self._is_requested = False
        self.on_change: Callable[[bool], None] = lambda _is_possible: None
        """Called from any thread when it becomes possible, or impossible, to cut a run short."""

    @contextmanager
    def offer(self, cut: Event) -> Iterator[None]:
        """Let the user cut short what the block runs, which ends when `cut` is set."""
        with self._lock:
            self._cuts.append(cut)
            if self._is_requested:
                cut.set()
            self._is_requested = False
        self.on_change(True)
        try:
            yield
        finally:
            with self._lock:
                self._cuts = [other for other in self._cuts if other is not cut]
                is_possible = bool(self._cuts)
            self.on_change(is_possible)

    def request(self, *, ahead: bool = False) -> bool:
        """Cut short all runs in progress; return False if there are none.

        With `ahead`, one is known to begin at once: without any in progress, it is cut as soon as it does.
        """
        with self._lock:
            cuts, self._cuts = self._cuts, []
            self._is_requested = ahead and not cuts
        for cut in cuts:
            cut.set()
        if cuts:
            self.on_change(False)
        return bool(cuts) or ahead


class ToolCall(Value):
    """One call as the model wrote it."""

    id: str
    name: str
    arguments: str
    """The raw JSON text; it may be malformed, which the session reports."""


REMARK_OPENING = "The person adds: "
"""Beginning of the message in which a model receives what the user says on the way."""


class Image(Value):
    """A picture that the user attached."""

    name: str
    media_type: str
    """Such as `image/png`."""
    base64: str
    """Its bytes."""


class UserMessage(Value):
    """Text from the user or from the harness."""

    role: Literal["user"] = "user"
    text: str
    images: tuple[Image, ...] = ()


class AssistantMessage(Value):
    """One whole reply of the model."""

    role: Literal["assistant"] = "assistant"
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    opaque: str = ""
    """Data that the provider wants back unchanged (such as signed reasoning), as JSON that only its adapter
    reads."""
    model: str = ""
    """The model that replied, as `provider:name`; `opaque` is sent to no other model."""


class ToolMessage(Value):
    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    text: str
    ok: bool = True


DialogueMessage = Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]
"""A message of a conversation that answers no call."""
Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class ToolSpec(Value):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON schema of type object; arguments it does not name are refused."""


class Usage(Value):
    input_tokens: int = 0
    """All tokens sent, cached ones included."""
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = None
    """None: the price is not known, which is never shown as zero."""


class UsageTotals(Value):
    """Totals of a session so far."""

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """None once a request's price was not known."""

    def plus(self, more: "UsageTotals | Usage") -> "UsageTotals":
        """Return the sum with other totals, or with one request; unknown prices make it unknown."""
        is_known = self.cost_usd is not None and more.cost_usd is not None
        return UsageTotals(
            requests=self.requests + (1 if isinstance(more, Usage) else more.requests),
            input_tokens=self.input_tokens + more.input_tokens,
            cached_tokens=self.cached_tokens + more.cached_tokens,
            output_tokens=self.output_tokens + more.output_tokens,
            cost_usd=(self.cost_usd or Decimal(0)) + (more.cost_usd or Decimal(0)) if is_known else None,
        )


Effort = Literal["low", "medium", "high"]


class Request(Value):
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int = 16_384
    seed: int | None = None
    """Sampling seed, for the providers that support one."""
    effort: Effort | None = None
    """Reasoning effort of the model; None is the default of its provider."""


class Reply(Value):
    message: AssistantMessage
    usage: Usage = Usage()
    finish: Literal["stop", "calls", "length", "refusal"] = "stop"


class Delta(Value):
    """A piece of a reply while it is being written, or a notice about the request, such as a retry."""

    kind: Literal["text", "reasoning", "notice"]
    text: str
