"""Building new code: plan, write in parallel, review, integrate."""

import ast
import asyncio
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from coder.core.errors import LimitReached, ModelError, PatchError
from coder.core.events import CandidateForked, NoteMade, StageChanged
from coder.core.notes import Component, Done, Findings, GiveUp, Note, Plan, ReviewFinding
from coder.core.paths import is_test_path
from coder.core.plan import find_plan_fault, format_plan, order_components
from coder.core.state import candidate_messages
from coder.core.text import cut_after_line
from coder.core.values import GENERATE, PLAN, REPAIR, REVIEW, Candidate, Patch, StageState, UserMessage, Value
from coder.files.regular_files import read_regular_text
from coder.patching.plan import ConfinedTree
from coder.python.source import (
    SOURCE_DIRECTORIES,
    defined_names,
    is_docstring,
    module_of_path,
    parse_module,
    split_lines,
    third_party_modules,
)
from coder.retrieval.orientation import issue_overview
from coder.session.context import CandidateRun, SessionContext, Strategy, run_part
from coder.session.judging import offer_packages, preflight_objections
from coder.session.phase import (
    PhaseSpec,
    PhaseState,
    add_user_message,
    record_change,
    render_prompt,
    run_phase,
)
from coder.strategies.fan_out import PartOutcome, fan_out
from coder.strategies.follow import RETRY_ROUTE, follow_route
from coder.strategies.plan import fork_planner
from coder.tools.registry import ARCHITECT_TOOLS, REVIEWING_TOOLS


def build_components(*, rounds: int) -> Strategy:
    """Return a strategy that builds components of a plan; at most `rounds` times flagged ones are fixed."""

    async def strategy(run: CandidateRun) -> Candidate:
        with log_stage(run, PLAN_STAGE):
            plan = await obtain_components(run)
        if not isinstance(plan, Plan):
            note = plan or GiveUp(summary="No plan was made.")
            run.log.append(NoteMade(candidate=run.candidate.id, phase="plan", note=note, implied=True))
        elif not run.task.plan_only:
            await _Build(run, plan).run(rounds)
        return run.candidate

    return strategy


class WriterPart(Value):
    """Work of a component's writer, as a part of its stage: the first version, or fixes of findings."""

    plan: Plan
    component: Component
    findings: tuple[ReviewFinding, ...] = ()

    async def perform(self, run: CandidateRun) -> Note | None:
        """Let the writer work in the candidate's tree, where it may write the files of its component only."""
        workspace, only = run.workspace, self.component.files
        writing = replace(
            run,
            role="writer",
            system="system_build",
            continued=None,
            workspace=lambda other: replace(workspace(other), only=only),
        )
        phase = REPAIR if self.findings else GENERATE
        return await run_phase(writing, PhaseSpec(phase=phase, opening=self._open, settle=self._settle), 1)

    async def _open(self, run: CandidateRun) -> str:
        order = "component_flagged" if self.findings else "component_missing"
        text = render_prompt(order, component=self.component, findings=self.findings)
        if candidate_messages(*run.own):
            return text
        task = render_prompt(
            "component",
            task=run.task,
            plan=format_plan(self.plan),
            component=self.component,
            instructions=run.instructions,
            look=await describe_repository(run),
        )
        return f"{task}\n\n{text}" if self.findings else task

    async def _settle(self, run: CandidateRun, state: PhaseState) -> Note | str | None:
        if state.entry:
            return None
        missing = missing_files(self.component, state.patch)
        if missing and (state.changed or isinstance(state.note, Done)):
            return f"Still missing: {', '.join(missing)}. Create it with apply_patch."
        if missing or not state.changed:
            return state.note
        objection = await asyncio.to_thread(preflight_objections, run, state)
        return objection or state.note or Done(summary=f"{self.component.name} is written.")


async def fork_writer(run: CandidateRun, component: Component) -> Candidate:
    fork = await asyncio.to_thread(run.repository.create_candidate, f"{run.candidate.id}-{component.name}")
    run.log.append(CandidateForked(candidate=fork.id, role="writer", approach=component.name))
    return fork


class _Build:
    """One build of a plan: the candidate collects what the writers write."""

    def __init__(self, run: CandidateRun, plan: Plan) -> None:
        self._run = run
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
        self._patch = await self._run.read_patch()
        if self._run.task.single_file and merged_path(self._plan) in self._patch.paths:
            await self._test(repairs=True)  # an interrupted session has merged them
            return
        try:
            await fan_out(
                self._run,
                await self._make_parts({component.name: () for component in self._missing_components()}),
                work=self._write,
                evaluate=self._review,
                rounds=rounds + 1,
                log_round=lambda _number: log_stage(self._run, self._stage),
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
            self._run.log.append(
                NoteMade(candidate=self._run.candidate.id, phase="generate", note=note, implied=True)
            )

    async def _write(self, context: SessionContext, part: WriterPart) -> Note | None:
        """Have a component written that is missing, or fixed where it is flagged, and collect it."""
        component = part.component
        with log_stage(context, self._stage, component.name) as outcome:
            fork = self._forks[component.name]
            if not missing_files(component, self._patch):
                await asyncio.to_thread(context.repository.rollback, fork, self._patch.tree)
            note = await run_part(context.on(fork), part)
            if note is None or isinstance(note, GiveUp):
                outcome.state, outcome.remark = "failed", note.summary if note else "it came to no end"
                return note
            try:
                async with self._collecting:
                    await collect_component(self._run, component, fork)
            except PatchError as error:  # a link in place of a file
                outcome.state, outcome.remark = "failed", str(error)
            return note

    async def _review(self, number: int, outcomes: Sequence[PartOutcome[WriterPart]]) -> Sequence[WriterPart]:
        """Review all components, and return the work on flagged ones.

        Raises:
            LimitReached, ModelError: all writers failed, and the next round cannot go better.
        """
        self._patch = await self._run.read_patch()
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        self._errors |= {outcome.part.component.name: outcome.error for outcome in outcomes}
        is_hopeless = not self._patch.paths or any(isinstance(error, LimitReached) for error in errors)
        if errors and len(errors) == len(outcomes) and is_hopeless:
            raise errors[0]
        with log_stage(self._run, f"REVIEW {number}") as outcome:
            findings = await review_components(self._run, self._plan, number)
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
                self._forks[component.name] = await fork_writer(self._run, component)
            findings = () if missing_files(component, self._patch) else flagged[component.name]
            parts.append(WriterPart(plan=self._plan, component=component, findings=findings))
        return parts

    async def _integrate_and_test(self, *, repairs: bool) -> None:
        if not (await self._run.read_patch()).paths:
            return
        with log_stage(self._run, INTEGRATE_STAGE):
            await integrate(self._run, self._plan)
        await self._test(repairs=repairs)

    async def _test(self, *, repairs: bool) -> None:
        run = replace(self._run, system="system_build")
        if repairs:
            self._introduce_build()
        await follow_route(RETRY_ROUTE if repairs else {}, "verify")(run)

    def _introduce_build(self) -> None:
        """Tell the conversation that repairs what was built, once."""
        text = render_prompt("built", task=self._run.task, plan=format_plan(self._plan))
        messages = candidate_messages(*self._run.own)
        if UserMessage(text=text) not in messages:
            add_user_message(self._run, text)

    def _missing_components(self) -> list[Component]:
        return [component for component in self._plan.components if missing_files(component, self._patch)]


OVERVIEW_CHARACTERS = 10_000


async def obtain_components(run: CandidateRun) -> Note | None:
    """Return the plan of the components after the user's review, or the note that there is none."""
    existing_plan = run.task.plan or (run.continued.plan if run.continued else None)
    planner = fork_planner(run)
    if existing_plan is not None:
        run.log.append(NoteMade(candidate=planner.id, phase="plan", note=existing_plan))
        return existing_plan
    planner_context = replace(
        run, role="planner", system="system_build_plan", tools=ARCHITECT_TOOLS, continued=None
    )
    spec = PhaseSpec(phase=PLAN, opening=_open_plan, settle=_settle_plan)
    plan = await run_phase(planner_context.on(planner), spec, 1)
    if not isinstance(plan, Plan) or not run.needs_review:
        return plan
    approved_plan = await run.approval.review_plan(plan)
    if approved_plan not in (plan, None):
        run.log.append(NoteMade(candidate=planner.id, phase="plan", note=approved_plan))
    return approved_plan or GiveUp(summary="You did not want this plan, so nothing was built.")


async def describe_repository(run: CandidateRun) -> str:
    """Return the overview of the repository that the code is built into; empty if it holds no files."""
    workspace = run.workspace(run.candidate)
    if not any(path.name != ".git" for path in run.candidate.worktree.iterdir()):
        return ""
    overview = await asyncio.to_thread(issue_overview, workspace, run.task.issue, (), OVERVIEW_CHARACTERS)
    return overview.text


async def _open_plan(run: CandidateRun) -> str:
    look = await describe_repository(run)
    return render_prompt("build_plan", task=run.task, instructions=run.instructions, look=look)


async def _settle_plan(_run: CandidateRun, state: PhaseState) -> Note | str | None:
    if isinstance(state.note, Plan) and (fault := find_plan_fault(state.note)):
        return f"This plan cannot be built: {fault}. Hand over a corrected one."
    return state.note


async def collect_component(run: CandidateRun, component: Component, fork: Candidate) -> None:
    """Copy a component's files, and no others, from its writer's worktree into the candidate's."""
    source, target = ConfinedTree(fork.worktree), ConfinedTree(run.candidate.worktree)
    for path in component.files:
        if (content := await asyncio.to_thread(source.read, path)) is not None:
            await asyncio.to_thread(target.write, path, *content)
    await record_change(run, await run.read_patch())


def missing_files(component: Component, patch: Patch) -> tuple[str, ...]:
    return tuple(path for path in component.files if path not in patch.paths)


BUILD_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
MODE = 0o644


async def integrate(run: CandidateRun, plan: Plan) -> None:
    """Make a project of the components: what their imports need, and the files that a project lacks."""
    distributions = await provide_packages(run, plan)
    tree = ConfinedTree(run.candidate.worktree)
    merged = await asyncio.to_thread(_merge, run, plan) if run.task.single_file else {}
    files = merged or await asyncio.to_thread(project_files, plan, run.candidate.worktree, distributions)
    for path in [part.path for part in plan.components if merged]:
        await asyncio.to_thread(tree.remove, path)
    for path, text in files.items():
        await asyncio.to_thread(tree.write, path, text.encode(), MODE)
    if files:
        await record_change(run, await run.read_patch())


def _merge(run: CandidateRun, plan: Plan) -> Mapping[str, str]:
    """Return the merged file and its tests; empty if the components cannot be merged."""
    merged = merge_tree(plan, run.candidate.worktree)
    if not merged.faults:
        return merged.texts
    place, text = merged.faults[0].place, merged.faults[0].text
    run.log.warn(f"The components stay apart, {place} cannot be merged: {text}")
    return {}


def project_files(plan: Plan, tree: Path, distributions: Sequence[str]) -> Mapping[str, str]:
    """Return the files that the project lacks: `__init__.py` of packages, pyproject.toml."""
    packages = _packages(plan.components)
    top = min(packages, key=len, default="")
    purposes = {module_of_path(component.path): component.purpose for component in plan.components}
    files = {
        f"{package}/__init__.py": _docstring(plan, purposes) if package == top else f'"""Part of {top}."""\n'
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


def _docstring(plan: Plan, purposes: Mapping[str, str]) -> str:
    parts = "\n".join(f"- {name}: {purpose}" for name, purpose in purposes.items())
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
    sentence = re.split(r"(?<=[.!?])\s", " ".join(plan.summary.split()), maxsplit=1)[0]
    lines = [
        "[build-system]",
        'requires = ["setuptools>=77"]',
        'build-backend = "setuptools.build_meta"',
        "",
        "[project]",
        f"name = {json.dumps(name)}",
        'version = "0.1.0"',
        f"description = {json.dumps(sentence, ensure_ascii=False)}",
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


async def provide_packages(run: CandidateRun, plan: Plan) -> tuple[str, ...]:
    """Offer to install what the components import and the project's interpreter lacks.

    Return the distributions that the code imports, those that only its tests import left out.
    """
    if run.installer is None:
        return ()
    tree = run.candidate.worktree
    own = {path.stem for root in (tree, tree / "src", tree / "tests") for path in root.glob("*")}
    own |= {module_of_path(path).partition(".")[0] for part in plan.components for path in part.files}
    texts = {
        path: read_regular_text(tree / path, within=tree) for part in plan.components for path in part.files
    }
    modules = third_party_modules(texts.items(), own)
    distributions = await asyncio.to_thread(run.installer.find_distributions, modules)
    lacking = {
        distributions[module].name: module for module in modules if not distributions[module].is_installed
    }
    await offer_packages(run, lacking)
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


MOST_CHARACTERS = 80_000
"""Source that a reviewer is shown at once; the rest can be read with tools."""


async def review_components(run: CandidateRun, plan: Plan, number: int) -> tuple[ReviewFinding, ...]:
    """Return what must change before the components fit together; empty if they are approved.

    The reviewer is not asked while files are missing, or cannot be merged as they are to be.
    """
    tree = run.candidate.worktree
    faults = missing_component_files(plan.components, tree)
    if run.task.single_file:
        faults = (await asyncio.to_thread(merge_tree, plan, tree)).faults
    if faults:
        return faults
    reviewer = run.candidate.model_copy(update={"id": f"{run.candidate.id}/review-{number}/components"})
    run.log.append(CandidateForked(candidate=reviewer.id, role="reviewer", approach="components"))
    reviewing = replace(run, role="reviewer", system="system_review", tools=REVIEWING_TOOLS, continued=None)
    note = await run_phase(reviewing.on(reviewer), _review_phase(plan), number)
    if not isinstance(note, Findings) or note.approve:
        return ()
    return tuple(finding for finding in note.findings if finding.severity != "minor")


def group_findings(
    components: Sequence[Component], findings: Sequence[ReviewFinding]
) -> Mapping[str, tuple[ReviewFinding, ...]]:
    return {
        component.name: own
        for component in components
        if (own := tuple(finding for finding in findings if finding.path in component.files))
    }


def missing_component_files(components: Sequence[Component], tree: Path) -> tuple[ReviewFinding, ...]:
    """Return a finding for each file of a component that does not exist."""
    return tuple(
        ReviewFinding(severity="blocker", path=path, text=f"{path} does not exist.")
        for component in components
        for path in component.files
        if not (tree / path).is_file()
    )


def _review_phase(plan: Plan) -> PhaseSpec:
    async def opening(run: CandidateRun) -> str:
        return render_prompt(
            "review_components",
            task=run.task,
            plan=format_plan(plan),
            sources=await asyncio.to_thread(_render_sources, plan.components, run.candidate.worktree),
        )

    async def settle(_run: CandidateRun, state: PhaseState) -> Note | str | None:
        if isinstance(state.note, Findings) and not state.note.approve:
            weighty = [finding for finding in state.note.findings if finding.severity != "minor"]
            if not group_findings(plan.components, weighty):
                return (
                    "Name what must change: findings of severity blocker or major, each with the path of a "
                    "component or of its tests. If there is none, approve."
                )
        return state.note

    return PhaseSpec(phase=REVIEW, opening=opening, settle=settle)


def _render_sources(components: Sequence[Component], tree: Path) -> str:
    """Return the components' files with line numbers."""
    parts = []
    for path in dict.fromkeys(path for component in components for path in component.files):
        lines = split_lines(read_regular_text(tree / path, within=tree))
        numbered = "\n".join(f"{number:>5}| {line}" for number, line in enumerate(lines, start=1))
        parts.append(f"{path}\n{numbered}")
    text = "\n\n".join(parts)
    return cut_after_line(text, MOST_CHARACTERS)


MAIN_GUARD = re.compile(r"if\s+__name__\s*==")


class MergedFiles(NamedTuple):
    texts: Mapping[str, str]
    """New texts of files by path: the merged file, and the tests that import from it."""
    faults: tuple[ReviewFinding, ...]
    """Changes that the components need before they can be merged."""


@dataclass
class _Merger:
    """Collects the parts of the merged file, component by component."""

    modules: Mapping[str, Component]
    owners: dict[str, str] = field(default_factory=dict)
    """Paths of the components that define a name."""
    imports: dict[str, str] = field(default_factory=dict)
    """Import statements by the name that they bind."""
    sections: list[str] = field(default_factory=list)
    faults: list[ReviewFinding] = field(default_factory=list)

    def add(self, component: Component, text: str) -> None:
        tree = parse_module(text)
        removed: list[ast.stmt] = []
        for node in tree.body:
            if (node is tree.body[0] and is_docstring(node)) or _is_main_guard(node, text):
                removed.append(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                removed.append(node)
                self._hoist(component, node)
            else:
                self._refuse_inner_imports(component, node)
        for name in sorted(_definitions(tree)):
            if name in self.owners:
                self._object(component, f"{name} is defined in {self.owners[name]} too: rename it here.")
            self.owners.setdefault(name, component.path)
        self.sections.append(f"# --- {component.name} ---\n\n{_without(text, removed)}")

    def check_names(self, components: Sequence[Component]) -> None:
        """Object to names that one component imports and another one defines."""
        for name, statement in self.imports.items():
            owner = next((part for part in components if part.path == self.owners.get(name)), None)
            if owner is not None:
                self._object(owner, f"{name} is what others get by `{statement}`: rename it here.")

    def _hoist(self, component: Component, node: ast.Import | ast.ImportFrom) -> None:
        """Move an import to the top of the file; those of other components are not needed any more."""
        for alias in node.names:
            statement = _statement(node, alias)
            if (own := _own_import(node, alias, component, self.modules)) is not None:
                if own:
                    self._object(component, own, node.lineno)
                continue
            bound = alias.asname or alias.name.partition(".")[0]
            if self.imports.setdefault(bound, statement) != statement:
                other = self.imports[bound]
                self._object(component, f"`{statement}` is `{other}` elsewhere: rename one.", node.lineno)

    def _refuse_inner_imports(self, component: Component, node: ast.stmt) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Import | ast.ImportFrom) and any(
                _own_import(inner, alias, component, self.modules) is not None for alias in inner.names
            ):
                self._object(component, "Import from components at the top of the module.", inner.lineno)

    def _object(self, component: Component, text: str, line: int = 0) -> None:
        self.faults.append(ReviewFinding(severity="major", path=component.path, line=line, text=text))


def merge_tree(plan: Plan, tree: Path) -> MergedFiles:
    """Merge the components of a worktree; files that do not exist are faults."""
    if missing := missing_component_files(plan.components, tree):
        return MergedFiles({}, missing)
    paths = [path for component in plan.components for path in component.files]
    return merge_components(plan, {path: read_regular_text(tree / path, within=tree) for path in paths})


def merge_components(plan: Plan, texts: Mapping[str, str]) -> MergedFiles:
    """Merge components whose modules and tests have these texts, by path; all of them parse."""
    components = order_components(plan.components)
    modules = {module_of_path(component.path): component for component in components}
    merger = _Merger(modules)
    for component in components:
        merger.add(component, texts[component.path])
    merger.check_names(components)
    if "main" not in merger.owners:
        text = "No component defines `main`, with which the merged file starts."
        merger.faults.append(ReviewFinding(severity="major", path=components[-1].path, text=text))
    target = merged_path(plan)
    tests = {path: texts[path] for component in components for path in component.tests}
    new_texts = {target: _render(plan, merger)}
    for path, text in tests.items():
        new_texts[path], faults = _redirect_imports(path, text, modules, module_of_path(target))
        merger.faults += faults
    return MergedFiles(new_texts, tuple(merger.faults))


def merged_path(plan: Plan) -> str:
    """Return the path of the merged file: the name of the package, in the root."""
    return f"{module_of_path(plan.components[0].path).partition('.')[0]}.py"


def _render(plan: Plan, merger: _Merger) -> str:
    purposes = {component.name: component.purpose for component in merger.modules.values()}
    imports = sorted(
        set(merger.imports.values()), key=lambda line: ("__future__" not in line, line[:4] == "from", line)
    )
    head = "\n".join([_docstring(plan, purposes), *imports]).rstrip("\n")
    tail = 'if __name__ == "__main__":\n    raise SystemExit(main())'
    return "\n\n\n".join([head, *merger.sections, tail]) + "\n"


def _definitions(tree: ast.Module) -> frozenset[str]:
    """Return the names that a module defines itself."""
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return (defined_names(ast.unparse(tree)) or frozenset()) - imported - {"__all__"}


def _own_import(
    node: ast.Import | ast.ImportFrom,
    alias: ast.alias,
    component: Component,
    modules: Mapping[str, Component],
) -> str | None:
    """Return why an import of a component cannot be dropped, empty if it can; None if it is of none."""
    match node:
        case ast.ImportFrom(level=0, module=str(module)) if module in modules:
            return "" if alias.asname in (None, alias.name) else f"Import {alias.name} by its own name."
        case ast.ImportFrom(level=level) if level:
            package = module_of_path(component.path).rpartition(".")[0]
            name = f"{package}.{node.module}" if node.module else package
            if level == 1 and name in modules and alias.asname in (None, alias.name):
                return ""
        case ast.ImportFrom(module=str(module)) if f"{module}.{alias.name}" not in modules:
            return None
        case ast.Import() if alias.name not in modules:
            return None
    return "Import the names of components one by one: `from package.module import name`."


def _statement(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    single = ast.ImportFrom(node.module, [alias], node.level) if isinstance(node, ast.ImportFrom) else None
    return ast.unparse(single or ast.Import([alias]))


def _is_main_guard(node: ast.stmt, text: str) -> bool:
    return isinstance(node, ast.If) and MAIN_GUARD.match(split_lines(text)[node.lineno - 1]) is not None


def _without(text: str, nodes: Sequence[ast.stmt]) -> str:
    gone = {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = [line for number, line in enumerate(split_lines(text), start=1) if number not in gone]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines).strip("\n"))


def _redirect_imports(
    path: str, text: str, modules: Mapping[str, Component], target: str
) -> tuple[str, list[ReviewFinding]]:
    """Return a test's text with imports from the merged file, and where it uses a module otherwise."""
    alternatives = "|".join(map(re.escape, sorted(modules, key=len, reverse=True)))
    redirected = re.sub(
        rf"^(\s*from\s+)(?:{alternatives})(\s+import\b)", rf"\g<1>{target}\g<2>", text, flags=re.MULTILINE
    )
    faults = [*_other_uses(path, redirected, {*modules} - {target})]
    return redirected, faults


def _other_uses(path: str, text: str, modules: set[str]) -> Iterator[ReviewFinding]:
    for number, line in enumerate(split_lines(text), start=1):
        for module in sorted(modules):
            package, _, name = module.rpartition(".")
            is_used = re.search(rf"\b{re.escape(module)}\b", line) or (
                package and re.search(rf"^\s*from\s+{re.escape(package)}\s+import\b.*\b{name}\b", line)
            )
            if is_used:
                text = f"{module} is merged with the others: use `from {module} import name` only."
                yield ReviewFinding(severity="major", path=path, line=number, text=text)
