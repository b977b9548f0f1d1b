"""Construction and cleanup of sessions."""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack
from urllib.parse import urlsplit

from coder import __version__
from coder.core.errors import UserError
from coder.core.events import NOBODY, Budget, Mode, Record, Task
from coder.core.paths import extract_node_ids, find_command_tests, test_file_of
from coder.core.ports import Model, Progress, Verifier
from coder.core.values import Candidate, Patch, SuspectRanking
from coder.core.verdict import TestReport
from coder.files.regular_files import index_database, sandbox_notice_file, sessions_directory
from coder.index.index import SymbolIndex
from coder.models.catalog import ModelChoice, choose_beside, choose_by_name, choose_model
from coder.models.scripted import ScriptedModel, load_script
from coder.permissions.secrets import DENY_READ, PLACEHOLDER, Secrets, secret_environment_values
from coder.repo.git import find_checkout, session_lock
from coder.repo.history import has_tree, resolve_change
from coder.repo.repository import SessionRepository, open_repository, remove_discarded
from coder.repo.worktrees import find_conflicts, list_briefly
from coder.retrieval.attachments import refuse_images
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.choice import BackendChoice, require_backend
from coder.sandbox.process import ProcessSandbox, ResidueSandbox
from coder.session.approval import Approval, Permissions
from coder.session.context import BudgetTracker, Judging, ModelAccess, RunElsewhere, SessionContext, Strategy
from coder.session.continuation import Continuation
from coder.session.log import EventLog, SessionStore
from coder.session.session import Session
from coder.settings import (
    Config,
    allowed_rules,
    configured_rules,
    ignored_settings,
    load_config,
    remember_rules,
)
from coder.tools.registry import TOOLS
from coder.verify.change import Purpose
from coder.verify.project import Project
from coder.wiring.conversations import (
    find_continuation,
    find_money_limit,
    inherit_model,
    make_session_id,
    recover_sessions,
)
from coder.wiring.extensions import Guidance, load_guidance, open_session_tools
from coder.wiring.project_runtime import (
    UNKNOWN_PURPOSE,
    ProjectRuntime,
    build_project_runtime,
    command_environment,
    ensure_trust,
    make_sandbox,
    read_attachments,
)
from coder.workspace.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Approach:
    model: Model = field(default_factory=lambda: ScriptedModel((), name=NOBODY))
    strategy: Strategy
    models: Mapping[str, Model] = field(default_factory=dict)
    """Models by role, for roles with a model of their own."""
    reason: str
    """Reason of the choice, for the user."""
    is_offline: bool = False
    """Whether no model is asked."""
    base_url: str | None = None
    """The server that the user gave; empty for the provider's own; None if it must not be recorded."""


@dataclass(frozen=True, kw_only=True)
class SessionSetup:
    """Everything that a session in a repository needs, except for its task."""

    root: Path
    config: Config
    backend: SandboxBackend | None
    """Confines everything that is executed; None only if the user wants it so."""
    trusted: bool
    approach: Approach
    unpriced: bool = False
    """Whether the user's limit of tokens or requests, on the command line, allows a model without a price."""
    servers: Mapping[str, Any] = field(default_factory=dict)
    """MCP servers of the user's editor, in the form of `.mcp.json`."""

    def complete(self, request: Task, *, mentions: str = "") -> Task:
        """Return the task of a request, with what follows from settings.

        Files and symbols that `mentions` names with `@` are attached to it.

        Raises:
            UserError: one of them cannot be attached.
        """
        config = self.config
        budget = Budget(
            usd=config.max_usd,
            tokens=config.max_tokens,
            seconds=config.max_seconds,
            requests=config.max_requests,
            attempts=config.attempts,
            attempts_per_side=config.attempts_per_side,
            unpriced=self.unpriced,
        )
        attached = read_attachments(mentions, self.root, config) if "@" in mentions else ()
        return request.model_copy(
            update={
                "issue": request.issue or UNKNOWN_PURPOSE,
                "attachments": (*request.attachments, *attached),
                "test_command": config.test,
                "trusted": request.trusted or self.trusted,
                "keep_steps": config.keep_steps,
                "require": config.require,
                "budget": budget,
            }
        )

    @contextmanager
    def open(
        self,
        task: Task,
        *,
        attended: bool = False,
        reviews: bool = False,
        connect: "Connect | None" = None,
        records: Sequence[Record] = (),
    ) -> Iterator[Session]:
        """Open a session for a task; all its resources are released on exit.

        `connect` returns what runs parts of its parallel stages elsewhere. A session that runs such a part
        takes `records`, the log that the part goes on with.

        Raises:
            UserError: the repository cannot be worked on.
        """
        from coder.strategies.review import revise_flagged

        root, config, chosen_approach, backend = self.root, self.config, self.approach, self.backend
        remove_discarded(sessions_directory())
        recover_sessions()
        earlier = find_continuation(task.continues, root, request=task.issue) if task.continues else None
        task = self._continue_task(task, earlier)
        runs_nothing = task.mode == "ask" and chosen_approach.is_offline
        if runs_nothing and task.deep:
            raise UserError("--deep needs a model: add --model. Without --deep, search and history answer.")
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
            guidance = load_guidance(
                root, task.directory, trusted=task.trusted, git=repository.user_checkout.git
            )
            exposed = (*repository.exposed_directories, *guidance.skills.values())
            sandbox = stack.enter_context(make_sandbox(backend, config, exposed=exposed))
            store = stack.enter_context(closing(SessionStore(directory)))
            private = Secrets(own=secret_environment_values(os.environ), key=secrets.token_bytes(16))
            attached = task.attachments
            attached, refusals = refuse_images(attached, chosen_approach.model) if attached else ((), ())
            task = _mask_request(task.model_copy(update={"attachments": attached}), private)
            log = EventLog(store, secrets=private, records=records)
            runtime = build_project_runtime(
                task, config, root=root, sandbox=sandbox, mask=private.mask, repository=repository
            )
            judging, reset_baselines = _set_up_judging(task, earlier, repository, runtime)
            server_tools, server_problems = (
                ((), ())
                if chosen_approach.is_offline or task.given or records
                else stack.enter_context(open_session_tools(root, self.servers))
            )
            context = SessionContext(
                task=task,
                models=self._model_access(),
                tools=(*TOOLS, *server_tools),
                repository=repository,
                judging=judging,
                make_proposer=runtime.proposer,
                installer=runtime.installer(root, reset_baselines),
                installs_packages=config.install,
                continued=earlier,
                sandbox=sandbox,
                store=store,
                log=log,
                budget=BudgetTracker(task.budget, clock=time.monotonic),
                approval=Approval(
                    log, attended=attended, remember=lambda new_rules: remember_rules(root, new_rules)
                ),
                permissions=make_permissions(config, root, is_sandboxed=sandbox.is_sandboxed),
                secrets=private,
                workspace=_workspace_factory(
                    task,
                    config,
                    repository,
                    project=runtime.project,
                    verifier=lambda: judging.verifier_of(judging.alone),
                    sandbox=sandbox,
                    log=log,
                    private=private,
                    guidance=guidance,
                ),
                instructions=guidance.instructions,
                needs_review=reviews,
                run_elsewhere=connect(self, repository) if connect else None,
                revise=None if chosen_approach.is_offline or task.given else revise_flagged,
            )
            notices = [*repository.exclusions, *refusals, *server_problems]
            notices += _find_notices(task, repository, chosen_approach.model)
            if not (task.continues or runs_nothing):  # a conversation shows these once
                notices += (*guidance.problems, *_environment_notices(task, root, sandbox))
            yield Session(
                context, chosen_approach.strategy, id=identity, version=__version__, notices=notices
            )

    def _continue_task(self, task: Task, earlier: Continuation | None) -> Task:
        """Return a task with what it has from an earlier session, and with the user's limit of money."""
        sources = task.sources or (earlier.sources if earlier and task.mode == "ask" else ())
        task = task.model_copy(update={"continues": earlier.session if earlier else "", "sources": sources})
        if task.given or self.approach.is_offline:
            return task
        limit = find_money_limit(self.config)
        money = {"usd": limit.usd, "usd_phrase": limit.phrase} if limit else {"usd": None}
        return task.model_copy(update={"budget": task.budget.model_copy(update=money)})

    def _model_access(self) -> ModelAccess:
        config = self.config
        return ModelAccess(
            model=self.approach.model,
            by_role=self.approach.models,
            base_url=self.approach.base_url,
            context_tokens=config.context_tokens,
            seed=config.seed,
            effort=None if config.effort == "default" else config.effort,
        )


Connect = Callable[[SessionSetup, SessionRepository], RunElsewhere]


def prepare_session(
    directory: Path,
    *,
    flags: Mapping[str, Any],
    trusted: bool = False,
    unsafe: bool = False,
    approach: Approach | None = None,
    mode: Mode = "fix",
    continues: str = "",
    confirm: Callable[[str], bool] | None = None,
    sandbox: BackendChoice | None = None,
) -> SessionSetup:
    """Prepare a session in the repository that contains a directory; nothing is started.

    Without `approach` the configuration decides on it, by `mode`; of a session that this one `continues` it
    takes the model. `confirm` asks the user; None if nobody can be asked. `sandbox` is the choice for earlier
    sessions; None chooses now.

    Raises:
        UserError: the repository, the configuration, the model or the sandbox cannot be used.
    """
    root = find_checkout(directory).root
    config = inherit_model(load_config(root, flags), continues, root)
    backend = (
        sandbox.backend
        if sandbox
        else require_backend(unsafe=unsafe, image=config.image, plugin=config.sandbox)
    )
    approach = approach or choose_approach(config, model_name=flags.get("model"), mode=mode)
    runs_nothing = mode == "ask" and approach.is_offline
    trusted = trusted or (not runs_nothing and ensure_trust(root, backend=backend, confirm=confirm))
    return SessionSetup(
        root=root,
        config=config,
        backend=backend,
        trusted=trusted,
        approach=approach,
        unpriced=allows_unpriced(flags),
    )


def allows_unpriced(flags: Mapping[str, Any]) -> bool:
    """Tell whether limits on the command line allow a model without a price under a limit of money."""
    return any(flags.get(name) is not None for name in ("max_tokens", "max_requests"))


def _set_up_judging(
    task: Task, earlier: Continuation | None, repository: SessionRepository, runtime: ProjectRuntime
) -> tuple[Judging, Callable[[str], None]]:
    """Return the verifiers of a task, and what discards their results of the base.

    A change is also about the requests that it continues.
    """
    unfinished = [
        request for request in (earlier.unfinished_requests if earlier else ()) if request != task.issue
    ]
    since = repository.commit_before(earlier.requests) if earlier and earlier.requests else ""
    if earlier and since:
        unfinished = [*dict.fromkeys((*unfinished, *[*earlier.requests.values()][::-1]))]
    make_verifier = runtime.verifier_factory(
        Purpose(
            issue=task.issue,
            unfinished_issues=tuple(unfinished),
            requires_identifier_ties=task.mode == "fix",
            named_tests=(
                *extract_node_ids("\n".join((task.issue, *unfinished))),
                *find_command_tests(task.test_command),
            ),
            needs_ties=task.needs_ties,
            accepts_test_edits=task.accept_test_edits,
        )
    )
    whole = repository.since(since) if since else repository

    def reset_baselines(circumstance: str) -> None:
        for verifier in {make_verifier(repository), make_verifier(whole)}:
            verifier.reset_baseline(circumstance)

    judging = Judging(
        make_verifier=make_verifier, alone=repository, whole=whole, since=since, cutoff=runtime.cutoff
    )
    return judging, reset_baselines


def make_permissions(config: Config, root: Path, *, is_sandboxed: bool) -> Permissions:
    return Permissions(
        mode=config.approve,
        is_sandboxed=is_sandboxed,
        rules=(*configured_rules(config), *allowed_rules(root)),
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


def _find_notices(task: Task, repository: SessionRepository, model: Model) -> Iterator[str]:
    """Yield what the user should know of a request and its limits before the work begins."""
    budget = task.budget
    if budget.usd is not None and budget.unpriced and model.maximum_cost_usd(1, 1) is None:
        limits = {"tokens": budget.tokens, "requests": budget.requests}
        limited = " and ".join(f"{limit:,} {name}" for name, limit in limits.items() if limit is not None)
        yield (
            f"The price of {model.name} is not known, so {budget.usd_phrase} cannot be kept; instead it is "
            f"limited to {limited}."
        )
    ids = extract_node_ids(task.issue)  # such as those of sample output
    tests = [test for test in ids if not (repository.root / test_file_of(test)).is_file()]
    if tests and not task.given:  # a change that is judged may bring them
        yield f"The issue names {', '.join(tests)}, which is no test of this repository."
    is_change = task.mode != "ask" and not task.given and task.base is None
    if is_change and (conflicts := find_conflicts(repository.user_checkout.git)):
        yield (
            f"Merge conflicts are not resolved in {list_briefly(conflicts)}: tests that use them fail. To "
            "leave uncommitted work out: --base HEAD"
        )


def _environment_notices(task: Task, root: Path, sandbox: ProcessSandbox) -> Iterator[str]:
    """Yield notices about trust, settings and sandbox: a reduced one is told of once in a repository."""
    if not task.trusted:
        yield (
            f"{root} is not trusted: its tests run in the sandbox alone, and its instructions (AGENTS.md) "
            f"and skills are ignored. If it is yours: coder trust {root}"
        )
    yield from ignored_settings(root)
    shown = sandbox_notice_file(root)
    if sandbox.notice and not (sandbox.backend and shown.exists()):
        if sandbox.backend:
            shown.parent.mkdir(parents=True, exist_ok=True)
            shown.touch()
        yield sandbox.notice


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


def _workspace_factory(
    task: Task,
    config: Config,
    repository: SessionRepository,
    *,
    project: Project,
    verifier: Callable[[], Verifier],
    sandbox: ProcessSandbox,
    log: EventLog,
    private: Secrets,
    guidance: Guidance,
) -> Callable[[Candidate], Workspace]:
    workspaces: dict[str, Workspace] = {}

    def workspace(candidate: Candidate) -> Workspace:
        if candidate.id not in workspaces:
            residue_sandbox = ResidueSandbox(sandbox, candidate.worktree, log.warning_callback())

            @contextmanager
            def around() -> Iterator[None]:
                with repository.restore_on_exit(candidate), residue_sandbox.check_residue():
                    yield

            workspaces[candidate.id] = Workspace(
                root=candidate.worktree,
                sandbox=residue_sandbox,
                environment=command_environment(project, candidate.worktree),
                history=replace(repository.history, deny_read=(*DENY_READ, *config.deny_read)),
                run=lambda tests, progress: verifier().run_tests(
                    candidate.worktree,
                    repository.candidate_patch(candidate).paths,
                    tests,
                    progress,
                    around=around,
                ),
                baseline=lambda tests, progress: verifier().results_on_base(tests, progress),
                index=SymbolIndex(candidate.worktree, index_database(repository.root)),
                deny_read=(*DENY_READ, *config.deny_read),
                secrets=private,
                read_only=config.approve == "read-only",
                only=task.only,
                skills=guidance.skills,
            )
        return workspaces[candidate.id]

    return workspace


BRANCHES = 3
"""Candidates of a tree."""
NO_MODEL = (
    "no key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY) and no model "
    "server answers on this machine "
    "(Ollama, llama.cpp, LM Studio, vLLM; or give --base-url)."
)


def choose_approach(config: Config, *, model_name: str | None, mode: Mode = "fix") -> Approach:
    """Return the configured strategy with its model; without key and server, the built-in engine.

    `model_name` is the value of --model.

    Raises:
        UserError: the model cannot be used, or a strategy or mode needs one and there is none.
    """
    is_offline = config.strategy == "offline"
    if is_offline and (mode == "fix" or (mode == "ask" and model_name is None)):
        return _approach_without_model(mode)
    choice = choose_model(
        model=model_name, configured=config.model, base_url=config.base_url, environment=os.environ
    )
    if choice is not None:
        model, models = _open_models(choice, config)
        return Approach(
            model=model,
            models=models,
            strategy=choose_strategy(config, mode),
            reason=choice.reason,
            base_url=_recordable_url(config.base_url or ""),
        )
    if mode in ("build", "change"):
        request = "New code" if mode == "build" else "A change that is not a bug"
        raise UserError(f"{request} needs a model: {NO_MODEL}")
    if mode == "fix" and config.strategy is not None:
        raise UserError(f"The strategy {config.strategy} needs a model: {NO_MODEL}")
    course = "search and history answer" if mode == "ask" else "the built-in engine looks for a repair"
    return _approach_without_model(mode, reason=f"{NO_MODEL} So {course}.")


def _approach_without_model(mode: Mode, *, reason: str = "") -> Approach:
    from coder.strategies.offline import search_repair
    from coder.strategies.offline_answer import answer_offline

    strategy = answer_offline if mode == "ask" else search_repair()
    return Approach(strategy=strategy, reason=reason, is_offline=True)


def _recordable_url(url: str) -> str | None:
    """Return a URL unless it may hold a password or a key."""
    parts = urlsplit(url)
    return None if "@" in parts.netloc or parts.query else url


def choose_strategy(config: Config, mode: Mode) -> Strategy:
    """Return the strategy of a mode under a configuration.

    Raises:
        UserError: it is for bugs alone, and the mode is another one.
    """
    from coder.strategies.build import build_components
    from coder.strategies.registry import answer_strategy, build_strategy, log_strategy_choice

    if mode == "ask":
        return answer_strategy
    if mode == "build":
        return build_components(rounds=config.attempts - 1)  # the first run of the tests comes before any fix
    name: str = config.strategy or "linear"
    if name == "offline":
        raise UserError("The strategy offline repairs bugs alone: choose another one for a change.")
    strategy = build_strategy(
        name,
        width=BRANCHES,
        rounds=config.attempts,
        reproduces=mode == "fix",
    )
    if config.offline_first and mode == "fix":
        from coder.strategies.offline import offline_first

        strategy = offline_first(strategy)
    if config.strategy is None or name == "auto":
        return strategy
    return log_strategy_choice(name, "as asked", strategy)


def _open_models(choice: ModelChoice, config: Config) -> tuple[Model, dict[str, Model]]:
    """Return the executor's model, and those of roles with a model of their own."""
    from coder.models.provider import open_model

    tool_calling = None if config.tool_calling else False

    def open_choice(model_choice: ModelChoice) -> Model:
        return open_model(
            model_choice, environment=os.environ, tool_calling=tool_calling, images=config.images
        )

    def open_named(name: str, reason: str) -> Model:
        return open_choice(
            choose_by_name(name, reason=reason, environment=os.environ)
            if config.base_url is None
            else choose_beside(name, choice, reason=reason)
        )

    roles = {"planner": config.planner_model, "reviewer": config.reviewer_model}
    own_models = {role: open_named(name, f"for the {role}") for role, name in roles.items() if name}
    return open_choice(choice), own_models


def reviewing_approach(judging: Approach, config: Config, *, model_name: str | None) -> Approach:
    """Return how to judge an existing change and have it read by the committee's reviewers.

    Raises:
        UserError: there is no model.
    """
    from coder.strategies.review import committee_reviewers, judge_and_review

    choice = choose_model(
        model=model_name, configured=config.model, base_url=config.base_url, environment=os.environ
    )
    if choice is None:
        raise UserError(f"A review needs a model: {NO_MODEL} coder verify judges a change without one.")
    model, models = _open_models(choice, config)
    strategy = judge_and_review(judging.strategy, choose_reviewers=committee_reviewers)
    return replace(
        judging, model=model, models=models, strategy=strategy, reason=f"{choice.reason}; {judging.reason}"
    )


def judging_approach(
    request: Task,
    *,
    revision: str | None = None,
    diff: str | None = None,
    against: str | None = None,
    test_ids: tuple[str, ...] = (),
    tree: str = "",
) -> tuple[Approach, Task]:
    """Return how to judge an existing change, and the request with its base, and its message for an issue.

    `test_ids` are tests that must show it. `tree` is the git tree that the diff leads to; it is judged itself
    if the stored diff has masked secrets.

    Raises:
        UserError: there is no such change.
    """
    from coder.strategies.follow import judge_existing_change

    directory, message, base = request.directory, "", against
    if diff is None:
        change = resolve_change(directory, revision=revision, against=against)
        patch, exclusions = Patch(diff="", tree=change.tree), change.exclusions
        reason, message, base = change.label, change.message, change.base
    else:
        patch, exclusions = Patch(diff=diff), ()
        reason = f"the diff against {against or 'HEAD with the uncommitted work'}"
        if PLACEHOLDER.search(diff) and tree:
            if not has_tree(directory, tree):
                raise UserError(
                    "The stored diff holds masked secrets and this repository no longer has the judged tree. "
                    "Name the commit instead."
                )
            patch = Patch(diff="", tree=tree)
    strategy = judge_existing_change(patch, test_ids, exclusions=exclusions)
    known = {"issue": request.issue or message, "base": base, "given": True}
    return Approach(strategy=strategy, reason=reason), request.model_copy(update=known)


SUSPECT_SECONDS = 60.0


class RuntimeOptions(TypedDict, total=False):
    """Options for running the tests of a repository without a session."""

    test_command: str | None
    trusted: bool
    unsafe: bool
    confirm: Callable[[str], bool] | None
    """Asks the user for trust where there is no full sandbox; None if nobody can be asked."""


def locate_faults(
    directory: Path,
    tests: tuple[str, ...],
    *,
    progress: Progress | None = None,
    **options: Unpack[RuntimeOptions],
) -> SuspectRanking:
    """Trace failing tests (none: all that fail) in a temporary worktree at HEAD with the uncommitted work.

    Raises:
        UserError: the repository cannot be worked on.
    """
    from coder.repair.localization import SpectrumFaults

    with open_runtime(directory, **options) as (repository, runtime):
        worktree = repository.create_candidate("c1").worktree
        report = None if tests else runtime.runner().run(worktree, progress=progress)
        if report is not None and report.problem is not None:
            return SuspectRanking(problem=report.problem.text)
        failing = tests or tuple(result.id for result in (report.project_failures if report else ()))
        if not failing:
            return SuspectRanking(problem="no test fails.")
        faults = SpectrumFaults(runtime.trials())
        return faults.rank_suspects(worktree, failing, seconds=SUSPECT_SECONDS, progress=progress)


@contextmanager
def open_runtime(
    directory: Path, *, base: str | None = None, **options: Unpack[RuntimeOptions]
) -> Iterator[tuple[SessionRepository, ProjectRuntime]]:
    """Provide what runs the tests of a repository without a session, until exit; nothing of it is kept.

    It starts at the commit `base`, or at HEAD with the uncommitted work.

    Raises:
        UserError: the repository cannot be worked on.
    """
    root = find_checkout(directory).root
    config = load_config(root, {})
    backend = require_backend(unsafe=options.get("unsafe", False), image=config.image, plugin=config.sandbox)
    if not options.get("trusted"):
        ensure_trust(root, backend=backend, confirm=options.get("confirm"))
    sessions_directory().mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="runtime-", dir=sessions_directory()) as state,
        session_lock(Path(state)),
        closing(
            open_repository(root, session=f"runtime-{secrets.token_hex(4)}", state=Path(state), base=base)
        ) as repository,
        make_sandbox(backend, config, exposed=repository.exposed_directories) as sandbox,
    ):
        task = Task(issue="", directory=root, test_command=options.get("test_command") or config.test)
        yield repository, build_project_runtime(task, config, root=root, sandbox=sandbox)


def scripted_approach(script: Path, config: Config, *, mode: Mode = "fix") -> Approach:
    """Return the configured strategy with a scripted model, which fails when the script is used up.

    Raises:
        UserError: there is no script.
    """
    if not script.is_file():
        raise UserError(f"There is no script {script}, so the scripted model has nothing to say.")
    strategy = choose_strategy(config.model_copy(update={"offline_first": False}), mode)
    return Approach(model=ScriptedModel(load_script(script)), strategy=strategy, reason="as scripted")


def try_tests(directory: Path, **options: Unpack[RuntimeOptions]) -> tuple[Project, TestReport, int]:
    """Run one test of HEAD, or all where none can be selected; return how, the report, and the count.

    Raises:
        UserError: the repository cannot be worked on.
    """
    with (
        open_runtime(directory, **options) as (repository, runtime),
        repository.checkout(repository.head) as tree,
    ):
        runner = runtime.runner()
        if not runtime.project.command.is_recorded:
            report = runner.run(tree)
            return runtime.project, report, len(report.results)
        listed = runner.collect(tree)
        if listed.problem is not None or not listed.collected:
            return runtime.project, listed, len(listed.collected)
        return runtime.project, runner.run(tree, listed.collected[:1]), len(listed.collected)
