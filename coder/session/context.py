"""What a strategy works with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from coder.core.ports.model import Model, Prompts
from coder.core.ports.repair import Proposer
from coder.core.ports.repository import Repository
from coder.core.ports.sandbox import Sandbox
from coder.core.ports.store import Store
from coder.core.ports.tests import Equipment, Verifier
from coder.core.values.candidate import Candidate
from coder.core.values.proposal import Proposals
from coder.core.values.task import Task
from coder.permissions.secrets import Secrets
from coder.session.approval.permission import Rights
from coder.session.approval.questions import Approval
from coder.session.limits.budget import Purse
from coder.session.limits.rate_limit import Pace
from coder.session.log import EventLog
from coder.tools.tool import Tool
from coder.workspace.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Kit:
    """Everything a session was wired with; itself it never changes."""

    task: Task
    model: Model
    """The executor's, and everybody's who has none of their own."""
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
    equipment: Equipment | None = None
    """Installs what tests lack; None where nothing can be."""
    hints: Proposals | None = None
    """What a search without a model has found, unproven."""
    rights: Rights = Rights()  # noqa: RUF009 (a frozen value)
    """What may be done without asking."""
    secrets: Secrets = Secrets()  # noqa: RUF009 (a frozen value)
    """What no model and no record gets to see."""
    models: Mapping[str, tuple[Model, ...]] = field(default_factory=dict)
    """By role; the second and later ones speak while those before them are down."""
    down: set[str] = field(default_factory=set)
    """Names of models that failed for good in this session."""
    pace: Pace = field(default_factory=Pace)
    role: str = "executor"
    """Whose words the model speaks from here on: who else asks takes a changed copy of the kit."""
    system: str = "system"
    """The prompt that every request begins with."""
    temperature: float | None = None
    seed: int | None = None
    reviews: bool = False
    """The person looks at each plan before it is run, and at each fix, hunk by hunk, before it is delivered."""
    notices: tuple[str, ...] = ()
    """What the person should know before the work begins, such as uncommitted files that were left out."""
    instructions: str = ""
    """The project's own AGENTS.md, where the directory is trusted."""

    @property
    def speakers(self) -> tuple[Model, ...]:
        """The models for this role that are not down, first choice first; the last one is never given up."""
        chain = self.models.get(self.role) or self.models.get("executor") or (self.model,)
        return tuple(model for model in chain if model.name not in self.down) or chain[-1:]


Strategy = Callable[[Kit, Candidate], Awaitable[Candidate]]
