"""Building new code: plan, write in parallel, review, integrate."""

import asyncio
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from coder.core.errors import LimitReached, ModelError, PatchError
from coder.core.events import CandidateForked, NoteMade, StageChanged
from coder.core.messages import UserMessage
from coder.core.notes import Component, Done, GiveUp, Note, Plan, ReviewFinding
from coder.core.paths import is_test_path
from coder.core.phases import GENERATE, PLAN, REPAIR, StageState
from coder.core.plan import find_plan_fault, format_plan
from coder.core.state import candidate_messages
from coder.core.values import Candidate, Patch, Value
from coder.files.regular_files import read_regular_text
from coder.patching.plan import ConfinedTree
from coder.prompting import render_prompt
from coder.python.imports import SOURCE_DIRECTORIES, defined_names, module_of_path, third_party_modules
from coder.retrieval.orientation import issue_overview
from coder.session.baseline import offer_packages
from coder.session.context import SessionContext, Strategy, run_part
from coder.session.phase import PhaseSpec, PhaseState, record_change, run_phase
from coder.session.turn import add_user_message
from coder.strategies.build_review import (
    find_component_faults,
    group_findings,
    merge_components,
    merged_path,
    read_components,
    review_components,
)
from coder.strategies.candidate_status import preflight_objections
from coder.strategies.fan_out import PartOutcome, fan_out
from coder.strategies.follow import RETRY_ROUTE, follow_route
from coder.strategies.plan import fork_planner
from coder.tools.registry import ARCHITECT_TOOLS


def build_components(*, rounds: int) -> Strategy:
    """Return a strategy that builds components of a plan; at most `rounds` times flagged ones are fixed."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        with log_stage(context, PLAN_STAGE):
            plan = await obtain_components(context, candidate)
        if not isinstance(plan, Plan):
            note = plan or GiveUp(summary="No plan was made.")
            context.log.append(NoteMade(candidate=candidate.id, phase="plan", note=note, implied=True))
        elif not context.task.plan_only:
            await _Build(context, candidate, plan).run(rounds)
        return candidate

    return strategy


class WriterPart(Value):
    """Work of a component's writer, as a part of its stage: the first version, or fixes of findings."""

    plan: Plan
    component: Component
    findings: tuple[ReviewFinding, ...] = ()

    async def perform(self, context: SessionContext, candidate: Candidate) -> Note | None:
        """Let the writer work in the candidate's tree, where it may write the files of its component only."""
        workspace, only = context.workspace, self.component.files
        writing = replace(
            context,
            role="writer",
            system="system_build",
            continued=None,
            workspace=lambda other: replace(workspace(other), only=only),
        )
        phase = REPAIR if self.findings else GENERATE
        return await run_phase(
            writing, candidate, PhaseSpec(phase=phase, opening=self._open, settle=self._settle), 1
        )

    async def _open(self, context: SessionContext, fork: Candidate) -> str:
        order = "component_flagged" if self.findings else "component_missing"
        text = render_prompt(order, component=self.component, findings=self.findings)
        if candidate_messages(context.log.records, fork.id):
            return text
        task = render_prompt(
            "component",
            task=context.task,
            plan=format_plan(self.plan),
            component=self.component,
            instructions=context.instructions,
            look=await describe_repository(context, fork),
        )
        return f"{task}\n\n{text}" if self.findings else task

    async def _settle(self, context: SessionContext, fork: Candidate, state: PhaseState) -> Note | str | None:
        if state.entry:
            return None
        missing = missing_files(self.component, state.patch)
        if missing and (state.changed or isinstance(state.note, Done)):
            return f"Still missing: {', '.join(missing)}. Create it with apply_patch."
        if missing or not state.changed:
            return state.note
        objection = await asyncio.to_thread(preflight_objections, context, fork, state)
        return objection or state.note or Done(summary=f"{self.component.name} is written.")


async def fork_writer(context: SessionContext, candidate: Candidate, component: Component) -> Candidate:
    fork = await asyncio.to_thread(context.repository.create_candidate, f"{candidate.id}-{component.name}")
    context.log.append(CandidateForked(candidate=fork.id, role="writer", approach=component.name))
    return fork


class _Build:
    """One build of a plan: the candidate collects what the writers write."""

    def __init__(self, context: SessionContext, candidate: Candidate, plan: Plan) -> None:
        self._context = context
        self._candidate = candidate
        self._plan = plan
        self._forks: dict[str, Candidate] = {}
        """Worktrees of the writers by component; each has one conversation, through all fixes."""
        self._stage = GENERATE_STAGE
        self._patch = Patch(diff="")
        """The candidate's change before the stage."""
        self._errors: dict[str, LimitReached | ModelError | None] = {}
        """Newest error of each component."""
        self._collecting = asyncio.Lock()

    async def run(self, rounds: int) -> None:
        """Build, then test; where the model fails or a limit is reached, test what there is for the report.

        Raises:
            LimitReached, ModelError: the work could not go on.
        """
        self._patch = await self._context.read_patch(self._candidate)
        if self._context.task.single_file and merged_path(self._plan) in self._patch.paths:
            await self._test(repairs=True)  # an interrupted session has merged them
            return
        try:
            await fan_out(
                self._context,
                await self._make_parts({component.name: () for component in self._missing_components()}),
                work=self._write,
                evaluate=self._review,
                rounds=rounds + 1,
                log_round=lambda _number: log_stage(self._context, self._stage),
            )
        except (LimitReached, ModelError):
            await self._integrate_and_test(repairs=False)
            raise
        missing = self._missing_components()
        await self._integrate_and_test(repairs=not missing)
        for component in missing:
            if isinstance(error := self._errors.get(component.name), LimitReached):
                raise error
        if missing:
            names = ", ".join(component.name for component in missing)
            note = GiveUp(summary=f"These components could not be written: {names}.")
            self._context.log.append(
                NoteMade(candidate=self._candidate.id, phase="generate", note=note, implied=True)
            )

    async def _write(self, context: SessionContext, part: WriterPart) -> Note | None:
        """Have a component written that is missing, or fixed where it is flagged, and collect it."""
        component = part.component
        with log_stage(context, self._stage, component.name) as outcome:
            fork = self._forks[component.name]
            if not missing_files(component, self._patch):
                await asyncio.to_thread(context.repository.rollback, fork, self._patch.tree)
            note = await run_part(context, fork, part)
            if note is None or isinstance(note, GiveUp):
                outcome.state, outcome.remark = "failed", note.summary if note else "it came to no end"
                return note
            try:
                async with self._collecting:
                    await collect_component(self._context, self._candidate, component, fork)
            except PatchError as error:  # a link in place of a file
                outcome.state, outcome.remark = "failed", str(error)
            return note

    async def _review(self, number: int, outcomes: Sequence[PartOutcome[WriterPart]]) -> Sequence[WriterPart]:
        """Review all components, and return the work on flagged ones.

        Raises:
            LimitReached, ModelError: all writers failed, and the next round cannot go better.
        """
        self._patch = await self._context.read_patch(self._candidate)
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        self._errors |= {outcome.part.component.name: outcome.error for outcome in outcomes}
        is_hopeless = not self._patch.paths or any(isinstance(error, LimitReached) for error in errors)
        if errors and len(errors) == len(outcomes) and is_hopeless:
            raise errors[0]
        with log_stage(self._context, f"REVIEW {number}") as outcome:
            findings = await review_components(self._context, self._candidate, self._plan, number)
            flagged = group_findings(self._plan.components, findings)
            outcome.remark = f"changes requested: {', '.join(flagged)}" if flagged else "approved"
        self._stage = f"FIX {number}"
        return await self._make_parts(flagged)

    async def _make_parts(self, flagged: Mapping[str, tuple[ReviewFinding, ...]]) -> list[WriterPart]:
        """Return the work on flagged components, and fork the writers that are not there yet."""
        parts = []
        for component in self._plan.components:
            if component.name not in flagged:
                continue
            if component.name not in self._forks:
                self._forks[component.name] = await fork_writer(self._context, self._candidate, component)
            findings = () if missing_files(component, self._patch) else flagged[component.name]
            parts.append(WriterPart(plan=self._plan, component=component, findings=findings))
        return parts

    async def _integrate_and_test(self, *, repairs: bool) -> None:
        if not (await self._context.read_patch(self._candidate)).paths:
            return
        with log_stage(self._context, INTEGRATE_STAGE):
            await integrate(self._context, self._candidate, self._plan)
        await self._test(repairs=repairs)

    async def _test(self, *, repairs: bool) -> None:
        context = replace(self._context, system="system_build")
        if repairs:
            self._introduce_build()
        await follow_route(RETRY_ROUTE if repairs else {}, "verify")(context, self._candidate)

    def _introduce_build(self) -> None:
        """Tell the conversation that repairs what was built, once."""
        text = render_prompt("built", task=self._context.task, plan=format_plan(self._plan))
        messages = candidate_messages(self._context.log.records, self._candidate.id)
        if UserMessage(text=text) not in messages:
            add_user_message(self._context, self._candidate, text)

    def _missing_components(self) -> list[Component]:
        return [component for component in self._plan.components if missing_files(component, self._patch)]


OVERVIEW_CHARACTERS = 10_000


async def obtain_components(context: SessionContext, candidate: Candidate) -> Note | None:
    """Return the plan of the components after the user's review, or the note that there is none."""
    existing_plan = context.task.plan or (context.continued.plan if context.continued else None)
    planner = fork_planner(context, candidate)
    if existing_plan is not None:
        context.log.append(NoteMade(candidate=planner.id, phase="plan", note=existing_plan))
        return existing_plan
    planner_context = replace(
        context, role="planner", system="system_build_plan", tools=ARCHITECT_TOOLS, continued=None
    )
    spec = PhaseSpec(phase=PLAN, opening=_open_plan, settle=_settle_plan)
    plan = await run_phase(planner_context, planner, spec, 1)
    if not isinstance(plan, Plan) or not context.needs_review:
        return plan
    approved_plan = await context.approval.review_plan(plan)
    if approved_plan not in (plan, None):
        context.log.append(NoteMade(candidate=planner.id, phase="plan", note=approved_plan))
    return approved_plan or GiveUp(summary="You did not want this plan, so nothing was built.")


async def describe_repository(context: SessionContext, candidate: Candidate) -> str:
    """Return the overview of the repository that the code is built into; empty if it holds no files."""
    workspace = context.workspace(candidate)
    if not any(path.name != ".git" for path in candidate.worktree.iterdir()):
        return ""
    overview = await asyncio.to_thread(issue_overview, workspace, context.task.issue, (), OVERVIEW_CHARACTERS)
    return overview.text


async def _open_plan(context: SessionContext, planner: Candidate) -> str:
    return render_prompt(
        "build_plan",
        task=context.task,
        instructions=context.instructions,
        look=await describe_repository(context, planner),
    )


async def _settle_plan(_context: SessionContext, _planner: Candidate, state: PhaseState) -> Note | str | None:
    if isinstance(state.note, Plan) and (fault := find_plan_fault(state.note)):
        return f"This plan cannot be built: {fault}. Hand over a corrected one."
    return state.note


async def collect_component(
    context: SessionContext, candidate: Candidate, component: Component, fork: Candidate
) -> None:
    """Copy a component's files, and no others, from its writer's worktree into the candidate's."""
    source, target = ConfinedTree(fork.worktree), ConfinedTree(candidate.worktree)
    for path in component.files:
        if (content := await asyncio.to_thread(source.read, path)) is not None:
            await asyncio.to_thread(target.write, path, *content)
    await record_change(context, candidate, await context.read_patch(candidate))


def missing_files(component: Component, patch: Patch) -> tuple[str, ...]:
    return tuple(path for path in component.files if path not in patch.paths)


BUILD_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
MODE = 0o644


async def integrate(context: SessionContext, candidate: Candidate, plan: Plan) -> None:
    """Make a project of the components: what their imports need, and the files that a project lacks."""
    distributions = await provide_packages(context, candidate, plan)
    tree = ConfinedTree(candidate.worktree)
    merged = await asyncio.to_thread(_merge, context, candidate, plan) if context.task.single_file else {}
    files = merged or await asyncio.to_thread(project_files, plan, candidate.worktree, distributions)
    for path in [part.path for part in plan.components if merged]:
        await asyncio.to_thread(tree.remove, path)
    for path, text in files.items():
        await asyncio.to_thread(tree.write, path, text.encode(), MODE)
    if files:
        await record_change(context, candidate, await context.read_patch(candidate))


def _merge(context: SessionContext, candidate: Candidate, plan: Plan) -> Mapping[str, str]:
    """Return the merged file and its tests; empty if the components cannot be merged."""
    texts = read_components(plan.components, candidate.worktree)
    is_complete = all(path in texts for component in plan.components for path in component.files)
    faults = (
        merge_components(plan, texts).faults
        if is_complete
        else find_component_faults(plan.components, candidate.worktree)
    )
    if faults:
        remark = f"The components stay apart, {faults[0].place} cannot be merged: {faults[0].text}"
        context.log.warn(remark)
        return {}
    return merge_components(plan, texts).texts


def project_files(plan: Plan, tree: Path, distributions: Sequence[str]) -> Mapping[str, str]:
    """Return the files that the project lacks: `__init__.py` of packages, pyproject.toml."""
    packages = _packages(plan.components)
    top = min(packages, key=len, default="")
    files = {
        f"{package}/__init__.py": _docstring(plan) if package == top else f'"""Part of {top}."""\n'
        for package in packages
        if not (tree / package / "__init__.py").exists()
    }
    if not any((tree / name).exists() for name in BUILD_FILES):
        files["pyproject.toml"] = _pyproject(plan, packages, distributions, tree)
    return files


def _packages(components: Sequence[Component]) -> tuple[str, ...]:
    """Return the directories of the components' packages, outer ones first."""
    directories = {
        str(parent)
        for component in components
        for parent in PurePosixPath(component.path).parents
        if str(parent) not in (".", *SOURCE_DIRECTORIES)
    }
    return tuple(sorted(directories, key=lambda path: (path.count("/"), path)))


def _docstring(plan: Plan) -> str:
    parts = "\n".join(
        f"- {module_of_path(component.path)}: {component.purpose}" for component in plan.components
    )
    text = f"{plan.summary}\n\n{parts}\n".replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{text}"""\n'


def _pyproject(plan: Plan, packages: Sequence[str], distributions: Sequence[str], tree: Path) -> str:
    name = module_of_path(plan.components[0].path).partition(".")[0]
    is_src = any(component.path.startswith("src/") for component in plan.components)
    modules = [
        module_of_path(component.path)
        for component in plan.components
        if "." not in module_of_path(component.path)
    ]
    script = find_entry_point(plan, tree)
    lines = [
        "[build-system]",
        'requires = ["setuptools>=77"]',
        'build-backend = "setuptools.build_meta"',
        "",
        "[project]",
        f"name = {json.dumps(name)}",
        'version = "0.1.0"',
        f"description = {json.dumps(_first_sentence(plan.summary), ensure_ascii=False)}",
        f'requires-python = ">={sys.version_info.major}.{sys.version_info.minor}"',
        f"dependencies = {json.dumps(sorted(distributions))}",
        "",
        "[project.optional-dependencies]",
        'test = ["pytest"]',
        *(["", "[project.scripts]", f'{json.dumps(name)} = "{script}:main"'] if script else []),
        "",
        "[tool.setuptools]",
        *(['package-dir = { "" = "src" }'] if is_src else []),
        f"packages = {json.dumps([module_of_path(f'{package}/__init__.py') for package in packages])}",
        *([f"py-modules = {json.dumps(modules)}"] if modules else []),
    ]
    return "\n".join(lines) + "\n"


def find_entry_point(plan: Plan, tree: Path) -> str:
    """Return the module that defines `main`, the last one if there are several; empty if none does."""
    modules = [
        module_of_path(component.path)
        for component in plan.components
        if "main" in (defined_names(read_regular_text(tree / component.path, within=tree)) or ())
    ]
    return modules[-1] if modules else ""


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]


async def provide_packages(context: SessionContext, candidate: Candidate, plan: Plan) -> tuple[str, ...]:
    """Offer to install what the components import and the project's interpreter lacks.

    Return the distributions that the code imports, those that only its tests import left out.
    """
    if context.installer is None:
        return ()
    tree = candidate.worktree
    own = {path.stem for root in (tree, tree / "src", tree / "tests") for path in root.glob("*")}
    own |= {module_of_path(path).partition(".")[0] for part in plan.components for path in part.files}
    texts = {
        path: read_regular_text(tree / path, within=tree) for part in plan.components for path in part.files
    }
    modules = third_party_modules(texts.items(), own)
    distributions = await asyncio.to_thread(context.installer.find_distributions, modules)
    lacking = {
        distributions[module].name: module for module in modules if not distributions[module].is_installed
    }
    await offer_packages(context, lacking)
    code = [(path, text) for path, text in texts.items() if not is_test_path(path)]
    return tuple(dict.fromkeys(distributions[module].name for module in third_party_modules(code, own)))


PLAN_STAGE, GENERATE_STAGE, INTEGRATE_STAGE = "PLAN", "GENERATE", "INTEGRATE"


@dataclass
class StageOutcome:
    """The end of a stage, as its work sets it."""

    state: StageState = "done"
    remark: str = ""


@contextmanager
def log_stage(context: SessionContext, stage: str, component: str = "") -> Iterator[StageOutcome]:
    """Log that a stage, or the work on one component in it, runs and how it ends."""
    context.log.append(StageChanged(stage=stage, component=component, state="running"))
    outcome = StageOutcome()
    try:
        yield outcome
    except (ModelError, LimitReached) as error:
        context.log.append(StageChanged(stage=stage, component=component, state="failed", remark=str(error)))
        raise
    context.log.append(
        StageChanged(stage=stage, component=component, state=outcome.state, remark=outcome.remark)
    )
