"""Sessions, put together and taken apart again."""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from coder import __version__
from coder.core.events import SessionFinished
from coder.core.ports.repair import Faults
from coder.core.ports.sandbox import Progress
from coder.core.ports.tests import Verifier
from coder.core.values.candidate import Candidate
from coder.core.values.paths import node_ids
from coder.core.values.proposal import Suspected
from coder.core.values.task import Task
from coder.files.regular_files import read_regular_text
from coder.index.index import SymbolIndex
from coder.permissions.private_files import DENY_READ
from coder.permissions.secrets import Secrets, own_values
from coder.prompting import PackagedPrompts
from coder.repo.locks import hold
from coder.repo.repository import SessionRepository, open_repository
from coder.sandbox.backends.backend import Walls
from coder.sandbox.process.process import ProcessSandbox
from coder.sandbox.residue_sandbox import Surveyed
from coder.session.approval.permission import Rights
from coder.session.approval.questions import Approval
from coder.session.context import Kit
from coder.session.limits.budget import Purse
from coder.session.limits.rate_limit import Pace
from coder.session.log import EventLog
from coder.session.session import Session
from coder.settings import Config, allow, allowed, index_database, passed_over, rules, sessions_directory
from coder.store.jsonl import SessionStore
from coder.tools.registry import TOOLS
from coder.wiring.approach import Approach
from coder.wiring.bench import bench_for, sandbox_behind
from coder.wiring.recovery import recover_sessions
from coder.workspace.workspace import Workspace

INSTRUCTIONS_CHARACTERS = 12_000
TRACING_SECONDS = 20.0
"""For the failing tests and as many of their neighbours as that lasts for, when a model asks where the fault is."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A session ready to run."""

    id: str
    session: Session
    log: EventLog

    @property
    def finished(self) -> SessionFinished:
        """How it ended, once it has."""
        ended = self.log.records[-1].event
        assert isinstance(ended, SessionFinished)
        return ended


@contextmanager
def open_fix(
    task: Task,
    config: Config,
    *,
    how: Approach,
    root: Path,
    walls: Walls | None,
    attended: bool,
    reviews: bool = False,
) -> Iterator[Opened]:
    """A session that fixes an issue in the repository at `root`; whatever happens, what it needed is gone afterwards.

    `walls` stand around all that is executed; None only where the person wants it so.

    Raises:
        UserError: the repository cannot be worked on.
    """
    recover_sessions()
    identity = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    directory = sessions_directory() / identity
    directory.mkdir(parents=True)
    with ExitStack() as stack:
        stack.callback(
            recover_sessions
        )  # once nobody holds this one any more: a delivery that failed is taken back at once
        stack.enter_context(hold(directory))
        repository = _repository(task, identity, directory)
        stack.callback(repository.close)
        sandbox = stack.enter_context(sandbox_behind(walls, config))
        store = stack.enter_context(closing(SessionStore(directory)))
        private = Secrets(own=own_values(os.environ), key=secrets.token_bytes(16))
        task = task.model_copy(update={"issue": private.masked(task.issue)})
        log = EventLog(store, secrets=private)
        bench = bench_for(task, config, root=root, sandbox=sandbox)
        stack.callback(bench.close)
        verifier = bench.verifiers(
            task.issue, asked=node_ids(f"{task.issue}\n{task.test_command or ''}"), needs_ties=task.needs_ties
        )
        kit = Kit(
            task=task,
            model=how.model,
            models=how.models,
            pace=Pace(requests_per_minute=config.requests_per_minute),
            tools=TOOLS,
            prompts=PackagedPrompts(),
            repository=repository,
            verifier=verifier(repository),
            verifier_of=verifier,
            proposer=bench.proposer(),
            equipment=bench.equipment(root, verifier(repository).renew),
            sandbox=sandbox,
            store=store,
            log=log,
            purse=Purse(task.budget, clock=time.monotonic),
            approval=Approval(log, attended=attended, remember=lambda fresh: allow(root, fresh)),
            rights=_rights(config, root, sandbox=sandbox, test_command=bench.project.command.text),
            secrets=private,
            workspace=_workspaces(
                task,
                config,
                repository,
                verifier=verifier(repository),
                faults=bench.faults(),
                sandbox=sandbox,
                log=log,
                private=private,
            ),
            instructions=_instructions(root, task.directory) if task.trusted else "",
            seed=config.seed,
            reviews=reviews,
            notices=(
                *_untrusted(task, root),
                *repository.left_out,
                *passed_over(root),
                *filter(None, [sandbox.notice]),
            ),
        )
        session = Session(kit, how.strategy, id=identity, version=__version__)
        yield Opened(id=identity, session=session, log=log)


def _untrusted(task: Task, root: Path) -> tuple[str, ...]:
    own = (
        f"{root} is not trusted: its tests run in the sandbox alone, and its AGENTS.md is not sent. If it "
        f"is yours: coder trust {root}"
    )
    return () if task.trusted else (own,)


def _repository(task: Task, identity: str, directory: Path) -> SessionRepository:
    try:
        return open_repository(task.directory, session=identity, state=directory, base=task.base)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _rights(config: Config, root: Path, *, sandbox: ProcessSandbox, test_command: str) -> Rights:
    return Rights(
        mode=config.approve,
        contained=sandbox.contained,
        rules=(*rules(config), *allowed(root)),
        test_command=test_command,
    )


def _workspaces(
    task: Task,
    config: Config,
    repository: SessionRepository,
    *,
    verifier: Verifier,
    faults: Faults,
    sandbox: ProcessSandbox,
    log: EventLog,
    private: Secrets,
) -> Callable[[Candidate], Workspace]:
    made: dict[str, Workspace] = {}

    def workspace(candidate: Candidate) -> Workspace:
        if candidate.id not in made:
            looked_after = Surveyed(sandbox, candidate.worktree, log.warner())

            @contextmanager
            def around() -> Iterator[None]:
                with repository.restoring(candidate), looked_after.looking():
                    yield

            def suspects(tests: tuple[str, ...], progress: Progress) -> Suspected:
                with around():
                    return faults.suspects(
                        candidate.worktree, tests, seconds=TRACING_SECONDS, progress=progress
                    )

            made[candidate.id] = Workspace(
                root=candidate.worktree,
                sandbox=looked_after,
                history=replace(repository.history, deny_read=(*DENY_READ, *config.deny_read)),
                run=lambda tests, progress: verifier.preview(
                    candidate.worktree, repository.patch(candidate).paths, tests, progress, around=around
                ),
                baseline=verifier.baseline,
                suspects=suspects,
                index=SymbolIndex(candidate.worktree, index_database(repository.root)),
                deny_read=(*DENY_READ, *config.deny_read),
                secrets=private,
                read_only=config.approve == "read-only",
                only=task.only,
            )
        return made[candidate.id]

    return workspace


def _instructions(root: Path, directory: Path) -> str:
    """AGENTS.md of the root, then of each directory on the way to where the command was started."""
    inside = directory.resolve()
    way = [
        root,
        *reversed(
            [place for place in (inside, *inside.parents) if place.is_relative_to(root) and place != root]
        ),
    ]
    texts = [read_regular_text(place / "AGENTS.md", within=root) for place in way]
    return "\n\n".join(filter(None, texts))[:INSTRUCTIONS_CHARACTERS]
