"""Session: one task from its first event to its last."""

import asyncio
import errno
import traceback
from collections.abc import Callable, Sequence
from math import inf
from typing import assert_never

from coder.core import events
from coder.core.errors import CoderError, LimitReached, ModelError, UserError
from coder.core.state import session_status
from coder.core.values import Candidate
from coder.core.verdict import VerdictKind
from coder.patching import PatchError, apply
from coder.session.context import SessionContext, Strategy
from coder.session.delivery import (
    BUG,
    INTERRUPTED,
    MISUSE,
    conclude,
    keep_change,
    outcome_without_fix,
)
from coder.session.judging import ensure_dependencies, measure_baseline, refuse_missing_tests
from coder.session.phase import record_change

BASELINE_WAIT_SECONDS = 2.0
"""Longest wait for the baseline before the first message: a longer one is measured beside the first reply."""
LAST_SECONDS = 5.0
"""So long before the time limit, tests in progress are cut short, and what ran so far is judged."""
NOTHING_TO_CUT_SHORT = (
    "Nothing to cut short yet: only impacted tests or the suite can be, once the targets are green."
)
TOLERATED_PROBLEMS = ("timeout", "no_tests")
"""Problems of the baseline that a change of the code may solve; no change solves any other."""

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Errors of a write that are no bug."""


class Session:
    """Runs a strategy once; only the session delivers, so that nothing is delivered twice."""

    def __init__(
        self,
        context: SessionContext,
        strategy: Strategy,
        *,
        id: str,
        version: str,
        notices: Sequence[str] = (),
    ) -> None:
        """Take `notices` for the user before the work begins, such as files that were left out."""
        self._context = context
        self.log = context.log
        self._strategy = strategy
        self._id = id
        self._version = version
        self._notices = notices
        self._work: asyncio.Task[events.SessionFinished] | None = None
        self._is_stopped = False
        self.release: Callable[[], object] | None = None
        """Releases the session's resources once it has ended; called in a thread."""

    def send(self, command: events.SessionCommand) -> None:
        """Handle a command from a front end; call only from the event loop's thread."""
        match command:
            case events.Say(text=text):
                self._context.remarks.add(text)
            case events.Withdraw(text=text):
                self._context.remarks.withdraw(text)
            case events.Answer() | events.Decide() | events.Amend():
                self._context.approval.deliver_answer(command)
            case events.DeliverNow():
                self._deliver_now()
            case events.Stop():
                if self.end_examination():
                    return
                self._is_stopped = True
                self._context.sandbox.stop()
                if self._work is not None:
                    self._work.cancel()
            case _:
                assert_never(command)

    def end_examination(self) -> bool:
        """End the examination of a FIXED change, which is delivered then; return whether there was one.

        Callable from any thread, and from a handler of signals.
        """
        newest = events.newest_event(self._context.log.records, events.Verified)
        is_examined = newest is not None and newest.verdict.is_examinable and newest.verdict.kind.shows_fix
        return is_examined and self._context.judging.cutoff.request(ahead=True)

    def _deliver_now(self) -> None:
        is_running = self._work is not None and not self._work.done()
        if is_running and not self._context.judging.cutoff.request():
            self._context.log.warn(NOTHING_TO_CUT_SHORT)

    async def run(self) -> events.SessionFinished:
        """Run the session to its end, remove everything but what was delivered, and close the log."""
        try:
            return await self._run()
        finally:
            self._context.log.close()
            if self.release is not None:
                await asyncio.to_thread(self.release)

    async def _run(self) -> events.SessionFinished:
        context = self._context
        context.log.append(
            events.SessionStarted(
                session=self._id,
                task=context.task.without_images(),
                repository=str(context.repository.root),
                head=context.repository.head,
                base=context.repository.base,
                dirty=context.repository.dirty,
                judged_since=context.judging.since,
                model=context.model.name,
                base_url=context.models.base_url,
                version=self._version,
            )
        )
        context.judging.cutoff.on_change = context.log.offer_callback()
        for notice in self._notices:
            context.log.warn(notice)
        left = inf if context.budget.seconds_left is None else context.budget.seconds_left
        timer = asyncio.get_running_loop().call_later(left - LAST_SECONDS, context.judging.cutoff.request)
        try:
            ending = await self._run_to_outcome()
        finally:
            timer.cancel()
            context.sandbox.stop()
            await asyncio.to_thread(context.repository.close)
        if context.judging.asked:
            context.log.append(
                events.EnvironmentRecorded(environment=await asyncio.to_thread(context.verifier.environment))
            )
        totals = session_status(context.log.records)
        roles = context.budget.roles if len(context.budget.roles) > 1 else {}
        costs = {
            "attempts": totals.attempt,
            "spent": context.budget.spent,
            "roles": roles,
            "seconds": context.budget.seconds,
            "has_changes": bool(totals.paths),
            "stages": events.stage_seconds(context.log.records, total=context.budget.seconds),
        }
        finish_event = context.secrets.mask_value(ending.model_copy(update=costs))
        context.log.append(finish_event)
        return finish_event

    async def _run_to_outcome(self) -> events.SessionFinished:
        """Run the strategy and turn every way to end into an outcome."""
        context = self._context
        self._work = asyncio.ensure_future(self._run_strategy())
        if self._is_stopped:
            self._work.cancel()
        try:
            return await asyncio.wait_for(self._work, context.budget.seconds_left)
        except TimeoutError:
            outcome = outcome_without_fix(
                VerdictKind.LIMIT, f"The time limit of {context.task.budget.seconds:g} s is reached.", context
            )
        except asyncio.CancelledError:
            outcome = events.SessionFinished(
                kind=None, summary="Interrupted; your files are as they were.", exit_code=INTERRUPTED
            )
        except LimitReached as error:
            outcome = outcome_without_fix(VerdictKind.LIMIT, str(error), context)
        except ModelError as error:
            if context.budget.spent.requests == 0:
                return events.SessionFinished(kind=None, summary=str(error), exit_code=MISUSE)
            outcome = outcome_without_fix(VerdictKind.GAVE_UP, f"The model could not go on: {error}", context)
        except UserError as error:
            return events.SessionFinished(kind=None, summary=str(error), exit_code=MISUSE)
        except CoderError as error:
            return self._outcome_of_bug(str(error))
        except Exception as error:  # noqa: BLE001 (bugs end here, as event `failed`)
            return self._outcome_of_error(error)
        return await self._keep_change(outcome)

    async def _keep_change(self, outcome: events.SessionFinished) -> events.SessionFinished:
        try:
            return await keep_change(self._context, outcome)
        except (CoderError, OSError) as error:
            self._context.log.warn(f"What was found could not be kept: {error}")
            return outcome

    def _outcome_of_error(self, error: Exception) -> events.SessionFinished:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            where = f" {error.filename}" if error.filename else ""
            summary = f"A file{where} could not be written: {error.strerror}."
            return events.SessionFinished(kind=None, summary=summary, exit_code=MISUSE)
        return self._outcome_of_bug("".join(traceback.format_exception(error)))

    def _outcome_of_bug(self, text: str) -> events.SessionFinished:
        text = self._context.secrets.mask(text)
        self._context.log.append(events.Failed(error=text))
        return events.SessionFinished(
            kind=None, summary=f"coder failed: {text.strip().splitlines()[-1]}", exit_code=BUG
        )

    async def _run_strategy(self) -> events.SessionFinished:
        context = self._context
        candidate = await asyncio.to_thread(context.repository.create_candidate, "c1")
        context.log.append(events.CandidateForked(candidate=candidate.id))
        if (earlier := context.continued) is not None:
            if earlier.messages:
                context.log.append(
                    events.ConversationContinued(
                        candidate=candidate.id, session=earlier.session, messages=earlier.messages
                    )
                )
            for note in earlier.notes:
                context.log.append(note.model_copy(update={"candidate": candidate.id, "implied": True}))
            await self._restore_change(candidate, (earlier.diff, *earlier.patches))
        if context.task.mode != "ask":
            await asyncio.to_thread(context.judging.prepare)
        if context.task.mode == "ask" or context.task.given:  # a verdict runs what it needs of the base
            return await conclude(context.on(await self._strategy(context.on(candidate))))
        await refuse_missing_tests(context.on(candidate), await context.on(candidate).read_patch())
        testing = asyncio.create_task(self._test_base(candidate))
        working: asyncio.Task[Candidate] | None = None
        try:
            await asyncio.wait({testing}, timeout=BASELINE_WAIT_SECONDS)
            if not (testing.done() and testing.result()):
                working = asyncio.ensure_future(self._strategy(context.on(candidate)))
                await asyncio.wait({testing, working}, return_when=asyncio.FIRST_COMPLETED)
            if testing.done() and (obstacle := testing.result()) and not (working and working.done()):
                return outcome_without_fix(VerdictKind.NOT_TESTED, obstacle, context)
            assert working is not None
            return await conclude(context.on(await working))
        finally:
            tasks = [task for task in (testing, working) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _restore_change(self, candidate: Candidate, diffs: Sequence[str]) -> None:
        context = self._context
        for diff in filter(None, diffs):
            try:
                await asyncio.to_thread(apply, diff, candidate.worktree)
            except PatchError as error:
                context.log.warn(f"What had been changed does not fit any more: {error}")
        patch = await context.on(candidate).read_patch()
        if patch.paths:
            await record_change(context.on(candidate), patch)

    async def _test_base(self, candidate: Candidate) -> str:
        """Test the base as far as that is quick; return the problem that no change can solve, or nothing."""
        report = await measure_baseline(self._context.on(candidate))
        report = await ensure_dependencies(self._context.on(candidate), report)
        problem = report.problem if report is not None else None
        return problem.text if problem is not None and problem.kind not in TOLERATED_PROBLEMS else ""
