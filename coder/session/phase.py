"""Loop of one phase: ask the model, run its calls, inspect the change, until the phase's note is made."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import takewhile

from coder.core.events import FilesChanged, NoteMade, PhaseEntered
from coder.core.messages import Reply, ToolCall
from coder.core.notes import Diagnosis, GiveUp, Note, Sites
from coder.core.phases import Phase
from coder.core.state import candidate_messages, newest_reply, unanswered_calls
from coder.core.values import Candidate, Patch
from coder.patching.git_hunks import split_git_diff
from coder.prompting import render_prompt
from coder.session import toolbox
from coder.session.commit_message import format_subject
from coder.session.context import SessionContext
from coder.session.turn import LOOP_SUMMARY, LoopDetector, add_user_message, latest_call_results, run_turn

_PLACE = re.compile(r"[\w./-]+\.\w+(?:::\w[\w.]*|:\d+)")
"""`path::Name` or `path:line`, as named by a reply that patches immediately."""
INCOMPLETE_REPLIES = {
    "length": "The model's reply was cut off at the output limit.",
    "refusal": "The model's reply was refused, or stopped by a content filter.",
}
"""Ends of a reply that are not its own, with the warning for the user."""
CONTINUE_REPLY = "Your reply was cut off at the output limit. Go on exactly where it stopped; repeat nothing."
CUT_CALL = (
    "Your reply ended in the middle, so this call may be incomplete; it was not run. Make it again, "
    "with less: one call, a smaller patch."
)
IDLE_REPLIES = 2
"""Consecutive replies without a call after which a phase has failed; each is answered by a reminder."""


@dataclass(frozen=True, kw_only=True)
class PhaseState:
    """State of a phase when all calls are answered."""

    patch: Patch
    changed: bool
    """Whether the newest reply changed files; at entry, whether the candidate has changed any."""
    note: Note | None = None
    """Note that the newest reply handed over."""
    entry: bool = False


async def settle_with_note(
    _context: SessionContext, _candidate: Candidate, state: PhaseState
) -> Note | str | None:
    return state.note


@dataclass(frozen=True, kw_only=True)
class PhaseSpec:
    """A phase with its opening message and the decision when it ends."""

    phase: Phase
    opening: Callable[[SessionContext, Candidate], Awaitable[str]]
    """Builds the opening message, which may be empty.

    Called only if the model is asked before `settle` has returned a message.
    """
    settle: Callable[[SessionContext, Candidate, PhaseState], Awaitable[Note | str | None]] = settle_with_note
    """Called at entry and after each reply's calls.

    Returns the note that ends the phase, a message for the model, or None.
    """


async def run_phase(
    context: SessionContext, candidate: Candidate, spec: PhaseSpec, attempt: int
) -> Note | None:
    """Run one phase; return None if it ended without its note."""
    phase = spec.phase.name
    context.log.append(PhaseEntered(candidate=candidate.id, phase=phase, attempt=attempt))
    note, is_implied = await _find_note(context, candidate, spec)
    if note is not None:
        context.log.append(NoteMade(candidate=candidate.id, phase=phase, note=note, implied=is_implied))
    return note


async def _find_note(
    context: SessionContext, candidate: Candidate, spec: PhaseSpec
) -> tuple[Note | None, bool]:
    """Return the note that ends a phase, and whether it is implied instead of handed over.

    Open calls (a reading phase ends at the first change, before it is made) are answered before the model is
    asked again, so that passing from phase to phase costs no request.
    """
    phase = spec.phase
    patch = await _current_patch(context, candidate, phase)
    calls = unanswered_calls(candidate_messages(context.log.records, candidate.id))
    is_opened = False
    if not calls:
        state = PhaseState(patch=patch, changed=bool(patch.paths), entry=True)
        decision = await spec.settle(context, candidate, state)
        if isinstance(decision, str):
            add_user_message(context, candidate, decision)
            is_opened = True
        elif decision is not None:
            return decision, True
    turns = idle = 0
    loop_detector = LoopDetector()
    while turns < phase.max_turns and idle < IDLE_REPLIES:
        if not calls:
            reply = await _ask(context, candidate, spec, opens=not is_opened)
            calls = reply.message.calls
            turns, is_opened = turns + 1, True
            if failure := _answer_failure(phase, reply, idle=idle):
                return failure, True
        idle = 0 if calls else idle + 1
        # A phase that yields runs the calls before the first change.
        before_change = takewhile(lambda call: not _writes(context, call), calls)
        allowed_calls = tuple(before_change) if phase.yields else calls
        handed_over = [
            note
            for call in allowed_calls
            if (note := await toolbox.run_call(context, candidate, phase, call))
        ]
        if len(allowed_calls) < len(calls):
            return _implied_note(context, candidate, phase), True
        before, patch = patch, await _inspect_change(context, candidate, phase, patch)
        state = PhaseState(patch=patch, changed=patch.tree != before.tree, note=next(iter(handed_over), None))
        decision = await _settle(context, candidate, spec, state, loop_detector)
        if isinstance(decision, str):
            add_user_message(context, candidate, decision)
            is_opened = True
        elif decision is not None:
            return decision, decision not in handed_over
        calls = ()
    return None, True


async def _settle(
    context: SessionContext,
    candidate: Candidate,
    spec: PhaseSpec,
    state: PhaseState,
    loop_detector: LoopDetector,
) -> Note | str | None:
    """Return the phase's decision after a reply; one that does not end it gives way to that of a loop."""
    if isinstance(state.note, GiveUp):
        return state.note
    decision = await spec.settle(context, candidate, state)
    if decision is not None and not isinstance(decision, str):
        return decision
    results = latest_call_results(context.log.records, candidate.id)
    match loop_detector.record_turn(results, has_changed=state.changed):
        case "again":
            return render_prompt("wandering", phase=spec.phase)
        case "lost":
            return GiveUp(summary=LOOP_SUMMARY)
        case "new":
            return decision


async def _ask(context: SessionContext, candidate: Candidate, spec: PhaseSpec, *, opens: bool) -> Reply:
    """Return the next reply with the calls to run; remind the model if it made none.

    The last call of a reply that was cut at the output limit may be incomplete and is not run, even if its
    arguments parse.
    """
    if opens and (text := await spec.opening(context, candidate)):
        add_user_message(context, candidate, text, context.task.images)
    reply = await run_turn(context, candidate)
    calls = reply.message.calls
    if reply.finish in INCOMPLETE_REPLIES:
        context.log.warn(INCOMPLETE_REPLIES[reply.finish])
        if calls:
            toolbox.refuse_call(context, candidate, calls[-1], CUT_CALL)
            return reply.model_copy(
                update={"message": reply.message.model_copy(update={"calls": calls[:-1]})}
            )
        if spec.phase.answers:
            add_user_message(context, candidate, CONTINUE_REPLY)
    if not calls and not spec.phase.answers:
        add_user_message(
            context,
            candidate,
            render_prompt("reminder", phase=spec.phase, finish=reply.finish, text=reply.message.text),
        )
    return reply


def _answer_failure(phase: Phase, reply: Reply, *, idle: int) -> GiveUp | None:
    """Return the end of a phase whose reply is no answer: it was refused, or cut again after it went on."""
    if not phase.answers or reply.message.calls or reply.finish not in INCOMPLETE_REPLIES:
        return None
    if reply.finish == "refusal":
        text = reply.message.text.strip()
        return GiveUp(summary=f"The model refused to answer{f': {text}' if text else '.'}")
    if idle == 0:
        return None
    return GiveUp(
        summary="The answer is incomplete: it was cut off at the output limit, and cut off again when it "
        "went on. Ask for less, or raise the server's limit."
    )


async def _current_patch(context: SessionContext, candidate: Candidate, phase: Phase) -> Patch:
    """Return the candidate's change; empty in phases that only read, which may share a worktree."""
    return await context.read_patch(candidate) if phase.writes or phase.yields else Patch(diff="")


async def _inspect_change(
    context: SessionContext, candidate: Candidate, phase: Phase, before: Patch
) -> Patch:
    """Return the candidate's current change, logged and checkpointed if it is new.

    A change outside of what --only allows is undone.
    """
    patch = await _current_patch(context, candidate, phase)
    if patch.tree == before.tree:
        return before
    workspace = context.workspace(candidate)
    touched_paths = {hunk.path for hunk in {*split_git_diff(before.diff)} ^ {*split_git_diff(patch.diff)}} | (
        {*before.paths} ^ {*patch.paths}
    )
    if outside := sorted(path for path in touched_paths if not workspace.may_write(path)):
        await asyncio.to_thread(context.repository.rollback, candidate, before.tree)
        add_user_message(
            context,
            candidate,
            (
                f"Your last reply changed {', '.join(outside)}, which may not be changed. All it changed "
                "was taken back."
            ),
        )
        return before
    await record_change(context, candidate, patch)
    return patch


async def record_change(context: SessionContext, candidate: Candidate, patch: Patch) -> None:
    """Log the candidate's current change, and commit it on its private branch."""
    reply = newest_reply(context.log.records, candidate.id).text.strip().partition("\n")[0]
    step = context.secrets.mask(format_subject(reply or f"Change {', '.join(patch.paths[:3])}", ()))
    await asyncio.to_thread(context.repository.checkpoint, candidate, step)
    context.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))


def _implied_note(context: SessionContext, candidate: Candidate, phase: Phase) -> Note:
    """Return the note of a reading phase that ended because the model began to change files."""
    reply = newest_reply(context.log.records, candidate.id).text
    summary = reply.strip()
    if phase.note != "diagnosis":
        return Sites(summary=summary)
    places = tuple(
        dict.fromkeys(
            place
            for place in _PLACE.findall(reply)
            if (candidate.worktree / place.partition(":")[0]).is_file()
        )
    )
    return Diagnosis(summary=summary, places=places)


def _writes(context: SessionContext, call: ToolCall) -> bool:
    tool = toolbox.find_tool(context, call.name)
    return tool is not None and tool.writes
