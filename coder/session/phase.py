"""Loop of a phase: ask the model, run its calls, inspect the change, until the phase's note is made.

Its prompts are the templates of coder/prompts, rendered with jinja2.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from coder.core.errors import ModelError, ToolError, ToolRefusedError, UserError
from coder.core.events import (
    REFUSE,
    Attachment,
    BudgetSpent,
    FilesChanged,
    MessageFinished,
    NoteMade,
    PhaseEntered,
    ReasoningStreamed,
    Record,
    TextStreamed,
    ToolFinished,
    ToolStarted,
)
from coder.core.notes import Diagnosis, GiveUp, Note, Sites
from coder.core.ports import Model
from coder.core.state import active_candidates, candidate_messages, newest_reply, unanswered_calls
from coder.core.text import format_subject, shorten_line
from coder.core.values import (
    REMARK_OPENING,
    AssistantMessage,
    Delta,
    Effort,
    Image,
    Message,
    Patch,
    Phase,
    Policy,
    Reply,
    Request,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from coder.patching.git_hunks import split_git_diff
from coder.permissions.secrets import fence_text, mark_message
from coder.retrieval.attachments import attach_mentions, refuse_images
from coder.session.approval import (
    PermissionDecision,
    decide_change,
    decide_command,
    decide_server_tool,
)
from coder.session.compaction import collect_facts, compact
from coder.session.context import CandidateRun, SessionContext
from coder.tools.tool import Tool

if TYPE_CHECKING:
    from jinja2 import Environment

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


LOOP_SUMMARY = (
    "The model went round in circles: the same calls with the same answers, three times over, and no change."
)


class LoopDetector:
    """Counts the identical turns of one phase since files last changed."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, ...], int] = {}

    def record_turn(self, turn: tuple[str, ...], *, has_changed: bool) -> Literal["new", "again", "lost"]:
        """Record a turn (its calls and results) and return whether it is new, repeated, or repeated twice."""
        if has_changed:
            self._turns.clear()
            return "new"
        self._turns[turn] = self._turns.get(turn, 0) + 1
        if not turn or self._turns[turn] == 1:
            return "new"
        return "again" if self._turns[turn] == 2 else "lost"


@dataclass(frozen=True, kw_only=True)
class PhaseState:
    """State of a phase when all calls are answered."""

    patch: Patch
    changed: bool
    """Whether the newest reply changed files; at entry, whether the candidate has changed any."""
    note: Note | None = None
    """Note that the newest reply handed over."""
    entry: bool = False


async def settle_with_note(_run: CandidateRun, state: PhaseState) -> Note | str | None:
    return state.note


@dataclass(frozen=True, kw_only=True)
class PhaseSpec:
    """A phase with its opening message and the decision when it ends."""

    phase: Phase
    opening: Callable[[CandidateRun], Awaitable[str]]
    """Builds the opening message, which may be empty.

    Called only if the model is asked before `settle` has returned a message.
    """
    settle: Callable[[CandidateRun, PhaseState], Awaitable[Note | str | None]] = settle_with_note
    """Called at entry and after each reply's calls.

    Returns the note that ends the phase, a message for the model, or None.
    """


async def run_phase(run: CandidateRun, spec: PhaseSpec, attempt: int) -> Note | None:
    """Run one phase; return None if it ended without its note."""
    phase = spec.phase.name
    run.log.append(PhaseEntered(candidate=run.candidate.id, phase=phase, attempt=attempt))
    note, is_implied = await _find_note(run, spec)
    if note is not None:
        run.log.append(NoteMade(candidate=run.candidate.id, phase=phase, note=note, implied=is_implied))
    return note


async def _find_note(run: CandidateRun, spec: PhaseSpec) -> tuple[Note | None, bool]:
    """Return the note that ends a phase, and whether it is implied instead of handed over.

    Open calls (a reading phase ends at the first change, before it is made) are answered before the model is
    asked again, so that passing from phase to phase costs no request.
    """
    phase = spec.phase
    patch = await _current_patch(run, phase)
    calls = unanswered_calls(candidate_messages(*run.own))
    is_opened = False
    if not calls:
        state = PhaseState(patch=patch, changed=bool(patch.paths), entry=True)
        decision = await spec.settle(run, state)
        if isinstance(decision, str):
            add_user_message(run, decision)
            is_opened = True
        elif decision is not None:
            return decision, True
    turns = idle = 0
    loop_detector = LoopDetector()
    while turns < phase.max_turns and idle < IDLE_REPLIES:
        if not calls:
            reply = await _next_reply(run, spec, opens=not is_opened)
            calls = reply.message.calls
            turns, is_opened = turns + 1, True
            if failure := _answer_failure(phase, reply, idle=idle):
                return failure, True
        idle = 0 if calls else idle + 1
        # A phase that yields runs the calls before the first change.
        before_change = takewhile(lambda call: not _writes(run, call), calls)
        allowed_calls = tuple(before_change) if phase.yields else calls
        handed_over = [note for call in allowed_calls if (note := await run_call(run, phase, call))]
        if len(allowed_calls) < len(calls):
            return _implied_note(run, phase), True
        before, patch = patch, await _inspect_change(run, phase, patch)
        state = PhaseState(patch=patch, changed=patch.tree != before.tree, note=next(iter(handed_over), None))
        decision = await _settle(run, spec, state, loop_detector)
        if isinstance(decision, str):
            add_user_message(run, decision)
            is_opened = True
        elif decision is not None:
            return decision, decision not in handed_over
        calls = ()
    return None, True


async def _settle(
    run: CandidateRun,
    spec: PhaseSpec,
    state: PhaseState,
    loop_detector: LoopDetector,
) -> Note | str | None:
    """Return the phase's decision after a reply; one that does not end it gives way to that of a loop."""
    if isinstance(state.note, GiveUp):
        return state.note
    decision = await spec.settle(run, state)
    if decision is not None and not isinstance(decision, str):
        return decision
    results = latest_call_results(*run.own)
    match loop_detector.record_turn(results, has_changed=state.changed):
        case "again":
            return render_prompt("wandering", phase=spec.phase)
        case "lost":
            return GiveUp(summary=LOOP_SUMMARY)
        case "new":
            return decision


async def _next_reply(run: CandidateRun, spec: PhaseSpec, *, opens: bool) -> Reply:
    """Return the next reply with the calls to run; remind the model if it made none.

    The last call of a reply that was cut at the output limit may be incomplete and is not run, even if its
    arguments parse.
    """
    if opens and (text := await spec.opening(run)):
        add_user_message(run, text, run.task.images)
    reply = await run_turn(run)
    calls = reply.message.calls
    if reply.finish in INCOMPLETE_REPLIES:
        run.log.warn(INCOMPLETE_REPLIES[reply.finish])
        if calls:
            cut = ToolMessage(call_id=calls[-1].id, name=calls[-1].name, text=CUT_CALL, ok=False)
            run.log.append(ToolStarted(candidate=run.candidate.id, call=calls[-1]))
            run.log.append(ToolFinished(candidate=run.candidate.id, message=cut, seconds=0.0))
            return reply.model_copy(
                update={"message": reply.message.model_copy(update={"calls": calls[:-1]})}
            )
        if spec.phase.answers:
            add_user_message(run, CONTINUE_REPLY)
    if not calls and not spec.phase.answers:
        add_user_message(
            run,
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


async def _current_patch(run: CandidateRun, phase: Phase) -> Patch:
    """Return the candidate's change; empty in phases that only read, which may share a worktree."""
    return await run.read_patch() if phase.writes or phase.yields else Patch(diff="")


async def _inspect_change(run: CandidateRun, phase: Phase, before: Patch) -> Patch:
    """Return the candidate's current change, logged and checkpointed if it is new.

    A change outside of what --only allows is undone.
    """
    patch = await _current_patch(run, phase)
    if patch.tree == before.tree:
        return before
    workspace = run.workspace(run.candidate)
    touched_paths = {hunk.path for hunk in {*split_git_diff(before.diff)} ^ {*split_git_diff(patch.diff)}} | (
        {*before.paths} ^ {*patch.paths}
    )
    if outside := sorted(path for path in touched_paths if not workspace.may_write(path)):
        await asyncio.to_thread(run.repository.rollback, run.candidate, before.tree)
        add_user_message(
            run,
            (
                f"Your last reply changed {', '.join(outside)}, which may not be changed. All it changed "
                "was taken back."
            ),
        )
        return before
    await record_change(run, patch)
    return patch


async def record_change(run: CandidateRun, patch: Patch) -> None:
    """Log the candidate's current change, and commit it on its private branch."""
    reply = newest_reply(*run.own).text.strip().partition("\n")[0]
    step = run.secrets.mask(format_subject(reply or f"Change {', '.join(patch.paths[:3])}", ()))
    await asyncio.to_thread(run.repository.checkpoint, run.candidate, step)
    run.log.append(FilesChanged(candidate=run.candidate.id, paths=patch.paths, diff=patch.diff))


def _implied_note(run: CandidateRun, phase: Phase) -> Note:
    """Return the note of a reading phase that ended because the model began to change files."""
    reply = newest_reply(*run.own).text
    summary = reply.strip()
    if phase.note != "diagnosis":
        return Sites(summary=summary)
    places = tuple(
        dict.fromkeys(
            place
            for place in _PLACE.findall(reply)
            if (run.candidate.worktree / place.partition(":")[0]).is_file()
        )
    )
    return Diagnosis(summary=summary, places=places)


def _writes(context: SessionContext, call: ToolCall) -> bool:
    tool = find_tool(context, call.name)
    return tool is not None and tool.writes


OUTPUT_SHARE = 0.25
"""Largest share of the context window that is left for the reply."""
LEARNT_SHARE = 0.75
"""Share of a request that was too long for its model which later ones may have."""


def add_user_message(run: CandidateRun, text: str, images: Sequence[Image] = ()) -> None:
    """Add a message of the harness to the conversation, with secrets masked.

    Images that the conversation holds already are not sent again.
    """
    if images:
        messages = candidate_messages(*run.own)
        known = {
            image for message in messages if isinstance(message, UserMessage) for image in message.images
        }
        images = [image for image in images if image not in known]
    message = UserMessage(text=run.secrets.mask(text), images=tuple(images))
    run.log.append(MessageFinished(candidate=run.candidate.id, message=message))


async def run_turn(run: CandidateRun) -> Reply:
    """Ask the model for the next reply.

    A conversation that fills the model's context window is compacted first; one that exceeds a window of
    unknown size is compacted once, then sent again.

    Raises:
        LimitReached: before the request, if it could exceed a limit.
        ModelError: no usable reply was received.
    """
    _compact_if_full(run)
    try:
        return await _request_reply(run)
    except ModelError as error:
        if not error.context_overflow:
            raise
    request = _make_request(run, candidate_messages(*run.own))
    refused_tokens = run.budget.estimate_input_tokens(request)
    run.models.context_limits[run.model.name] = int(refused_tokens * LEARNT_SHARE)
    _compact_if_full(run)
    return await _request_reply(run)


def _compact_if_full(run: CandidateRun) -> None:
    """Shorten the conversation if the next request could exceed the model's context window."""
    limit = _input_limit(run)
    if limit is None:
        return
    records = run.log.records
    event = compact(
        records,
        run.candidate.id,
        measure=lambda messages: run.budget.estimate_input_tokens(_make_request(run, messages)),
        limit=limit,
        make_note=lambda: render_prompt("compacted", facts=collect_facts(records, run.candidate.id)),
    )
    if event is not None:
        run.log.append(event)


def _input_limit(context: SessionContext) -> int | None:
    """Return the most input tokens of a request; None if the size of the window is not known."""
    window = _context_tokens(context)
    limits = (
        window - _output_limit(window, context.models.effort) if window else None,
        context.models.context_limits.get(context.model.name),
    )
    return min((limit for limit in limits if limit is not None), default=None)


def _context_tokens(context: SessionContext) -> int | None:
    return context.models.context_tokens or context.model.context_tokens


def _output_limit(window: int | None, effort: Effort | None) -> int:
    """Return the most output tokens of a request; in a small window, a share of it.

    High effort gets twice as many, because thinking counts.
    """
    most: int = Request.model_fields["max_output_tokens"].default * (2 if effort == "high" else 1)
    return min(most, int(window * OUTPUT_SHARE)) if window else most


def _make_request(context: SessionContext, messages: tuple[Message, ...]) -> Request:
    return Request(
        system=render_prompt(context.system),
        messages=tuple(map(mark_message, messages)),
        tools=tuple(tool.spec for tool in context.tools),
        max_output_tokens=_output_limit(_context_tokens(context), context.models.effort),
        seed=context.models.seed,
        effort=context.models.effort,
    )


async def _request_reply(run: CandidateRun) -> Reply:
    await _deliver_remarks(run)
    request = _make_request(run, candidate_messages(*run.own))
    return await _complete(run, _without_foreign_data(run.model, request))


async def _deliver_remarks(run: CandidateRun) -> None:
    """Add findings, and the user's remarks with what they mention, to the conversation of every candidate."""
    for finding in run.findings.take():
        for name in active_candidates(run.log.records):
            add_user_message(run.on(run.candidate.model_copy(update={"id": name})), finding)
    for remark in run.remarks.take():
        attachments: tuple[Attachment, ...] = ()
        try:
            found = await asyncio.to_thread(_attach_mentions, run, remark)
        except UserError as error:
            run.log.warn(str(error))
        else:
            attachments, refusals = refuse_images(found, run.model)
            for refusal in refusals:
                run.log.warn(refusal)
        task = run.task.model_copy(update={"attachments": attachments})
        attached_text = render_prompt("attachments", task=task)
        for name in active_candidates(run.log.records):
            receiver = run.candidate.model_copy(update={"id": name})
            add_user_message(run.on(receiver), f"{REMARK_OPENING}{remark}")
            if attached_text:
                add_user_message(run.on(receiver), attached_text, task.images)


def _attach_mentions(run: CandidateRun, remark: str) -> tuple[Attachment, ...]:
    """Return what a remark mentions, as the candidate has changed it so far."""
    workspace = run.workspace(run.candidate)
    return attach_mentions(
        remark,
        workspace.root,
        workspace.index,
        deny_read=workspace.deny_read,
        checkout=run.repository.root,
    )


def _without_foreign_data(model: Model, request: Request) -> Request:
    """Remove what a model cannot take, since several may take part in a conversation.

    That is opaque data of other models' providers, and images if it accepts none.
    """

    def adapt(message: Message) -> Message:
        match message:
            case AssistantMessage() if message.model != model.name:
                return message.model_copy(update={"opaque": ""})
            case UserMessage() if message.images and not model.accepts_images:
                names = ", ".join(image.name for image in message.images)
                text = f"{message.text}\n\n[Not sent to you, because you accept no images: {names}]"
                return UserMessage(text=text)
        return message

    return request.model_copy(update={"messages": tuple(map(adapt, request.messages))})


async def _complete(run: CandidateRun, request: Request) -> Reply:
    model = run.model

    def show(delta: Delta) -> None:
        if delta.kind == "notice":
            run.log.warn(delta.text)
            return
        event_type = TextStreamed if delta.kind == "text" else ReasoningStreamed
        run.log.append(event_type(candidate=run.candidate.id, text=delta.text))

    def spend(usage: Usage) -> None:
        run.log.append(
            BudgetSpent(
                candidate=run.candidate.id, usage=usage, total=reservation.settle(usage), role=run.role
            )
        )

    async with (
        run.budget.reserve(request, price=model.maximum_cost_usd, role=run.role) as reservation,
        run.models.rate_limiter.requests,
    ):
        try:
            reply = await model.complete(reservation.request, show)
        except ModelError as error:
            if error.usage is None:
                reservation.release()
            elif error.usage.cost_usd is not None:
                spend(error.usage)
            raise
        run.log.append(
            MessageFinished(
                candidate=run.candidate.id, message=reply.message.model_copy(update={"model": model.name})
            )
        )
        spend(reply.usage)
    return reply


def latest_call_results(records: Sequence[Record], candidate: str) -> tuple[str, ...]:
    """Return the calls of the newest reply with their results, sorted; empty if it has no call."""
    results: list[str] = []
    for message in reversed(candidate_messages(records, candidate)):
        match message:
            case ToolMessage(name=name, text=text):
                results.append(f"{name}: {text}")
            case AssistantMessage(calls=calls):
                return (
                    tuple(sorted([*results, *(f"{call.name}({call.arguments})" for call in calls)]))
                    if calls
                    else ()
                )
            case _:
                continue
    return ()


OUTPUT_CHARACTERS = 16_000
MOST_SHOWN_CHARACTERS = 500
"""Of arguments in a question to the user."""


def find_tool(context: SessionContext, name: str) -> Tool | None:
    return next((tool for tool in context.tools if tool.name == name), None)


async def run_call(run: CandidateRun, phase: Phase, call: ToolCall) -> Note | None:
    """Run one call and log its result; return the note if the call handed one over."""
    run.log.append(ToolStarted(candidate=run.candidate.id, call=call))
    seconds = 0.0
    note: Note | None = None
    is_refused = False
    try:
        tool = find_tool(run, call.name)
        if tool is None:
            raise ToolError(
                f"There is no tool {call.name!r}. There are: {', '.join(tool.name for tool in run.tools)}."
            )
        if tool.writes and not phase.writes:
            raise ToolError(f"Nothing is changed in the {phase.name} phase. It ends with {phase.end_marker}.")
        arguments = tool.validate_arguments(call.arguments)
        decision = _decide(run, tool, arguments)
        text = _describe_call(tool, call, arguments)
        policy = await _check_permission(run, call.name, text, decision)
        start_seconds = time.monotonic()
        try:
            result, ok = await _run_tool(run, tool, arguments, policy=policy), True
        finally:
            seconds = time.monotonic() - start_seconds
        if not isinstance(result, str):
            note = _check_kind(phase, result)
        text = result if isinstance(result, str) else f"Handed over: {result.kind}."
    except ToolError as error:
        text, ok, note = str(error), False, None
        is_refused = isinstance(error, ToolRefusedError)
    text = run.secrets.mask(text)
    shortened_text = truncate_output(text)
    run.log.append(
        ToolFinished(
            candidate=run.candidate.id,
            message=ToolMessage(call_id=call.id, name=call.name, text=shortened_text, ok=ok),
            seconds=seconds,
            blob="" if shortened_text == text else run.store.store_blob(text),
            refused=is_refused,
        )
    )
    return note


async def _run_tool(
    run: CandidateRun, tool: Tool, arguments: Mapping[str, Any], *, policy: Policy
) -> str | Note:
    workspace = replace(
        run.workspace(run.candidate),
        progress=run.log.progress_listener(run.candidate.id),
        policy=policy,
        is_named=partial(_is_named, candidate_messages(*run.own)),
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


async def _check_permission(run: CandidateRun, name: str, text: str, decision: PermissionDecision) -> Policy:
    """Return the policy of the call; ask the user if necessary.

    Raises:
        ToolRefusedError: it is not allowed.
    """
    if decision.action == "deny":
        raise ToolRefusedError(
            f"{name} was refused ({decision.why}), and nothing was done. Nobody is asked; go on without it."
        )
    if decision.action == "ask":
        answer = await run.approval.permit(text, decision)
        if answer.option == REFUSE:
            advice = (
                f"The user wants this instead: {answer.instruction}"
                if answer.instruction
                else "Go on without it: run_tests and the tools that look need no permission."
            )
            raise ToolRefusedError(f"{name} was not allowed ({decision.why}), and nothing was done. {advice}")
    return Policy(writes=run.permissions.mode != "read-only", network=decision.network)


def _decide(run: CandidateRun, tool: Tool, arguments: Mapping[str, Any]) -> PermissionDecision:
    """Decide whether a call may run."""
    if tool.writes:
        return decide_change(run.permissions)
    rights = replace(run.permissions, rules=(*run.permissions.rules, *run.approval.rules))
    if name := tool.called_server_tool(arguments):
        return decide_server_tool(rights, name)
    if not tool.asks:
        return PermissionDecision(action="allow")
    return decide_command(
        rights, arguments["command"], root=run.candidate.worktree, network=arguments["network"]
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


def render_prompt(name: str, **values: object) -> str:
    """Render the prompt `name`.

    Raises:
        jinja2.UndefinedError: a placeholder has no value, which is a bug of the caller.
    """
    return _environment().get_template(name).render(**values).strip()


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(
            lambda name: (files("coder.prompts") / f"{name}.md").read_text(encoding="utf-8")
        ),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data"] = lambda text: fence_text(text.strip("\n"))
    return environment
