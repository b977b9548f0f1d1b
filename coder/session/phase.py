"""One phase: ask, run the calls, look at what changed, until its note is made."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from coder.core.events import FilesChanged, NoteMade, PhaseEntered
from coder.core.messages import AssistantMessage, ToolCall
from coder.core.notes import Diagnosis, GiveUp, Note, Sites
from coder.core.phases import Phase
from coder.core.state import conversation, unanswered
from coder.core.values.candidate import Candidate, Patch
from coder.patching.git_hunks import hunks
from coder.python.fingerprint import fingerprint
from coder.session import toolbox
from coder.session.context import Kit
from coder.session.delivery.commit_message import subject
from coder.session.limits.loop_detection import LOST, Wandering, answers
from coder.session.turn import say, turn

_PLACE = re.compile(r"[\w./-]+\.\w+(?:::\w[\w.]*|:\d+)")
"""`path::Name` or `path:line`: what a reply that patches at once says it changes."""
IDLE_REPLIES = 2
"""Replies without a call in a row after which a phase has failed: the first is answered by a reminder."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a phase stands when all calls are answered."""

    patch: Patch
    changed: bool
    """Did the newest reply change files? At entry: has the candidate changed any?"""
    note: Note | None = None
    """What the newest reply handed over."""
    entry: bool = False


@dataclass(frozen=True, kw_only=True)
class Purpose:
    """A phase, with what makes it this phase and no other."""

    phase: Phase
    opening: Callable[[Kit, Candidate], Awaitable[str]]
    """The message that opens it, made only if the model is asked before `settle` has said what is wanted; empty is none."""
    settle: Callable[[Kit, Candidate, Standing], Awaitable[Note | str | None]]
    """Called at entry and after each reply's calls: the note that ends the phase, words for the model, or nothing."""


async def run(kit: Kit, candidate: Candidate, purpose: Purpose, attempt: int) -> Note | None:
    """Walk through one phase; None when it ended without its note.

    Calls that are still open (a reading phase ends at the first change, before it is made) are answered before the model is
    asked again: passing from phase to phase costs no request.
    """
    kit.log.append(PhaseEntered(candidate=candidate.id, phase=purpose.phase.name, attempt=attempt))
    patch = await _patch(kit, candidate, purpose.phase)
    calls = _open_calls(kit, candidate)
    opened = False
    if not calls:
        settled = await purpose.settle(
            kit, candidate, Standing(patch=patch, changed=bool(patch.paths), entry=True)
        )
        if isinstance(settled, str):
            say(kit, candidate, settled)
            opened = True
        elif settled is not None:
            return _made(kit, candidate, purpose.phase, settled, implied=True)
    turns = idle = 0
    wandering = Wandering()
    while turns < purpose.phase.max_turns and idle < IDLE_REPLIES:
        if not calls:
            calls = await _ask(kit, candidate, purpose, opens=not opened)
            turns, opened = turns + 1, True
        idle = 0 if calls else idle + 1
        allowed = (
            tuple(takewhile(lambda call: not _writes(kit, call), calls)) if purpose.phase.yields else calls
        )
        allowed = _reads_last(kit, allowed)
        handed = [
            note for call in allowed if (note := await toolbox.answer(kit, candidate, purpose.phase, call))
        ]
        if len(allowed) < len(calls):
            return _made(kit, candidate, purpose.phase, _implied(kit, candidate, purpose.phase), implied=True)
        before, patch = patch, await _look(kit, candidate, purpose.phase, patch)
        standing = Standing(patch=patch, changed=patch.tree != before.tree, note=next(iter(handed), None))
        settled = (
            standing.note
            if isinstance(standing.note, GiveUp)
            else await purpose.settle(kit, candidate, standing)
        )
        if settled is None or isinstance(settled, str):
            settled = _circling(kit, candidate, purpose.phase, wandering, moved=standing.changed) or settled
        if isinstance(settled, str):
            say(kit, candidate, settled)
            opened = True
        elif settled is not None:
            return _made(kit, candidate, purpose.phase, settled, implied=settled not in handed)
        calls = ()
    return None


def _circling(
    kit: Kit, candidate: Candidate, phase: Phase, wandering: Wandering, *, moved: bool
) -> GiveUp | str | None:
    """Words for a model that repeats itself; the end, for one that goes on with it."""
    match wandering.seen(answers(kit.log.records, candidate.id), moved=moved):
        case "again":
            return kit.prompts.render("wandering", phase=phase)
        case "lost":
            return GiveUp(summary=LOST)
        case "new":
            return None


async def _ask(kit: Kit, candidate: Candidate, purpose: Purpose, *, opens: bool) -> tuple[ToolCall, ...]:
    """The calls of the next reply; one without any is followed by a reminder."""
    if opens and (text := await purpose.opening(kit, candidate)):
        say(kit, candidate, text)
    reply = await turn(kit, candidate)
    if not reply.message.calls:
        say(
            kit,
            candidate,
            kit.prompts.render("reminder", phase=purpose.phase, finish=reply.finish, text=reply.message.text),
        )
    return reply.message.calls


async def _patch(kit: Kit, candidate: Candidate, phase: Phase) -> Patch:
    """The candidate's change; whoever only reads has none, and may share a worktree with others."""
    return (
        await asyncio.to_thread(kit.repository.patch, candidate)
        if phase.writes or phase.yields
        else Patch(diff="")
    )


async def _look(kit: Kit, candidate: Candidate, phase: Phase, before: Patch) -> Patch:
    """The candidate's change now; a new one is logged, kept as a checkpoint, and undone if it leaves what --only allows."""
    patch = await _patch(kit, candidate, phase)
    if patch.tree == before.tree:
        return before
    workspace = kit.workspace(candidate)
    touched = {hunk.path for hunk in {*hunks(before.diff)} ^ {*hunks(patch.diff)}} | (
        {*before.paths} ^ {*patch.paths}
    )
    if outside := sorted(path for path in touched if not workspace.may_write(path)):
        await asyncio.to_thread(kit.repository.rollback, candidate, before.tree)
        say(
            kit,
            candidate,
            (
                f"Your last reply changed {', '.join(outside)}, which may not be changed. All it changed "
                "was taken back."
            ),
        )
        return before
    await keep(kit, candidate, patch)
    return patch


async def keep(kit: Kit, candidate: Candidate, patch: Patch) -> None:
    """Log the candidate's change as it is now, with what it means, and commit it on its private branch."""
    said = _last_reply(kit, candidate).strip().partition("\n")[0]
    step = kit.secrets.masked(subject(said or f"Change {', '.join(patch.paths[:3])}", ()))
    await asyncio.to_thread(kit.repository.checkpoint, candidate, step)
    meaning = await asyncio.to_thread(_fingerprint, candidate, patch)
    kit.log.append(
        FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff, fingerprint=meaning)
    )


def _fingerprint(candidate: Candidate, patch: Patch) -> str:
    files = {path: candidate.worktree / path for path in patch.paths}
    plain = {path: file for path, file in files.items() if not file.is_symlink()}
    return fingerprint(
        {path: file.read_text("utf-8", "replace") if file.is_file() else None for path, file in plain.items()}
    )


def _made(kit: Kit, candidate: Candidate, phase: Phase, note: Note, *, implied: bool) -> Note:
    kit.log.append(NoteMade(candidate=candidate.id, phase=phase.name, note=note, implied=implied))
    return note


def _implied(kit: Kit, candidate: Candidate, phase: Phase) -> Note:
    """The note of a reading phase that ended because the model went on to change files."""
    said = _last_reply(kit, candidate)
    summary = said.strip() or "A change was made straight away."
    if phase.note != "diagnosis":
        return Sites(summary=summary)
    places = tuple(
        dict.fromkeys(
            place
            for place in _PLACE.findall(said)
            if (candidate.worktree / place.partition(":")[0]).is_file()
        )
    )
    return Diagnosis(summary=summary, places=places)


def _last_reply(kit: Kit, candidate: Candidate) -> str:
    """Return the text of the model's newest reply; empty before the first."""
    messages = reversed(conversation(kit.log.records, candidate.id))
    return next((message.text for message in messages if isinstance(message, AssistantMessage)), "")


def _open_calls(kit: Kit, candidate: Candidate) -> tuple[ToolCall, ...]:
    return unanswered(conversation(kit.log.records, candidate.id))


def _reads_last(kit: Kit, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls with each `read` behind the other calls before the next change: a search of the same reply may name its file."""
    ordered: list[ToolCall] = []
    reads: list[ToolCall] = []
    for call in calls:
        if call.name == "read":
            reads.append(call)
            continue
        if _writes(kit, call):
            ordered += reads
            reads.clear()
        ordered.append(call)
    return (*ordered, *reads)


def _writes(kit: Kit, call: ToolCall) -> bool:
    tool = toolbox.find(kit, call.name)
    return tool is not None and tool.writes
