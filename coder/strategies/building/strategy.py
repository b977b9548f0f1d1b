"""Strategy of a build: plan, generate, review and fix in rounds, integrate, test and repair."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from coder.core.errors import LimitReached, ModelError
from coder.core.events import NoteMade
from coder.core.messages import UserMessage
from coder.core.notes import Component, Finding, GiveUp, Plan
from coder.core.state import candidate_messages
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.plan import format_plan
from coder.patching.errors import PatchError
from coder.session.context import SessionContext, Strategy
from coder.session.turn import add_user_message
from coder.strategies.building.integration import integrate
from coder.strategies.building.planning import obtain_components
from coder.strategies.building.review import group_findings, review_components
from coder.strategies.building.single_file import merged_path
from coder.strategies.building.stages import GENERATE, INTEGRATE, PLAN, log_stage
from coder.strategies.building.writers import (
    ComponentWriter,
    collect_component,
    fork_writer,
    is_written,
    missing_files,
)
from coder.strategies.follow import RETRY_ROUTE, follow_route

Flagged = Mapping[str, Sequence[Finding]]
"""Findings by the name of the component."""


def build_components(*, rounds: int) -> Strategy:
    """Return a strategy that builds components of a plan; at most `rounds` times flagged ones are fixed."""

    async def strategy(context: SessionContext, candidate: Candidate) -> Candidate:
        with log_stage(context, PLAN):
            plan = await obtain_components(context, candidate)
        if not isinstance(plan, Plan):
            note = plan or GiveUp(summary="No plan was made.")
            context.log.append(NoteMade(candidate=candidate.id, phase="plan", note=note, implied=True))
        elif not context.task.plan_only:
            await _Build(context, candidate, plan).run(rounds)
        return candidate

    return strategy


class _Build:
    """One build of a plan: the candidate collects what the writers write."""

    def __init__(self, context: SessionContext, candidate: Candidate, plan: Plan) -> None:
        self._context = context
        self._candidate = candidate
        self._plan = plan
        self._writers: dict[str, ComponentWriter] = {}
        self._errors: dict[str, LimitReached | ModelError] = {}
        """Newest error of each component."""
        self._collecting = asyncio.Lock()

    async def run(self, rounds: int) -> None:
        """Build, then test; where the model fails or a limit is reached, test what there is for the report.

        Raises:
            LimitReached, ModelError: the work could not go on.
        """
        patch = await self._current_patch()
        if self._context.task.single_file and merged_path(self._plan) in patch.paths:
            await self._test(repairs=True)  # an interrupted session has merged them
            return
        try:
            await self._write_and_review(rounds)
        except (LimitReached, ModelError):
            await self._integrate_and_test(repairs=False)
            raise
        missing = self._missing_components(await self._current_patch())
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

    async def _write_and_review(self, rounds: int) -> None:
        patch = await self._current_patch()
        if missing := self._missing_components(patch):
            await self._run_stage(GENERATE, missing, patch)
        for number in range(1, rounds + 2):
            with log_stage(self._context, f"REVIEW {number}") as outcome:
                findings = await review_components(self._context, self._candidate, self._plan, number)
                flagged = group_findings(self._plan.components, findings)
                outcome.remark = f"changes requested: {', '.join(flagged)}" if flagged else "approved"
            if not flagged or number > rounds:
                return
            to_fix = [component for component in self._plan.components if component.name in flagged]
            patch = await self._current_patch()
            await self._run_stage(f"FIX {number}", to_fix, patch, flagged=flagged)

    async def _run_stage(
        self,
        stage: str,
        components: Sequence[Component],
        patch: Patch,
        *,
        flagged: Flagged | None = None,
    ) -> None:
        """Write or fix components concurrently; one that fails does not stop the others.

        `patch` is the candidate's change before it.

        Raises:
            LimitReached, ModelError: all of them failed, and the next round cannot go better.
        """
        with log_stage(self._context, stage):
            for component in components:
                if component.name not in self._writers:
                    self._writers[component.name] = await fork_writer(
                        self._context, self._candidate, self._plan, component
                    )
            shares = {
                component.name: replace(self._context, budget=self._context.budget.share(len(components)))
                for component in components
            }

            async def work(component: Component) -> LimitReached | ModelError | None:
                shared = shares[component.name]
                findings = (flagged or {}).get(component.name, ())
                try:
                    await self._write(shared, stage, component, patch, findings=findings)
                except (LimitReached, ModelError) as error:
                    self._errors[component.name] = error
                    return error
                return None

            errors = [error for error in await asyncio.gather(*map(work, components)) if error is not None]
            is_hopeless = not patch.paths or any(isinstance(error, LimitReached) for error in errors)
            if len(errors) == len(components) and is_hopeless:
                raise errors[0]

    async def _write(
        self,
        context: SessionContext,
        stage: str,
        component: Component,
        patch: Patch,
        *,
        findings: Sequence[Finding],
    ) -> None:
        """Write a component that is missing, or fix one that is flagged, and collect it."""
        writer = self._writers[component.name]
        with log_stage(context, stage, component.name) as outcome:
            note = await (
                writer.generate(context)
                if missing_files(component, patch)
                else writer.fix(context, findings, patch)
            )
            if not is_written(note):
                outcome.state, outcome.remark = "failed", note.summary if note else "it came to no end"
                return
            try:
                async with self._collecting:
                    await collect_component(self._context, self._candidate, writer)
            except PatchError as error:  # a link in place of a file
                outcome.state, outcome.remark = "failed", str(error)

    async def _integrate_and_test(self, *, repairs: bool) -> None:
        if not (await self._current_patch()).paths:
            return
        with log_stage(self._context, INTEGRATE):
            await integrate(self._context, self._candidate, self._plan)
        await self._test(repairs=repairs)

    async def _test(self, *, repairs: bool) -> None:
        context = replace(self._context, system="system_build")
        if repairs:
            self._introduce_build()
        await follow_route(RETRY_ROUTE if repairs else {}, "verify")(context, self._candidate)

    def _introduce_build(self) -> None:
        """Tell the conversation that repairs what was built, once."""
        text = self._context.prompts.render("built", task=self._context.task, plan=format_plan(self._plan))
        messages = candidate_messages(self._context.log.records, self._candidate.id)
        if UserMessage(text=text) not in messages:
            add_user_message(self._context, self._candidate, text)

    def _missing_components(self, patch: Patch) -> tuple[Component, ...]:
        return tuple(component for component in self._plan.components if missing_files(component, patch))

    async def _current_patch(self) -> Patch:
        return await asyncio.to_thread(self._context.repository.candidate_patch, self._candidate)
