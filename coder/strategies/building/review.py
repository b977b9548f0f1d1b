"""Review of all components against their plan; the harness checks first what needs no reader."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from coder.core.events import CandidateForked
from coder.core.notes import Component, Finding, Findings, Note, Plan
from coder.core.phases import REVIEW
from coder.core.values.candidate import Candidate
from coder.core.values.plan import format_plan
from coder.files.regular_files import read_regular_text
from coder.python.imports import ImportedName, defined_names, list_imports, module_of_path
from coder.session.context import SessionContext
from coder.session.phase import PhaseSpec, PhaseState, run_phase
from coder.strategies.building.single_file import merge_components
from coder.tools.registry import REVIEWING_TOOLS

MOST_CHARACTERS = 80_000
"""Source that a reviewer is shown at once; the rest can be read with tools."""
API_NAME = re.compile(r"(?:async\s+)?(?:(?:def|class)\s+)?(?P<name>[A-Za-z_]\w*)\s*(?:[(:.=\[]|->|$)")


async def review_components(
    context: SessionContext, candidate: Candidate, plan: Plan, number: int
) -> tuple[Finding, ...]:
    """Return what must change before the components fit together; empty if they are approved.

    The reviewer is not asked while the harness finds something itself.
    """
    faults = await asyncio.to_thread(find_component_faults, plan.components, candidate.worktree)
    if not faults and context.task.single_file:
        texts = await asyncio.to_thread(read_components, plan.components, candidate.worktree)
        faults = merge_components(plan, texts).faults
    if faults:
        return faults
    reviewer = candidate.model_copy(update={"id": f"{candidate.id}/review-{number}/components"})
    context.log.append(CandidateForked(candidate=reviewer.id, role="reviewer", approach="components"))
    reviewing = replace(
        context, role="reviewer", system="system_review", tools=REVIEWING_TOOLS, continued=None
    )
    note = await run_phase(reviewing, reviewer, _review_phase(plan), number)
    if not isinstance(note, Findings) or note.approve:
        return ()
    return tuple(finding for finding in note.findings if finding.severity != "minor")


def group_findings(
    components: Sequence[Component], findings: Sequence[Finding]
) -> Mapping[str, tuple[Finding, ...]]:
    """Return the findings of each flagged component by its name."""
    return {
        component.name: own
        for component in components
        if (own := tuple(finding for finding in findings if finding.path in component.files))
    }


def find_component_faults(components: Sequence[Component], tree: Path) -> tuple[Finding, ...]:
    """Return files that are missing, names of interfaces that are not defined, imports that lead nowhere."""
    texts = read_components(components, tree)
    names = {
        module_of_path(path): defined_names(texts[path]) if path in texts else None
        for component in components
        for path in component.files
    }
    return tuple(
        finding for component in components for finding in _component_faults(component, texts, names, tree)
    )


def read_components(components: Sequence[Component], tree: Path) -> Mapping[str, str]:
    """Return the texts of all files of the components that exist, by path."""
    return {
        path: read_regular_text(tree / path, within=tree)
        for component in components
        for path in component.files
        if (tree / path).is_file()
    }


def _component_faults(
    component: Component,
    texts: Mapping[str, str],
    names: Mapping[str, frozenset[str] | None],
    tree: Path,
) -> Iterator[Finding]:
    for path in component.files:
        if path not in texts:
            yield _fault(path, f"{path} does not exist.")
            continue
        for imported in list_imports(texts[path], path):
            if fault := _import_fault(imported, names, tree):
                yield _fault(path, fault, imported.line)
    own_names = names.get(module_of_path(component.path))
    for signature in component.api:
        match = API_NAME.match(signature.strip())
        if match and own_names is not None and match["name"] not in own_names:
            yield _fault(component.path, f"The plan's `{signature}` is not defined.")


def _fault(path: str, text: str, line: int = 0) -> Finding:
    return Finding(severity="blocker", path=path, line=line, text=text)


def _import_fault(imported: ImportedName, names: Mapping[str, frozenset[str] | None], tree: Path) -> str:
    """Return why an import of a component fails; empty if it does not, or is not of one."""
    module, name = imported.module, imported.name
    if module in names:
        known = names[module]
        is_known = not name or name == "*" or known is None or name in known
        is_module = f"{module}.{name}" in names or _exists(f"{module}.{name}", tree)
        return "" if is_known or is_module else f"{module} defines no {name}."
    tops = {known_module.partition(".")[0] for known_module in names}
    if module.partition(".")[0] not in tops or _exists(module, tree):
        return ""
    return f"There is no module {module}."


def _exists(module: str, tree: Path) -> bool:
    """Tell whether a module, or a package even without `__init__.py`, lies in the tree."""
    relative = module.replace(".", "/")
    return any(
        (tree / root / relative).is_dir() or (tree / root / f"{relative}.py").is_file()
        for root in ("", "src", "lib")
    )


def _review_phase(plan: Plan) -> PhaseSpec:
    async def opening(context: SessionContext, reviewer: Candidate) -> str:
        return context.prompts.render(
            "review_components",
            task=context.task,
            plan=format_plan(plan),
            sources=await asyncio.to_thread(_render_sources, plan.components, reviewer.worktree),
        )

    async def settle(_context: SessionContext, _reviewer: Candidate, state: PhaseState) -> Note | str | None:
        note = state.note
        if isinstance(note, Findings) and not note.approve and not _flags_component(plan, note):
            return (
                "Name what must change: findings of severity blocker or major, each with the path of a "
                "component or of its tests. If there is none, approve."
            )
        return note

    return PhaseSpec(phase=REVIEW, opening=opening, settle=settle)


def _flags_component(plan: Plan, findings: Findings) -> bool:
    return bool(
        group_findings(
            plan.components, [finding for finding in findings.findings if finding.severity != "minor"]
        )
    )


def _render_sources(components: Sequence[Component], tree: Path) -> str:
    """Return the components' files with line numbers."""
    parts = []
    for path in dict.fromkeys(path for component in components for path in component.files):
        lines = read_regular_text(tree / path, within=tree).splitlines()
        numbered = "\n".join(f"{number:>5}| {line}" for number, line in enumerate(lines, start=1))
        parts.append(f"{path}\n{numbered}")
    text = "\n\n".join(parts)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}\n[cut here: read the rest]"
