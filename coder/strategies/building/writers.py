"""Writers of components: each has a conversation and a worktree of its own."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from coder.core.events import CandidateForked
from coder.core.notes import Component, Done, Finding, GiveUp, Note, Plan
from coder.core.phases import GENERATE, REPAIR
from coder.core.state import candidate_messages
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.plan import format_plan
from coder.patching.applying.tree import ConfinedTree
from coder.session.context import SessionContext
from coder.session.phase import PhaseSpec, PhaseState, record_change, run_phase
from coder.strategies.building.planning import describe_repository
from coder.strategies.review.preflight import preflight_objections


class ComponentWriter:
    """Writer of one component, from its first version through all fixes."""

    def __init__(self, plan: Plan, component: Component, fork: Candidate) -> None:
        """Take the fork that the component is written in, and nothing but the component."""
        self.component = component
        self._plan = plan
        self._fork = fork

    async def generate(self, context: SessionContext) -> Note | None:
        """Write the component with its tests; return None or a note of giving up if there is none."""
        purpose = PhaseSpec(phase=GENERATE, opening=self._open_generation, settle=self._settle_generation)
        return await run_phase(self._restrict(context), self._fork, purpose, 1)

    async def fix(self, context: SessionContext, findings: Sequence[Finding], patch: Patch) -> Note | None:
        """Fix what is wrong with the component, in the tree of the whole `patch`."""
        await asyncio.to_thread(context.repository.rollback, self._fork, patch.tree)

        async def opening(context: SessionContext, _fork: Candidate) -> str:
            text = context.prompts.render("component_flagged", component=self.component, findings=findings)
            return text if self._has_begun(context) else f"{await self._describe_task(context)}\n\n{text}"

        purpose = PhaseSpec(phase=REPAIR, opening=opening, settle=self._settle_fix)
        return await run_phase(self._restrict(context), self._fork, purpose, 1)

    def read_files(self) -> dict[str, tuple[bytes, int]]:
        """Return content and mode of the component's files, as far as they exist."""
        tree = ConfinedTree(self._fork.worktree)
        found = {path: tree.read(path) for path in self.component.files}
        return {path: content for path, content in found.items() if content is not None}

    def _restrict(self, context: SessionContext) -> SessionContext:
        """Return the context of a writer, which may write the files of its component only."""
        workspace, only = context.workspace, self.component.files
        return replace(
            context,
            role="writer",
            system="system_build",
            continued=None,
            workspace=lambda other: replace(workspace(other), only=only),
        )

    def _has_begun(self, context: SessionContext) -> bool:
        return bool(candidate_messages(context.log.records, self._fork.id))

    async def _describe_task(self, context: SessionContext) -> str:
        return context.prompts.render(
            "component",
            task=context.task,
            plan=format_plan(self._plan),
            component=self.component,
            instructions=context.instructions,
            look=await describe_repository(context, self._fork),
        )

    async def _open_generation(self, context: SessionContext, _fork: Candidate) -> str:
        if self._has_begun(context):
            return context.prompts.render("component_missing", component=self.component)
        return await self._describe_task(context)

    async def _settle_generation(
        self, context: SessionContext, fork: Candidate, state: PhaseState
    ) -> Note | str | None:
        if state.entry:
            return None
        missing = missing_files(self.component, state.patch)
        if state.changed and not missing:
            objection = await asyncio.to_thread(preflight_objections, context, fork, state)
            return objection or state.note or Done(summary=f"{self.component.name} is written.")
        if missing and (state.changed or isinstance(state.note, Done)):
            return f"Still missing: {', '.join(missing)}. Create it with apply_patch."
        return state.note

    async def _settle_fix(
        self, context: SessionContext, fork: Candidate, state: PhaseState
    ) -> Note | str | None:
        if state.entry:
            return None
        if state.changed and (
            objection := await asyncio.to_thread(preflight_objections, context, fork, state)
        ):
            return objection
        return state.note or (Done(summary=f"{self.component.name} is changed.") if state.changed else None)


async def fork_writer(
    context: SessionContext, candidate: Candidate, plan: Plan, component: Component
) -> ComponentWriter:
    """Fork the writer of a component, with a fresh conversation."""
    fork = await asyncio.to_thread(context.repository.create_candidate, f"{candidate.id}-{component.name}")
    context.log.append(CandidateForked(candidate=fork.id, role="writer", approach=component.name))
    return ComponentWriter(plan, component, fork)


async def collect_component(context: SessionContext, candidate: Candidate, writer: ComponentWriter) -> None:
    """Copy a component's files, and no others, from its writer's worktree into the candidate's."""
    files = await asyncio.to_thread(writer.read_files)
    tree = ConfinedTree(candidate.worktree)
    for path, (data, mode) in files.items():
        await asyncio.to_thread(tree.write, path, data, mode)
    await record_change(
        context, candidate, await asyncio.to_thread(context.repository.candidate_patch, candidate)
    )


def missing_files(component: Component, patch: Patch) -> tuple[str, ...]:
    """Return the files of a component that a change lacks."""
    return tuple(path for path in component.files if path not in patch.paths)


def is_written(note: Note | None) -> bool:
    """Tell whether a writer has ended with its component."""
    return note is not None and not isinstance(note, GiveUp)
