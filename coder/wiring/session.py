"""Construction and cleanup of sessions."""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from coder import __version__
from coder.core.events import SessionFinished, SessionStarted
from coder.core.ports.model import Model
from coder.core.ports.repair import FaultLocator
from coder.core.ports.sandbox import Progress
from coder.core.ports.tests import Verifier
from coder.core.state import shown_texts
from coder.core.values.candidate import Candidate
from coder.core.values.paths import extract_node_ids, find_command_tests, test_file_of
from coder.core.values.proposal import SuspectRanking
from coder.core.values.task import Budget, Task
from coder.directories import index_database, sessions_directory
from coder.files.regular_files import read_regular_text
from coder.index.index import SymbolIndex
from coder.permissions.private_files import DENY_READ
from coder.permissions.secrets import Secrets, secret_environment_values
from coder.prompting import PackagedPrompts
from coder.repo.locks import session_lock
from coder.repo.repository import SessionRepository, open_repository
from coder.retrieval.attachments import refuse_images
from coder.sandbox.backends.backend import SandboxBackend
from coder.sandbox.process.process import ProcessSandbox
from coder.sandbox.residue_sandbox import ResidueSandbox
from coder.session.approval.permission import Permissions
from coder.session.approval.questions import Approval
from coder.session.context import SessionContext
from coder.session.continuation import Continuation
from coder.session.limits.budget import BudgetTracker
from coder.session.limits.rate_limit import RateLimiter
from coder.session.log import EventLog
from coder.session.session import Session
from coder.settings import Config, configured_rules, ignored_settings
from coder.store.jsonl import SessionStore
from coder.strategies.review.committee import revise_flagged
from coder.tools.registry import TOOLS
from coder.trust import allowed_rules, remember_rules
from coder.verify.project.project import Project
from coder.wiring.approach import Approach
from coder.wiring.conversations import find_continuation, make_session_id
from coder.wiring.inspection import make_sandbox
from coder.wiring.project_runtime import build_project_runtime, import_environment
from coder.wiring.recovery import recover_sessions
from coder.wiring.spending import find_money_limit
from coder.wiring.whole_suite import link_whole_suite, start_whole_suite
from coder.workspace.workspace import Workspace

INSTRUCTIONS_CHARACTERS = 12_000
TRACING_SECONDS = 20.0
"""Time to trace the failing tests and then their neighbours, when a model asks for suspects."""


@dataclass(frozen=True, kw_only=True)
class SessionHandle:
    """Session that is ready to run."""

    id: str
    session: Session
    log: EventLog
    suite: str
    """Part of the suite that the configuration asks for."""
    is_sandboxed: bool

    def start_whole_suite(self) -> bool:
        """Leave the rest of the suite to a process in the background; return whether there is any."""
        started = self.log.records[0].event
        assert isinstance(started, SessionStarted)
        return start_whole_suite(started, self.finish_event, suite=self.suite, is_sandboxed=self.is_sandboxed)

    @property
    def finish_event(self) -> SessionFinished:
        """Last event of the session; available once it has ended."""
        event = self.log.records[-1].event
        assert isinstance(event, SessionFinished)
        return event


@contextmanager
def open_session(
    task: Task,
    config: Config,
    *,
    chosen_approach: Approach,
    root: Path,
    walls: SandboxBackend | None,
    attended: bool,
    reviews: bool = False,
) -> Iterator[SessionHandle]:
    """Open a session that fixes an issue in the repository at `root`; all its resources are released on exit.

    `walls` confine everything that is executed; None only if the user wants it so.

    Raises:
        UserError: the repository cannot be worked on.
    """
    recover_sessions()
    earlier = find_continuation(task.continues, root, request=task.issue) if task.continues else None
    sources = task.sources or (earlier.sources if earlier and task.mode == "ask" else ())
    task = task.model_copy(update={"continues": earlier.session if earlier else "", "sources": sources})
    if not (task.given or chosen_approach.is_offline):
        limit = find_money_limit(config)
        money = {"usd": limit.usd, "usd_phrase": limit.phrase} if limit else {"usd": None}
        task = task.model_copy(update={"budget": task.budget.model_copy(update=money)})
    if task.mode == "ask":
        config = config.model_copy(update={"approve": "read-only"})
    identity = make_session_id()
    directory = sessions_directory() / identity
    directory.mkdir(parents=True)
    with ExitStack() as stack:
        stack.callback(
            recover_sessions
        )  # after this session is released, so that a failed delivery is undone immediately
        stack.enter_context(session_lock(directory))
        repository = _repository(task, identity, directory, earlier)
        if earlier is not None and not repository.contains(earlier.commit):
            earlier = earlier.model_copy(update={"commit": "", "branch": ""})
        stack.callback(repository.close)
        sandbox = stack.enter_context(make_sandbox(walls, config, exposed=repository.exposed_directories))
        store = stack.enter_context(closing(SessionStore(directory)))
        if task.after:
            link_whole_suite(task.after, identity)
        private = Secrets(own=secret_environment_values(os.environ), key=secrets.token_bytes(16))
        attachments, refusals = refuse_images(task.attachments, chosen_approach.model)
        task = _mask_request(task.model_copy(update={"attachments": attachments}), private)
        log = EventLog(store, secrets=private)
        unfinished = tuple(
            request for request in (earlier.unfinished_requests if earlier else ()) if request != task.issue
        )
        bench = build_project_runtime(task, config, root=root, sandbox=sandbox)
        stack.callback(bench.close)
        verifier = bench.verifier_factory(
            task.issue,
            unfinished_issues=unfinished,
            requires_identifier_ties=task.mode == "fix",
            requested_tests=(
                *extract_node_ids("\n".join((task.issue, *unfinished))),
                *find_command_tests(task.test_command),
            ),
            needs_ties=task.needs_ties,
            accepts_test_edits=task.accept_test_edits,
        )
        context = SessionContext(
            task=task,
            model=chosen_approach.model,
            models=chosen_approach.models,
            base_url=chosen_approach.base_url,
            context_tokens=config.context_tokens,
            rate_limiter=RateLimiter(requests_per_minute=config.requests_per_minute),
            tools=TOOLS,
            prompts=PackagedPrompts(),
            repository=repository,
            verifier=verifier(repository),
            make_verifier=verifier,
            proposer=bench.proposer(),
            installer=bench.installer(root, verifier(repository).reset_baseline),
            cutoff=bench.cutoff,
            continued=earlier,
            sandbox=sandbox,
            store=store,
            log=log,
            budget=BudgetTracker(task.budget, clock=time.monotonic),
            approval=Approval(
                log, attended=attended, remember=lambda new_rules: remember_rules(root, new_rules)
            ),
            permissions=_build_permissions(
                config, root, sandbox=sandbox, test_command=bench.project.command.text
            ),
            secrets=private,
            workspace=_workspace_factory(
                task,
                config,
                repository,
                project=bench.project,
                verifier=verifier(repository),
                faults=bench.faults(),
                sandbox=sandbox,
                log=log,
                private=private,
            ),
            instructions=_read_instructions(root, task.directory) if task.trusted else "",
            seed=config.seed,
            needs_review=reviews,
            revise=None if chosen_approach.is_offline else revise_flagged,
            notices=(
                *repository.exclusions,
                *refusals,
                *_price_notice(task.budget, chosen_approach.model),
                *_example_tests_notice(task, root),
                *(() if task.continues else _environment_notices(task, root, sandbox)),
            ),
        )
        session = Session(context, chosen_approach.strategy, id=identity, version=__version__)
        yield SessionHandle(
            id=identity, session=session, log=log, suite=config.suite, is_sandboxed=walls is not None
        )


def _mask_request(task: Task, private: Secrets) -> Task:
    attachments = tuple(
        attachment.model_copy(update={"text": private.mask(attachment.text)})
        for attachment in task.attachments
    )
    sources = tuple(map(private.mask_value, task.sources))
    return task.model_copy(
        update={"issue": private.mask(task.issue), "attachments": attachments, "sources": sources}
    )


def _example_tests_notice(task: Task, root: Path) -> tuple[str, ...]:
    """Return a notice of test ids in the issue that name no file here, such as those of sample output."""
    tests = [test for test in extract_node_ids(task.issue) if not (root / test_file_of(test)).is_file()]
    return (f"The issue names {', '.join(tests)}, which is no test of this repository.",) if tests else ()


def _environment_notices(task: Task, root: Path, sandbox: ProcessSandbox) -> tuple[str, ...]:
    """Return notices about trust, settings and sandbox, which a conversation shows once."""
    return (*_trust_notice(task, root), *ignored_settings(root), *filter(None, [sandbox.notice]))


def _price_notice(budget: Budget, model: Model) -> tuple[str, ...]:
    """Return a notice if the user's limit of tokens or requests stands in for one of money."""
    if budget.usd is None or not budget.unpriced or model.maximum_cost_usd(1, 1) is not None:
        return ()
    limits = (
        *(() if budget.tokens is None else (f"{budget.tokens:,} tokens",)),
        *(() if budget.requests is None else (f"{budget.requests:,} requests",)),
    )
    return (
        f"The price of {model.name} is not known, so {budget.usd_phrase} cannot be kept; instead it is "
        f"limited to {' and '.join(limits)}.",
    )


def _trust_notice(task: Task, root: Path) -> tuple[str, ...]:
    notice = (
        f"{root} is not trusted: its tests run in the sandbox alone, and its AGENTS.md is not sent. If it "
        f"is yours: coder trust {root}"
    )
    return () if task.trusted else (notice,)


def _repository(
    task: Task, identity: str, directory: Path, earlier: Continuation | None
) -> SessionRepository:
    delivered, branch = (earlier.commit, earlier.branch) if earlier else ("", "")
    try:
        return open_repository(
            task.directory,
            session=identity,
            state=directory,
            base=task.base,
            delivered=delivered,
            branch=branch,
        )
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _build_permissions(
    config: Config, root: Path, *, sandbox: ProcessSandbox, test_command: str
) -> Permissions:
    return Permissions(
        mode=config.approve,
        is_sandboxed=sandbox.is_sandboxed,
        rules=(*configured_rules(config), *allowed_rules(root)),
        test_command=test_command,
    )


def _workspace_factory(
    task: Task,
    config: Config,
    repository: SessionRepository,
    *,
    project: Project,
    verifier: Verifier,
    faults: FaultLocator,
    sandbox: ProcessSandbox,
    log: EventLog,
    private: Secrets,
) -> Callable[[Candidate], Workspace]:
    workspaces: dict[str, Workspace] = {}

    def workspace(candidate: Candidate) -> Workspace:
        if candidate.id not in workspaces:
            residue_sandbox = ResidueSandbox(sandbox, candidate.worktree, log.warning_callback())

            @contextmanager
            def around() -> Iterator[None]:
                with repository.restore_on_exit(candidate), residue_sandbox.check_residue():
                    yield

            def suspects(tests: tuple[str, ...], progress: Progress) -> SuspectRanking:
                with around():
                    return faults.rank_suspects(
                        candidate.worktree, tests, seconds=TRACING_SECONDS, progress=progress
                    )

            workspaces[candidate.id] = Workspace(
                root=candidate.worktree,
                sandbox=residue_sandbox,
                environment=import_environment(project, candidate.worktree),
                history=replace(repository.history, deny_read=(*DENY_READ, *config.deny_read)),
                run=lambda tests, progress: verifier.preview(
                    candidate.worktree,
                    repository.candidate_patch(candidate).paths,
                    tests,
                    progress,
                    around=around,
                ),
                baseline=verifier.results_on_base,
                suspects=suspects,
                index=SymbolIndex(candidate.worktree, index_database(repository.root)),
                deny_read=(*DENY_READ, *config.deny_read),
                secrets=private,
                read_only=config.approve == "read-only",
                only=task.only,
                shown_texts=lambda: shown_texts(log.records, candidate.id),
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
