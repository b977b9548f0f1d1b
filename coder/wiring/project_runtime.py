"""Construction of everything that runs the project's code."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from zlib import crc32

from coder import __version__
from coder.behavior.comparison import group_by_answers, read_answers
from coder.behavior.runs import BehaviorRuns, call_request, find_changed_code
from coder.core.phases import Cutoff
from coder.core.ports import (
    AnswerClasses,
    Edit,
    Limits,
    Proposer,
    Repository,
    Sandbox,
)
from coder.core.task import Task
from coder.core.values import Environment
from coder.directories import index_database, state_directory
from coder.repo.repository import SessionRepository
from coder.sandbox.choice import UNSAFE_FLAG
from coder.sandbox.process import BoundedSandbox, ProcessSandbox
from coder.settings import Config
from coder.verify.base import NO_LIMITS, SuiteLimits
from coder.verify.build import Builder, separate_builds
from coder.verify.dependencies import OverlayInstaller
from coder.verify.examination import ExaminationTools
from coder.verify.example import IssueCode
from coder.verify.issue import Purpose
from coder.verify.launch import search_path
from coder.verify.linters import LinterChecks
from coder.verify.project import Overlay, Project, find_candidates, may_name_command, use_interpreter
from coder.verify.report import Denied
from coder.verify.run import CommandSelection, PytestRunner
from coder.verify.run_store import NO_HISTORY, NO_STORE, RunStore, SuiteHistory, describe_environment
from coder.verify.trees import read_texts
from coder.verify.verifier import WorktreeVerifier
from coder.warm.tracing import PytestTracer
from coder.warm.trials import PytestTrials
from coder.wiring.preparation import OVERLAYS, command_memory

UNSAFE_REMEDY = f"{UNSAFE_FLAG} runs them without a sandbox"
LEAST_COMPARED_SECONDS, COMPARED_SECONDS, MOST_COMPARED_TESTS = 1.0, 4.0, 20
"""Time for the answers to calls under one of several edits, and number of tests beside the failing ones."""


@dataclass(frozen=True, kw_only=True)
class ProjectRuntime:
    selection: CommandSelection
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

    @property
    def project(self) -> Project:
        """The selected way to test the project; final once a verifier was made."""
        return self.selection.project

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

    def tracer(self, sandbox: Sandbox | None = None) -> PytestTracer:
        return PytestTracer(
            project=self.project,
            sandbox=sandbox or self.sandbox,
            scratch=self.sandbox.scratch,
            limits=self.limits,
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
        sides = [self.project]
        if interpreter is not None:
            sides.append(use_interpreter(self.project, interpreter, os.environ))
        return BehaviorRuns(
            *(self.runner(project, sandbox) for project in sides),
            sandbox=sandbox or self.sandbox,
            scratch=self.sandbox.scratch,
            seconds=seconds,
        )

    def proposer(self) -> Proposer:
        from coder.repair.proposer import TemplateProposer

        return TemplateProposer(
            tracer=self.tracer(),
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
        if not self.selection.is_settled:  # on a clean checkout of the base if the command has to be tried
            with repository.checkout(repository.base, ()) as tree:
                self.selection.settle(tree)
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
            is_reduced=bool(backend and backend.limitations),
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
        candidates = find_candidates(
            root, sandbox=sandbox, environment=os.environ, test_command=task.test_command, base=base
        )
    limits = Limits(wall_seconds=config.suite_seconds, memory_bytes=None)
    packages_path = index_database(root).with_suffix(".packages.json")
    overlay = Overlay(
        interpreter=candidates[0].interpreter, root=state_directory() / OVERLAYS, chosen_file=packages_path
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
    projects = [
        project.model_copy(
            update={
                "overlay": overlay,
                "why": (*project.why, *sentences),
                "environment": {**passed, **project.environment, "PYTHONHASHSEED": seed},
            }
        )
        for project in candidates
    ]
    remedies = sandbox_remedies(config) if sandbox.is_sandboxed else {}
    selection = CommandSelection(
        projects,
        make_runner=lambda project: PytestRunner(
            project=project,
            sandbox=sandbox,
            scratch=sandbox.scratch,
            limits=limits,
            denied=remedies.keys(),
        ),
        memory=command_memory(root),
    )
    return ProjectRuntime(
        selection=selection,
        sandbox=sandbox,
        limits=limits,
        history_path=index_database(root).with_suffix(".suite.json"),
        mask=mask,
        strict=config.checks == "block",
        suite=suite_limits(config, in_turn=task.in_turn),
        build_command=config.build or "",
        behavior_seconds=0.0 if task.mode == "build" else config.behavior_seconds,
        sandbox_remedies=remedies,
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
