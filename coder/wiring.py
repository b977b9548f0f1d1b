"""The one place that names concrete classes and hands them to each other."""

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coder import __version__
from coder.core.candidate import Candidate, Patch
from coder.core.errors import UserError
from coder.core.events import SessionFinished
from coder.core.ports import Limits, Model, Repository, Verifier
from coder.core.private import DENY_READ
from coder.core.secrets import Secrets, own_values
from coder.core.task import Task
from coder.loop.approval import Approval
from coder.loop.kit import Kit, Strategy
from coder.loop.log import EventLog
from coder.loop.permission import Rights
from coder.loop.purse import Purse
from coder.loop.session import Session
from coder.models.catalog import choose
from coder.models.opening import open_model
from coder.models.scripted import Scripted
from coder.prompting import PackagedPrompts
from coder.repair.proposer import TemplateProposer
from coder.repo.git import find
from coder.repo.given import given
from coder.repo.locks import hold
from coder.repo.recovery import recover
from coder.repo.repository import SessionRepository, open_repository
from coder.sandbox.process import ProcessSandbox
from coder.sandbox.surveyed import Surveyed
from coder.sandbox.walls import Walls
from coder.settings import Config, allow, allowed, config, passed_over, rules, settings, state_directory
from coder.store.jsonl import SessionStore
from coder.strategies.follow import DIRECT, follow
from coder.strategies.given import judge_given
from coder.strategies.offline import search_repair
from coder.tools.registry import TOOLS
from coder.tools.symbols.index import SymbolIndex
from coder.tools.workspace import Workspace
from coder.verify.launch import TARGET
from coder.verify.project import Project, find_project
from coder.verify.proof import WorktreeVerifier
from coder.verify.runner import PytestRunner
from coder.verify.tracing import PytestTracer
from coder.verify.trials import PytestTrials

NO_MODEL = (
    "no key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY) and no model server answers on this machine "
    "(Ollama, llama.cpp, LM Studio, vLLM; or give --base-url)."
)
INSTRUCTIONS_CHARACTERS = 12_000


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


def sessions_directory() -> Path:
    return state_directory() / "sessions"


def index_database(root: Path) -> Path:
    """Where the symbol index of a repository, and of all its worktrees, is kept."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    return state_directory() / "index" / f"{digest}.sqlite"


def repository_root(directory: Path) -> Path:
    """The root of the checkout that `directory` lies in.

    Raises:
        UserError: there is none, or it cannot be worked on.
    """
    return find(directory).root


def configured(root: Path | None, flags: Mapping[str, Any]) -> Config:
    return config(settings(root, flags=flags))


@dataclass(frozen=True, kw_only=True)
class Approach:
    """Who does the work, and how."""

    model: Model
    strategy: Strategy
    reason: str
    """For the screen: why this one."""


def approach(config: Config, *, named: str | None) -> Approach:
    """The strategy asked for, with the model it needs; without key and server the engine that needs none. `named` is what --model says.

    Raises:
        UserError: the model asked for cannot be used, or a strategy needs one and there is none.
    """
    nobody = Scripted((), name="no model")
    if config.strategy == "offline":
        return Approach(model=nobody, strategy=search_repair(), reason="as asked")
    choice = choose(model=named, configured=config.model, base_url=config.base_url, environment=os.environ)
    if choice is not None:
        tool_calling = None if config.tool_calling else False
        model = open_model(choice, environment=os.environ, tool_calling=tool_calling)
        return Approach(model=model, strategy=follow(DIRECT), reason=choice.reason)
    if config.strategy is not None:
        raise UserError(f"The strategy {config.strategy} needs a model: {NO_MODEL}")
    return Approach(model=nobody, strategy=search_repair(), reason=f"{NO_MODEL} So the built-in engine looks for a repair.")


def is_revision(directory: Path, name: str) -> bool:
    """Does the repository that a directory is in know a commit by this name?"""
    return find(directory).git.commit(name) is not None


def judging(
    directory: Path, *, revision: str | None, diff: str | None, against: str | None, named: tuple[str, ...] = ()
) -> tuple[Approach, Task]:
    """How a change that is there already is judged, and what is known of the task: where to start from, and what the change is for.

    `named` are tests that must show it.

    Raises:
        UserError: there is no such change.
    """
    nobody = Scripted((), name="judging")
    if diff is not None:
        onto = against or "HEAD with the uncommitted work"
        return Approach(model=nobody, strategy=judge_given(Patch(diff=diff), named), reason=f"the diff against {onto}"), Task(
            issue="", directory=directory, base=against, given=True
        )
    found = given(directory, revision=revision, against=against)
    how = Approach(model=nobody, strategy=judge_given(Patch(diff="", tree=found.tree), named), reason=found.label)
    return how, Task(issue=found.message, directory=directory, base=found.base, given=True)


@contextmanager
def open_fix(
    task: Task, config: Config, *, how: Approach, root: Path, walls: Walls | None, attended: bool, reviews: bool = False
) -> Iterator[Opened]:
    """A session that fixes an issue in the repository at `root`; whatever happens, what it needed is gone afterwards.

    `walls` stand around all that is executed; None only where the person wants it so.

    Raises:
        UserError: the repository cannot be worked on.
    """
    recover(sessions_directory())
    identity = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    directory = sessions_directory() / identity
    directory.mkdir(parents=True)
    with ExitStack() as stack:
        stack.enter_context(hold(directory))
        repository = _repository(task, identity, directory)
        stack.callback(repository.close)
        sandbox = stack.enter_context(_sandbox(walls, deny_read=(*DENY_READ, *config.deny_read)))
        store = stack.enter_context(closing(SessionStore(directory)))
        private = Secrets(own=own_values(os.environ))
        log = EventLog(store, secrets=private)
        bench = _bench(task, config, root=root, sandbox=sandbox)
        verifier = bench.verifiers(task.issue)
        kit = Kit(
            task=task,
            model=how.model,
            tools=TOOLS,
            prompts=PackagedPrompts(),
            repository=repository,
            verifier=verifier(repository),
            verifier_of=verifier,
            proposer=bench.proposer(),
            sandbox=sandbox,
            store=store,
            log=log,
            purse=Purse(task.budget, clock=time.monotonic),
            approval=Approval(log, attended=attended, remember=lambda fresh: allow(root, fresh)),
            rights=_rights(config, root, sandbox=sandbox, test_command=bench.project.command.text),
            secrets=private,
            workspace=_workspaces(task, config, repository, verifier=verifier(repository), sandbox=sandbox, log=log),
            instructions=_instructions(root, task.directory) if task.trusted else "",
            reviews=reviews,
            notices=(*_untrusted(task, root), *repository.left_out, *passed_over(root), *filter(None, [sandbox.notice])),
        )
        session = Session(kit, how.strategy, id=identity, version=__version__)
        yield Opened(id=identity, session=session, log=log)


def _untrusted(task: Task, root: Path) -> tuple[str, ...]:
    own = f"{root} is not trusted: its tests run in the sandbox alone, and its AGENTS.md is not sent. If it is yours: coder trust {root}"
    return () if task.trusted else (own,)


def _sandbox(walls: Walls | None, *, deny_read: tuple[str, ...] = DENY_READ) -> ProcessSandbox:
    return ProcessSandbox(os.environ, walls=walls, exposed=(TARGET,), deny_read=deny_read)


def _repository(task: Task, identity: str, directory: Path) -> SessionRepository:
    try:
        return open_repository(task.directory, session=identity, state=directory, base=task.base)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What runs the project's code, in any checkout of it."""

    project: Project
    sandbox: ProcessSandbox
    limits: Limits

    def runner(self) -> PytestRunner:
        return PytestRunner(project=self.project, sandbox=self.sandbox, scratch=self.sandbox.scratch, limits=self.limits)

    def proposer(self) -> TemplateProposer:
        scratch = self.sandbox.scratch
        tracer = PytestTracer(project=self.project, sandbox=self.sandbox, scratch=scratch, limits=self.limits)
        trials = PytestTrials(project=self.project, sandbox=self.sandbox, scratch=scratch, limits=self.limits)
        return TemplateProposer(tracer=tracer, trials=trials, runner=self.runner())

    def verifiers(self, issue: str) -> Callable[[Repository], Verifier]:
        """A verifier for each base, made once: it remembers the base's own results."""
        made: dict[str, Verifier] = {}

        def verifier(repository: Repository) -> Verifier:
            if repository.base not in made:
                made[repository.base] = WorktreeVerifier(
                    trees=repository, runner=self.runner(), issue=issue, circumstances=self.project.why
                )
            return made[repository.base]

        return verifier


def _bench(task: Task, config: Config, *, root: Path, sandbox: ProcessSandbox) -> Bench:
    project = find_project(root, sandbox=sandbox, environment=os.environ, test_command=task.test_command)
    return Bench(project=project, sandbox=sandbox, limits=Limits(wall_seconds=config.suite_seconds, memory_bytes=None))


def _rights(config: Config, root: Path, *, sandbox: ProcessSandbox, test_command: str) -> Rights:
    return Rights(mode=config.approve, contained=sandbox.contained, rules=(*rules(config), *allowed(root)), test_command=test_command)


def _workspaces(
    task: Task, config: Config, repository: SessionRepository, *, verifier: Verifier, sandbox: ProcessSandbox, log: EventLog
) -> Callable[[Candidate], Workspace]:
    made: dict[str, Workspace] = {}

    def workspace(candidate: Candidate) -> Workspace:
        if candidate.id not in made:
            looked_after = Surveyed(sandbox, candidate.worktree, log.warner())
            made[candidate.id] = Workspace(
                root=candidate.worktree,
                sandbox=looked_after,
                history=repository.history,
                run=looked_after.over(lambda tests, progress: verifier.preview(candidate.worktree, tests, progress)),
                baseline=verifier.baseline,
                index=SymbolIndex(candidate.worktree, index_database(repository.root)),
                deny_read=(*DENY_READ, *config.deny_read),
                read_only=config.approve == "read-only",
                only=task.only,
            )
        return made[candidate.id]

    return workspace


def _instructions(root: Path, directory: Path) -> str:
    """AGENTS.md of the root, then of each directory on the way to where the command was started."""
    inside = directory.resolve()
    way = [root, *reversed([place for place in (inside, *inside.parents) if place.is_relative_to(root) and place != root])]
    texts = [place.joinpath("AGENTS.md").read_text("utf-8", "replace") for place in way if place.joinpath("AGENTS.md").is_file()]
    return "\n\n".join(texts)[:INSTRUCTIONS_CHARACTERS]


def project_of(root: Path, *, walls: Walls | None) -> Project:
    """How the repository at `root` is tested."""
    with _sandbox(walls) as sandbox:
        return find_project(root, sandbox=sandbox, environment=os.environ, test_command=configured(root, {}).test)
