"""Construction and cleanup of sessions."""

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
"""Time to trace the failing tests and then their neighbours, when a model asks for suspects."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Session that is ready to run."""

    id: str
    session: Session
    log: EventLog

    @property
    def finished(self) -> SessionFinished:
        """Last event of the session; available once it has ended."""
        event = self.log.records[-1].event
        assert isinstance(event, SessionFinished)
        return event


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
    """Open a session that fixes an issue in the repository at `root`; all its resources are released on exit.

    `walls` confine everything that is executed; None only if the user wants it so.

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
        )  # after this session is released, so that a failed delivery is undone immediately
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
        context = Kit(
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
            approval=Approval(log, attended=attended, remember=lambda new_rules: allow(root, new_rules)),
            rights=_build_permissions(config, root, sandbox=sandbox, test_command=bench.project.command.text),
            secrets=private,
            workspace=_workspace_factory(
                task,
                config,
                repository,
                verifier=verifier(repository),
                faults=bench.faults(),
                sandbox=sandbox,
                log=log,
                private=private,
            ),
            instructions=_read_instructions(root, task.directory) if task.trusted else "",
            seed=config.seed,
            reviews=reviews,
            notices=(
                *_trust_notice(task, root),
                *repository.left_out,
                *passed_over(root),
                *filter(None, [sandbox.notice]),
            ),
        )
        session = Session(context, how.strategy, id=identity, version=__version__)
        yield Opened(id=identity, session=session, log=log)


def _trust_notice(task: Task, root: Path) -> tuple[str, ...]:
    notice = (
        f"{root} is not trusted: its tests run in the sandbox alone, and its AGENTS.md is not sent. If it "
        f"is yours: coder trust {root}"
    )
    return () if task.trusted else (notice,)


def _repository(task: Task, identity: str, directory: Path) -> SessionRepository:
    try:
        return open_repository(task.directory, session=identity, state=directory, base=task.base)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _build_permissions(config: Config, root: Path, *, sandbox: ProcessSandbox, test_command: str) -> Rights:
    return Rights(
        mode=config.approve,
        contained=sandbox.contained,
        rules=(*rules(config), *allowed(root)),
        test_command=test_command,
    )


def _workspace_factory(
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
    workspaces: dict[str, Workspace] = {}

    def workspace(candidate: Candidate) -> Workspace:
        if candidate.id not in workspaces:
            residue_sandbox = Surveyed(sandbox, candidate.worktree, log.warner())

            @contextmanager
            def around() -> Iterator[None]:
                with repository.restoring(candidate), residue_sandbox.looking():
                    yield

            def suspects(tests: tuple[str, ...], progress: Progress) -> Suspected:
                with around():
                    return faults.suspects(
                        candidate.worktree, tests, seconds=TRACING_SECONDS, progress=progress
                    )

            workspaces[candidate.id] = Workspace(
                root=candidate.worktree,
                sandbox=residue_sandbox,
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
        return workspaces[candidate.id]

    return workspace


def _read_instructions(root: Path, directory: Path) -> str:
    """Return AGENTS.md of the root and of each directory down to where the command was started."""
    start = directory.resolve()
    directories = [
        root,
        *reversed(
            [parent for parent in (start, *start.parents) if parent.is_relative_to(root) and parent != root]
        ),
    ]
    texts = [read_regular_text(parent / "AGENTS.md", within=root) for parent in directories]
    return "\n\n".join(filter(None, texts))[:INSTRUCTIONS_CHARACTERS]
