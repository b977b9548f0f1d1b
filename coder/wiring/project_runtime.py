"""Construction of what runs the code of a project: trust in it, sandbox, test command, runners, verifiers."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from zlib import crc32

from coder import __version__
from coder.behavior.comparison import group_by_answers, read_answers
from coder.behavior.runs import TARGET as BEHAVIOR_TARGET
from coder.behavior.runs import BehaviorRuns, call_request, find_changed_code
from coder.core.errors import ToolError, UserError
from coder.core.events import Attachment, Task
from coder.core.ports import (
    AnswerClasses,
    Edit,
    Limits,
    Proposer,
    Repository,
    Sandbox,
)
from coder.core.values import Cutoff, Environment, Policy
from coder.files.regular_files import index_database, read_texts, state_directory
from coder.index.index import SymbolIndex
from coder.permissions.secrets import DENY_READ
from coder.repo.repository import SessionRepository
from coder.retrieval.attachments import attach_mentions
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.ranking import Localization, locate_issue
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.choice import UNSAFE_FLAG
from coder.sandbox.process import BoundedSandbox, ProcessSandbox
from coder.settings import Config, is_trusted, load_config, sandbox_caps, trust_repository
from coder.verify.base import NO_LIMITS, SuiteLimits
from coder.verify.build import Builder, separate_builds
from coder.verify.change import Purpose
from coder.verify.dependencies import OverlayInstaller
from coder.verify.examine import ExaminationTools, LinterChecks
from coder.verify.example import IssueCode
from coder.verify.launch import TARGET, search_path
from coder.verify.project import (
    Overlay,
    Project,
    describe_environment,
    find_project,
    may_name_command,
    use_interpreter,
)
from coder.verify.results import Denied
from coder.verify.run import NO_HISTORY, NO_STORE, PytestRunner, RunStore, SuiteHistory
from coder.verify.verifier import WorktreeVerifier
from coder.warm.trials import TARGET as WARM_TARGET
from coder.warm.trials import PytestTrials

UNKNOWN_PURPOSE = "(a change without a description)"
"""Issue of a change that is judged without one."""


def read_attachments(text: str, root: Path, config: Config) -> tuple[Attachment, ...]:
    """Return the files and symbols of a repository that a text mentions.

    Raises:
        UserError: one of the files cannot be attached.
    """
    index = SymbolIndex(root, index_database(root))
    return attach_mentions(text, root, index, deny_read=(*DENY_READ, *config.deny_read))


def ensure_trust(
    root: Path, *, backend: SandboxBackend | None, confirm: Callable[[str], bool] | None = None
) -> bool:
    """Return whether the repository is trusted; ask the user if its tests would run without a full sandbox.

    Refused in a reduced sandbox, the work goes on there, without trust.

    Raises:
        UserError: it is not trusted, there is no full sandbox, and the user cannot be asked, or refuses where
            there is none at all.
    """
    if is_trusted(root):
        return True
    if backend is not None and not backend.limitations:
        return False
    if confirm is None:
        raise UserError(
            f"{root} is not trusted, and its tests would run on this machine. Run `coder trust {root}` once, "
            "or add --trust."
        )
    refusal = "" if backend is None else " No: go on in the sandbox, without its instructions and skills."
    if confirm(f"{trust_question(root, backend)}{refusal}"):
        trust_repository(root)
        return True
    if backend is None:
        raise UserError(f"{root} is not trusted: nothing was run.")
    return False


def trust_question(root: Path, backend: SandboxBackend | None) -> str:
    """Return the question on a repository whose tests would run without a full sandbox."""
    consequence = (
        "its tests run without a sandbox, as you"
        if backend is None
        else "its tests run in a reduced sandbox, and its instructions and skills count"
    )
    servers = (
        f", and the servers of its {SERVERS_FILE} are started" if (root / SERVERS_FILE).is_file() else ""
    )
    return f"Trust {root.name}? If so, {consequence}{servers}."


SERVERS_FILE = ".mcp.json"


def trust_details(root: Path, backend: SandboxBackend | None) -> str:
    """Return what the user may want to know before they trust a repository."""
    sandbox = (
        "There is no sandbox: commands can do what you can do" if backend is None else backend.limitations
    )
    return (
        f'{root}\n{sandbox[:1].upper()}{sandbox[1:]}.\n"once" holds until you leave, "always" until '
        "coder trust --forget."
    )


OVERLAYS = "overlays"


def make_sandbox(
    backend: SandboxBackend | None,
    config: Config | None = None,
    *,
    exposed: Iterable[Path] = (),
) -> ProcessSandbox:
    """Return a sandbox with the private files and limits of the configuration, or of the default one.

    Commands may read what is `exposed`.
    """
    effective = config or Config()
    return ProcessSandbox(
        os.environ,
        backend=backend,
        exposed=(TARGET, BEHAVIOR_TARGET, WARM_TARGET, state_directory() / OVERLAYS, *exposed),
        deny_read=(*DENY_READ, *effective.deny_read),
        caps=sandbox_caps(effective),
        default_policy=Policy(network=effective.test_network),
    )


def inspect_project(root: Path, *, backend: SandboxBackend | None) -> Project:
    """Return how the repository at `root` is tested."""
    with make_sandbox(backend) as sandbox:
        return find_project(
            root, sandbox=sandbox, environment=os.environ, test_command=load_config(root, {}).test
        )


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
    return locate_issue(snapshot, extract_issue_terms(text))


UNSAFE_REMEDY = f"{UNSAFE_FLAG} runs them without a sandbox"
LEAST_COMPARED_SECONDS, COMPARED_SECONDS, MOST_COMPARED_TESTS = 1.0, 4.0, 20
"""Time for the answers to calls under one of several edits, and number of tests beside the failing ones."""


@dataclass(frozen=True, kw_only=True)
class ProjectRuntime:
    project: Project
    sandbox: ProcessSandbox
    limits: Limits
    history_path: Path
    """File that stores how long the suite took."""
    mask: Callable[[str], str] = lambda text: text
    """Hides secrets in what is kept of test runs."""
    strict: bool = False
    """Whether new findings of checkers keep a fix from being PROVEN."""
    suite: SuiteLimits = NO_LIMITS
    behavior_seconds: float = 10.0
    """Time limit for comparing the answers to calls; 0 compares nothing."""
    build_command: str = ""
    """Command that builds both sides; empty if none is set."""
    sandbox_remedies: Mapping[Denied, str] = field(default_factory=dict)
    cutoff: Cutoff = field(default_factory=Cutoff)
    """The verifiers' large test runs in progress."""

    def runner(
        self,
        project: Project | None = None,
        sandbox: Sandbox | None = None,
        history: SuiteHistory = NO_HISTORY,
    ) -> PytestRunner:
        return PytestRunner(
            project=project or self.project,
            sandbox=sandbox or self.sandbox,
            scratch=self.sandbox.scratch,
            limits=self.limits,
            denied=self.sandbox_remedies.keys(),
            history=history,
        )

    def trials(self, sandbox: Sandbox | None = None) -> PytestTrials:
        return PytestTrials(
            project=self.project,
            sandbox=sandbox or self.sandbox,
            scratch=self.sandbox.scratch,
            limits=self.limits,
        )

    def tools(self, cut: Event) -> ExaminationTools:
        bounded = BoundedSandbox(self.sandbox, cut)
        return ExaminationTools(
            trials=self.trials(bounded),
            checks=LinterChecks(self.project, bounded).compare,
            issue_code=self.issue_code(bounded),
            behavior=self.behavior_runs(seconds=self.behavior_seconds, sandbox=bounded).examine,
            strict=self.strict,
        )

    def behavior_runs(
        self, *, seconds: float, interpreter: Path | None = None, sandbox: Sandbox | None = None
    ) -> BehaviorRuns:
        """Return what compares behavior; `interpreter` runs the change where it is not the project's."""
        project = self.project
        changed = project if interpreter is None else use_interpreter(project, interpreter, os.environ)
        return BehaviorRuns(
            sides=(self.runner(project, sandbox), self.runner(changed, sandbox)),
            sandbox=sandbox or self.sandbox,
            scratch=self.sandbox.scratch,
            seconds=seconds,
        )

    def proposer(self) -> Proposer:
        from coder.repair.proposer import TemplateProposer

        return TemplateProposer(
            tracer=self.trials(),
            trials=self.trials(),
            runner=self.runner(),
            classify=self._classify_edits,
        )

    def issue_code(self, sandbox: Sandbox | None = None) -> IssueCode:
        return IssueCode(self.project, sandbox or self.sandbox, self.sandbox.scratch)

    def _classify_edits(
        self,
        tree: Path,
        edits: Sequence[Edit],
        targets: Sequence[str],
        tests: Sequence[str],
        seconds: float,
    ) -> AnswerClasses:
        """Group edits of a tree by the answers to the calls of some tests, in a fork for each edit.

        Two more forks, before and after, give the answers of the unchanged code.
        """
        old = read_texts(tree, [edit.path for edit in edits])
        changed = [find_changed_code(old, {**old, edit.path: edit.apply(old[edit.path])}) for edit in edits]
        code = changed[0]._replace(
            functions=tuple(dict.fromkeys(row for part in changed for row in part.functions)),
            literals=tuple(dict.fromkeys(value for part in changed for value in part.literals)),
        )
        share = max(LEAST_COMPARED_SECONDS, min(COMPARED_SECONDS, seconds / len(edits)))
        request = call_request(tree, code, targets=targets, command=self.runner().command, seconds=share)
        request |= {"others": [*tests[:MOST_COMPARED_TESTS]], "hurried": True}
        text = old[edits[0].path]
        same = tuple(
            change.model_copy(update={"text": text[change.start : change.end]}) for change in edits[0].changes
        )
        unchanged = edits[0].model_copy(update={"changes": same})
        records = self.trials().record_calls(tree, [unchanged, *edits, unchanged], request, seconds=seconds)
        before, *answers, again = map(read_answers, records)
        return group_by_answers(answers, before, again)

    def installer(self, root: Path, on_install: Callable[[str], None]) -> OverlayInstaller:
        return OverlayInstaller(
            self.project, root, sandbox=self.sandbox, environment=os.environ, installed=on_install
        )

    def verifier_factory(self, purpose: Purpose) -> Callable[[Repository], WorktreeVerifier]:
        """Return a function that makes one verifier for each base, which remembers the base's results."""
        verifiers_by_base: dict[str, WorktreeVerifier] = {}
        lock = Lock()

        def verifier(repository: Repository) -> WorktreeVerifier:
            with lock:
                if repository.base not in verifiers_by_base:
                    verifiers_by_base[repository.base] = self._make_verifier(repository, purpose)
                return verifiers_by_base[repository.base]

        return verifier

    def _make_verifier(self, repository: Repository, purpose: Purpose) -> WorktreeVerifier:
        history = SuiteHistory(self.history_path, self.project.command.text)
        with repository.read(repository.base, ()) as tree:
            project, build = separate_builds(self.project, tree, self.build_command)
        return WorktreeVerifier(
            trees=repository,
            runner=self.runner(project, history=history),
            purpose=purpose,
            circumstances=self.project.why,
            describe_environment=self.describe_environment,
            tools=self.tools,
            examples=self.issue_code() if self.sandbox.is_sandboxed else None,
            find_lost_imports=self.issue_code().find_lost_imports,
            suite=self.suite,
            history=history,
            builder=Builder(self.project, sandbox=self.sandbox, limits=self.limits, command=build),
            cutoff=self.cutoff,
            sandbox_remedies=self.sandbox_remedies,
            store=self._run_store(repository),
        )

    def describe_environment(self) -> Environment:
        project, backend = self.project, self.sandbox.backend
        is_python = project.command.is_recorded
        added = project.overlay.packages if project.overlay and project.overlay.directory else ()
        return Environment(
            interpreter=str(project.interpreter) if is_python else "",
            python=project.python,
            packages=tuple(sorted({*project.distributions, *added})),
            sandbox=backend.name if backend else "",
            is_reduced=backend is not None and self.sandbox.notice != "",
        ).with_hash()

    def _run_store(self, repository: Repository) -> RunStore:
        """Return the store of test reports on the repository's base and on changes of it."""
        if not self.project.command.is_recorded:
            return NO_STORE
        facts = (
            __version__,
            repository.base_tree,
            describe_environment(self.project, repository.root, repository.copied_paths.values()),
            f"{self.sandbox.is_sandboxed} {sorted(self.sandbox_remedies)}",
        )
        return RunStore(self.history_path.with_suffix(".runs"), "\n".join(facts), mask=self.mask)


def build_project_runtime(
    task: Task,
    config: Config,
    *,
    root: Path,
    sandbox: ProcessSandbox,
    mask: Callable[[str], str] = lambda text: text,
    repository: SessionRepository | None = None,
) -> ProjectRuntime:
    """Return what runs the code of the project at `root`; `mask` hides secrets in what is kept of it.

    A change that was made before it was given to be judged does not decide how tests run: the base of the
    `repository` does.
    """
    is_given = repository is not None and task.given and not task.test_command
    paths = repository.paths_beside_base() if repository and is_given else []
    is_changed = any(map(may_name_command, paths))
    with repository.read(repository.base, ()) if repository and is_changed else nullcontext() as base:
        project = find_project(
            root, sandbox=sandbox, environment=os.environ, test_command=task.test_command, base=base
        )
    limits = Limits(wall_seconds=config.suite_seconds, memory_bytes=None)
    packages_path = index_database(root).with_suffix(".packages.json")
    overlay = Overlay(
        interpreter=project.interpreter, root=state_directory() / OVERLAYS, chosen_file=packages_path
    )
    # The same in each session: ids of tests may depend on it, and results are kept from one to the next.
    seed = str(crc32(os.fsencode(root)))
    passed = {name: os.environ[name] for name in config.test_environment if name in os.environ}
    sentences = (
        f"Hash seed: {seed}, the same on both sides.",
        *filter(None, [overlay.evidence_sentence]),
        *(["Tests use this machine's network, as the user's settings say."] if config.test_network else []),
        *([f"Variables passed to tests: {', '.join(passed)}."] if passed else []),
    )
    project = project.model_copy(
        update={
            "overlay": overlay,
            "why": (*project.why, *sentences),
            "environment": {**passed, **project.environment, "PYTHONHASHSEED": seed},
        }
    )
    return ProjectRuntime(
        project=project,
        sandbox=sandbox,
        limits=limits,
        history_path=index_database(root).with_suffix(".suite.json"),
        mask=mask,
        strict=config.checks == "block",
        suite=suite_limits(config, in_turn=task.in_turn),
        build_command=config.build or "",
        behavior_seconds=0.0 if task.mode == "build" else config.behavior_seconds,
        sandbox_remedies=sandbox_remedies(config) if sandbox.is_sandboxed else {},
    )


def sandbox_remedies(config: Config) -> dict[Denied, str]:
    """Return, for each resource that the sandbox denies tests, the switch that allows it."""
    remedies: dict[Denied, str] = {
        "files": UNSAFE_REMEDY,
        "calls": UNSAFE_REMEDY,
        "home": "no switch shows it, so let the tests bring their own",
    }
    network = "`test_network = true` in your settings for this repository lets them run"
    return remedies if config.test_network else {**remedies, "network": network}


def command_environment(project: Project, worktree: Path) -> dict[str, str]:
    """Return the variables of test runs, for commands in a worktree: they find the same programs."""
    variables = {**project.environment, **project.command.environment}
    directories = (str(worktree / "node_modules" / ".bin"), variables.get("PATH", ""))
    modules = os.pathsep.join(search_path(project, worktree))
    return {
        **variables,
        "PATH": os.pathsep.join(filter(None, directories)),
        **({"PYTHONPATH": modules} if modules else {}),
    }


TURN_SECONDS, TURN_EXAMINATION_SECONDS = 20.0, 10.0
"""Most seconds of tests beside the targets, and of the examination, while an agent waits."""


def suite_limits(config: Config, *, in_turn: bool = False) -> SuiteLimits:
    """Return the limits of test runs: short in an agent's turn, all of their time where the user waits."""
    if in_turn:
        return SuiteLimits(
            suite_seconds=config.suite_seconds,
            reaching_seconds=TURN_SECONDS,
            examination_seconds=TURN_EXAMINATION_SECONDS,
        )
    return SuiteLimits(suite_seconds=config.suite_seconds, waits=config.wait)
