"""From a call to its answer: the one place where tools run, ToolErrors are caught and long output is cut."""

import asyncio
import time

from coder.core.candidate import Candidate
from coder.core.events import ToolFinished, ToolStarted
from coder.core.messages import ToolCall, ToolMessage
from coder.core.notes import Note
from coder.core.phases import Phase
from coder.loop.kit import Kit
from coder.tools.hand_over import note_of
from coder.tools.tool import Tool, ToolError

OUTPUT_CHARACTERS = 16_000


def find(kit: Kit, name: str) -> Tool | None:
    return next((tool for tool in kit.tools if tool.name == name), None)


async def answer(kit: Kit, candidate: Candidate, phase: Phase, call: ToolCall) -> Note | None:
    """Run one call and log its answer; the note, if the call handed one over."""
    kit.log.append(ToolStarted(candidate=candidate.id, call=call))
    started = time.monotonic()
    note: Note | None = None
    try:
        tool = find(kit, call.name)
        if tool is None:
            raise ToolError(f"There is no tool {call.name!r}. There are: {', '.join(tool.name for tool in kit.tools)}.")
        if tool.writes and not phase.writes:
            raise ToolError(f"Nothing is changed in the {phase.name} phase. It ends with hand_over(kind='{phase.note}').")
        if tool.name == "hand_over":
            note = _note(tool, phase, call)
        if tool.asks:
            await _permission(kit, tool, call)
        text, ok = await _run(kit, candidate, tool, call), True
    except ToolError as error:
        text, ok, note = str(error), False, None
    shown = cut(text)
    kit.log.append(
        ToolFinished(
            candidate=candidate.id,
            message=ToolMessage(call_id=call.id, name=call.name, text=shown, ok=ok),
            seconds=time.monotonic() - started,
            blob="" if shown == text else kit.store.keep(text),
        )
    )
    return note


async def _run(kit: Kit, candidate: Candidate, tool: Tool, call: ToolCall) -> str:
    workspace = kit.workspace(candidate)
    workspace.progress = kit.log.progress(candidate.id)
    return await asyncio.to_thread(tool.call, workspace, call.arguments)


async def _permission(kit: Kit, tool: Tool, call: ToolCall) -> None:
    arguments = tool.checked(call.arguments)
    wish = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    if await kit.approval.ask(f"Allow {tool.name}({wish})?", options=("allow", "refuse"), default="refuse") != "allow":
        raise ToolError(
            f"{tool.name} was not allowed, and nothing was run. Go on without it: run_tests and the other tools need no permission."
        )


def _note(tool: Tool, phase: Phase, call: ToolCall) -> Note:
    note = note_of(tool.checked(call.arguments))
    if note.kind not in (phase.note, "give_up"):
        raise ToolError(
            f"This is the {phase.name} phase: it ends with hand_over(kind='{phase.note}') or with kind='give_up'. "
            f"kind='{note.kind}' changes nothing now."
        )
    return note


def cut(text: str, limit: int = OUTPUT_CHARACTERS) -> str:
    """Head and tail of a text over `limit` characters, with a line between that says how much is missing."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-limit // 3 :]
    missing = len(text) - len(head) - len(tail)
    return f"{head}\n[... {missing:,} characters left out here; narrow the call to see them ...]\n{tail}"
