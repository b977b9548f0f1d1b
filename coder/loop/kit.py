"""What a strategy works with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from coder.core.candidate import Candidate
from coder.core.ports import Model, Prompts, Proposer, Repository, Sandbox, Store, Verifier
from coder.core.secrets import Secrets
from coder.core.task import Task
from coder.loop.approval import Approval
from coder.loop.log import EventLog
from coder.loop.permission import Rights
from coder.loop.purse import Purse
from coder.tools.tool import Tool
from coder.tools.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Kit:
    """Everything a session was wired with; itself it never changes."""

    task: Task
    model: Model
    tools: tuple[Tool, ...]
    """The same all session, in the same order: prompt caches key on it."""
    prompts: Prompts
    repository: Repository
    verifier: Verifier
    verifier_of: Callable[[Repository], Verifier]
    """A verifier with another base, for a fix that must be proven again without the uncommitted work."""
    proposer: Proposer
    sandbox: Sandbox
    store: Store
    log: EventLog
    purse: Purse
    approval: Approval
    workspace: Callable[[Candidate], Workspace]
    """The candidate's workspace, the same one each time."""
    rights: Rights = Rights()  # noqa: RUF009 (a frozen value)
    """What may be done without asking."""
    secrets: Secrets = Secrets()  # noqa: RUF009 (a frozen value)
    """What no model and no record gets to see."""
    reviews: bool = False
    """The person looks at each fix, hunk by hunk, before it is delivered."""
    notices: tuple[str, ...] = ()
    """What the person should know before the work begins, such as uncommitted files that were left out."""
    instructions: str = ""
    """The project's own AGENTS.md, where the directory is trusted."""


Strategy = Callable[[Kit, Candidate], Awaitable[Candidate]]
