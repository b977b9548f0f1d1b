"""Preparation of a session: configuration, sandbox, trust, approach and task."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coder.core.errors import CoderError, ToolError, UserError
from coder.core.phases import Policy
from coder.core.values import Attachment, Budget, CommitInfo, Mode, Task
from coder.directories import index_database, state_directory
from coder.index.index import SymbolIndex
from coder.permissions.private_files import DENY_READ
from coder.repo.git import find_checkout
from coder.repo.history import GitHistory
from coder.retrieval.attachments import attach_mentions
from coder.retrieval.features import MOST_COMMITS
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.ranking import Localization, locate_issue
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.choice import require_backend
from coder.sandbox.process import ProcessSandbox
from coder.settings import Config, load_config, sandbox_caps
from coder.trust import is_trusted, trust_repository
from coder.verify.project.project import Project, find_candidates
from coder.verify.running.launch import TARGET
from coder.verify.running.selection import accepted_candidate

if TYPE_CHECKING:
    from coder.wiring.session import Approach, SessionHandle

UNKNOWN_PURPOSE = "(nobody said what the change is for)"
"""Issue of a change that is judged without one."""


@dataclass(frozen=True, kw_only=True)
class SessionSetup:
    """Everything that a session in a repository needs, except for its task."""

    root: Path
    config: Config
    walls: SandboxBackend | None
    trusted: bool
    approach: "Approach"
    unpriced: bool = False
    """Whether the user's limit of tokens or requests, on the command line, allows a model without a price."""

    @contextmanager
    def open_session(self, task: Task, *, attended: bool = False) -> Iterator["SessionHandle"]:
        """Open a session for a task; its resources are released on exit.

        Raises:
            UserError: the repository cannot be worked on.
        """
        from coder.wiring.session import open_session

        budget = task.budget.model_copy(update={"unpriced": self.unpriced})
        with open_session(
            task.model_copy(update={"trusted": self.trusted, "budget": budget}),
            self.config,
            chosen_approach=self.approach,
            root=self.root,
            walls=self.walls,
            attended=attended,
        ) as handle:
            yield handle


def prepare_session(
    directory: Path,
    *,
    flags: Mapping[str, Any],
    trusted: bool,
    unsafe: bool,
    chosen_approach: "Approach | None" = None,
    mode: Mode = "fix",
    continues: str = "",
    confirm: Callable[[str], bool] | None = None,
) -> SessionSetup:
    """Prepare a session in the repository that contains a directory; nothing is started.

    Without `chosen_approach` the configuration decides on it, by `mode`; of a session that this one
    `continues` it takes the model. `confirm` asks the user; None if nobody can be asked.

    Raises:
        UserError: the repository, the configuration, the model or the sandbox cannot be used.
    """
    from coder.wiring.conversations import inherit_model
    from coder.wiring.session import choose_approach

    root = find_checkout(directory).root
    config = inherit_model(load_config(root, flags), continues, root)
    walls = require_backend(unsafe=unsafe, image=config.image)
    return SessionSetup(
        root=root,
        config=config,
        walls=walls,
        trusted=trusted or ensure_trust(root, walls=walls, confirm=confirm),
        approach=chosen_approach or choose_approach(config, model_name=flags.get("model"), mode=mode),
        unpriced=any(flags.get(name) is not None for name in ("max_tokens", "max_requests")),
    )


def make_task(text: str, config: Config, **fields: Any) -> Task:
    """Return the task of an issue under a configuration; `fields` are further ones of Task."""
    budget = Budget(
        usd=config.max_usd,
        tokens=config.max_tokens,
        seconds=config.max_seconds,
        requests=config.max_requests,
        attempts=config.attempts,
        attempts_per_side=config.attempts_per_side,
    )
    return Task(issue=text, test_command=config.test, budget=budget, **fields)


def read_attachments(text: str, root: Path, config: Config) -> tuple[Attachment, ...]:
    """Return the files and symbols of a repository that a text mentions.

    Raises:
        UserError: one of the files cannot be attached.
    """
    index = SymbolIndex(root, index_database(root))
    return attach_mentions(text, root, index, deny_read=(*DENY_READ, *config.deny_read))


def ensure_trust(
    root: Path, *, walls: SandboxBackend | None, confirm: Callable[[str], bool] | None = None
) -> bool:
    """Return whether the repository is trusted; ask the user if its tests would run without a full sandbox.

    Refused in a reduced sandbox, the work goes on there, without trust.

    Raises:
        UserError: it is not trusted, there is no full sandbox, and the user cannot be asked, or refuses where
            there is none at all.
    """
    if is_trusted(root):
        return True
    if walls is not None and not walls.limitations:
        return False
    if confirm is None:
        raise UserError(
            f"{root} is not trusted, and its tests would run on this machine. Run `coder trust {root}` once, "
            "or add --trust."
        )
    refusal = "" if walls is None else " No: go on in the sandbox, without its AGENTS.md."
    if confirm(f"{trust_question(root, walls)}{refusal}"):
        trust_repository(root)
        return True
    if walls is None:
        raise UserError(f"{root} is not trusted: nothing was run.")
    return False


def trust_question(root: Path, walls: SandboxBackend | None) -> str:
    """Return the question on a repository whose tests would run without a full sandbox."""
    place = (
        "without a sandbox, with all your rights"
        if walls is None
        else f"in a reduced sandbox ({walls.limitations})"
    )
    return f"The tests of {root} will run on this machine {place}. Trust this repository?"


OVERLAYS = "overlays"


def make_sandbox(
    walls: SandboxBackend | None, config: Config | None = None, *, exposed: Iterable[Path] = ()
) -> ProcessSandbox:
    """Return a sandbox with the private files and limits of the configuration, or of the default one.

    Commands may read what is `exposed`.
    """
    effective = config or Config()
    return ProcessSandbox(
        os.environ,
        backend=walls,
        exposed=(TARGET, state_directory() / OVERLAYS, *exposed),
        deny_read=(*DENY_READ, *effective.deny_read),
        caps=sandbox_caps(effective),
        default_policy=Policy(network=effective.test_network),
    )


def command_memory(root: Path) -> Path:
    """Return the file that stores the accepted test command of a repository."""
    return index_database(root).with_suffix(".command.json")


def inspect_project(root: Path, *, walls: SandboxBackend | None) -> Project:
    """Return how the repository at `root` is tested."""
    with make_sandbox(walls) as sandbox:
        candidates = find_candidates(
            root, sandbox=sandbox, environment=os.environ, test_command=load_config(root, {}).test
        )
        return accepted_candidate(candidates, command_memory(root)) or candidates[0]


HISTORY_SECONDS = 5.0
"""Time limit for reading the history."""


def rank_tree(root: Path, text: str) -> Localization:
    """Rank with the stored index of a tree.

    Raises:
        UserError: its files cannot be listed.
    """
    database = index_database(root)
    database.parent.mkdir(parents=True, exist_ok=True)
    try:
        snapshot = SymbolIndex(root.resolve(), database).refresh()
    except ToolError as error:
        raise UserError(str(error)) from None
    return locate_issue(snapshot, extract_issue_terms(text), _recent_commits(root))


def _recent_commits(root: Path) -> tuple[CommitInfo, ...]:
    """Return the newest commits; none if the directory is not the top of a checkout."""
    if not (root / ".git").exists():
        return ()
    try:
        checkout = find_checkout(root)
        history = GitHistory(git=checkout.git, revision=checkout.head, seconds=HISTORY_SECONDS)
        return history.recent_commits(count=MOST_COMMITS)
    except CoderError:
        return ()
