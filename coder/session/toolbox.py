"""Execution of tool calls: the only place where tools run, ToolErrors are caught and long output is cut."""

import asyncio
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from coder.core.errors import ToolError, ToolRefusedError
from coder.core.events import REFUSE, ToolFinished, ToolStarted
from coder.core.messages import AssistantMessage, Message, ToolCall, ToolMessage
from coder.core.notes import Note
from coder.core.phases import Phase, Policy
from coder.core.state import candidate_messages, unanswered_calls
from coder.core.text import shorten_line
from coder.core.values import Candidate
from coder.session.approval import (
    ApprovalRequest,
    PermissionDecision,
    decide_change,
    decide_command,
    decide_server_tool,
)
from coder.session.context import SessionContext
from coder.tools.tool import Tool

OUTPUT_CHARACTERS = 16_000
MOST_SHOWN_CHARACTERS = 500
"""Of arguments in a question to the user."""


def find_tool(context: SessionContext, name: str) -> Tool | None:
    return next((tool for tool in context.tools if tool.name == name), None)


async def run_call(
    context: SessionContext, candidate: Candidate, phase: Phase, call: ToolCall
) -> Note | None:
    """Run one call and log its result; return the note if the call handed one over."""
    context.log.append(ToolStarted(candidate=candidate.id, call=call))
    seconds = 0.0
    note: Note | None = None
    is_refused = False
    try:
        tool = find_tool(context, call.name)
        if tool is None:
            raise ToolError(
                f"There is no tool {call.name!r}. There are: "
                f"{', '.join(tool.name for tool in context.tools)}."
            )
        if tool.writes and not phase.writes:
            raise ToolError(f"Nothing is changed in the {phase.name} phase. It ends with {phase.end_marker}.")
        arguments = tool.validate_arguments(call.arguments)
        decision = _decide(context, candidate, tool, arguments)
        policy = await _check_permission(context, candidate, call, decision)
        if denial := await context.deny("PreToolUse", candidate, tool_name=tool.name, tool_input=arguments):
            raise ToolRefusedError(f"{tool.name} was refused by a hook, and nothing was done: {denial}")
        start_seconds = time.monotonic()
        try:
            result, ok = await _run(context, candidate, tool, arguments, policy=policy), True
        finally:
            seconds = time.monotonic() - start_seconds
        if not isinstance(result, str):
            note = _check_kind(phase, result)
        text = result if isinstance(result, str) else f"Handed over: {result.kind}."
        if objection := await context.deny(
            "PostToolUse", candidate, tool_name=tool.name, tool_input=arguments, tool_response=text
        ):
            text = f"{text}\n\nA hook objects to what was done: {objection}"
    except ToolError as error:
        text, ok, note = str(error), False, None
        is_refused = isinstance(error, ToolRefusedError)
    text = context.secrets.mask(text)
    shortened_text = truncate_output(text)
    context.log.append(
        ToolFinished(
            candidate=candidate.id,
            message=ToolMessage(call_id=call.id, name=call.name, text=shortened_text, ok=ok),
            seconds=seconds,
            blob="" if shortened_text == text else context.store.store_blob(text),
            refused=is_refused,
        )
    )
    return note


def refuse_call(context: SessionContext, candidate: Candidate, call: ToolCall, reason: str) -> None:
    context.log.append(ToolStarted(candidate=candidate.id, call=call))
    message = ToolMessage(call_id=call.id, name=call.name, text=reason, ok=False)
    context.log.append(ToolFinished(candidate=candidate.id, message=message, seconds=0.0))


async def _run(
    context: SessionContext, candidate: Candidate, tool: Tool, arguments: Mapping[str, Any], *, policy: Policy
) -> str | Note:
    workspace = replace(
        context.workspace(candidate),
        progress=context.log.progress_listener(candidate.id),
        policy=policy,
        is_named=partial(_is_named, candidate_messages(context.log.records, candidate.id)),
    )
    return await asyncio.to_thread(tool.function, workspace, **arguments)


def _is_named(messages: Sequence[Message], path: str) -> bool:
    """Tell whether a message to the model has named a file, by its path or as an import does."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    word = folders[-1] if stem in ("__init__", "index", "mod") and folders else stem
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    texts = (message.text for message in messages if not isinstance(message, AssistantMessage))
    return any(path in text or pattern.search(text) is not None for text in texts)


async def _check_permission(
    context: SessionContext, candidate: Candidate, call: ToolCall, decision: PermissionDecision
) -> Policy:
    """Return the policy of the call; ask the user if necessary, once for all calls of the reply.

    Raises:
        ToolRefusedError: it is not allowed.
    """
    if decision.action == "deny":
        raise ToolRefusedError(
            f"{call.name} was refused, and nothing was done: this {decision.why}. Nobody is asked; go on "
            "without it."
        )
    if decision.action == "ask":
        answer = await context.approval.permit(call, list(_pending_requests(context, candidate, call)))
        if answer.option == REFUSE:
            advice = (
                f"The user wants this instead: {answer.instruction}"
                if answer.instruction
                else "Go on without it: run_tests and the tools that look need no permission."
            )
            raise ToolRefusedError(
                f"{call.name} was not allowed (it {decision.why}), and nothing was done. {advice}"
            )
    return Policy(writes=context.permissions.mode != "read-only", network=decision.network)


def _decide(
    context: SessionContext, candidate: Candidate, tool: Tool, arguments: Mapping[str, Any]
) -> PermissionDecision:
    """Decide whether a call may run."""
    if tool.writes:
        return decide_change(context.permissions)
    rights = replace(context.permissions, rules=(*context.permissions.rules, *context.approval.rules))
    if name := tool.called_server_tool(arguments):
        return decide_server_tool(rights, name)
    if not tool.asks:
        return PermissionDecision(action="allow")
    return decide_command(rights, arguments["command"], root=candidate.worktree, network=arguments["network"])


def _pending_requests(
    context: SessionContext, candidate: Candidate, call: ToolCall
) -> Iterator[ApprovalRequest]:
    """Yield requests for this call and all others of its reply that wait for the same answer."""
    for other in (
        call,
        *(
            other
            for other in unanswered_calls(candidate_messages(context.log.records, candidate.id))
            if other != call
        ),
    ):
        tool = find_tool(context, other.name)
        if tool is None:
            continue
        try:
            arguments = tool.validate_arguments(other.arguments)
        except ToolError:
            continue  # its error is reported when it is run
        decision = _decide(context, candidate, tool, arguments)
        if decision.action == "ask":
            yield ApprovalRequest(
                call=other,
                text=_describe_call(tool, other, arguments),
                why=decision.why,
                rules=decision.rules,
            )


def _describe_call(tool: Tool, call: ToolCall, arguments: Mapping[str, Any]) -> str:
    if tool.asks:
        command = str(arguments["command"])
        return f"run: {command if command.isprintable() else repr(command)}"
    if name := tool.called_server_tool(arguments):
        text = f"{name} {shorten_line(call.arguments, MOST_SHOWN_CHARACTERS)}"
        return f"call: {text if text.isprintable() else repr(text)}"
    paths = [
        line[4:].split("\t")[0].removeprefix("b/")
        for line in str(arguments.get("diff", "")).splitlines()
        if line.startswith("+++ ")
    ]
    return f"{tool.name}: {', '.join(paths) or 'a change'}"


def _check_kind(phase: Phase, note: Note) -> Note:
    """Return a note that ends the phase."""
    if note.kind not in (phase.note, "give_up"):
        raise ToolError(
            f"This is the {phase.name} phase: it ends with {phase.end_marker} or with "
            "kind='give_up'. "
            f"kind='{note.kind}' changes nothing now."
        )
    return note


def truncate_output(text: str) -> str:
    """Return head and tail of a long text, and between them the number of missing ones."""
    if len(text) <= OUTPUT_CHARACTERS:
        return text
    head, tail = text[: OUTPUT_CHARACTERS * 2 // 3], text[-OUTPUT_CHARACTERS // 3 :]
    missing = len(text) - len(head) - len(tail)
    return f"{head}\n[... {missing:,} characters left out here; narrow the call to see them ...]\n{tail}"
