"""Front end for editors (Agent Client Protocol): events as updates, questions as requests for permission."""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

import acp
from acp import schema

from coder import __version__
from coder.core import events
from coder.core.errors import CoderError, UserError
from coder.core.events import Attachment
from coder.core.plan import format_plan
from coder.core.state import next_mode
from coder.core.text import parse_json, sanitize_text
from coder.core.values import AssistantMessage, Hunk, Image, ToolCall
from coder.core.verdict import VerdictKind
from coder.core.verdict_summary import summary_text
from coder.patching.git_hunks import changed_line_starts, hunk_lines, split_git_diff
from coder.session.log import EventLog, RunningSession, run_and_follow
from coder.ui.lines import describe_event, report_body, summarize_arguments, summary_lines
from coder.ui.tui.commands import (
    HELP,
    Commands,
    PromptCommand,
    Services,
    TypedRequest,
    custom_purposes,
    interpret,
)

KINDS: Mapping[str, schema.ToolKind] = {
    **{"search": "search", "git_history": "search", "read": "read", "apply_patch": "edit"},
    **{"run_tests": "execute", "run_command": "execute"},
}
"""Kinds of tools, which editors show as icons; those of `hand_over` think."""
MAIN_CANDIDATE = "c1"
"""The candidate whose replies are shown while they are written; those of others would be mixed with them."""
PROGRESS_INTERVAL = timedelta(seconds=0.5)
ON_A_SCREEN = ("help", "quit", "new", "resume", "rewind", "context")
"""Commands of the prompt that an editor has itself, or that need the interface on a screen."""
COMMANDS: Mapping[str, str] = {name: text for name, text in HELP.items() if name not in ON_A_SCREEN}
APPLY, DELIVER, REFUSE = "apply", "deliver", "refuse"
Update = Any
"""An update of a session, one of the values in `acp.schema`."""


class StoredConversation(NamedTuple):
    id: str
    title: str
    changed: datetime


class EditorRepository(Services, Protocol):
    """A repository that an editor has opened."""

    @property
    def root(self) -> Path: ...

    def list_conversations(self) -> Sequence[StoredConversation]:
        """Return the newest first."""
        ...

    def load_conversation(self, id: str) -> Sequence[EventLog]:
        """Return the closed logs of a conversation, oldest first, by the editor's id or that of a session."""
        ...


class UpdateTranslator:
    """Translates the records of one session to updates, and remembers what later records refer to."""

    def __init__(self, root: Path, *, is_replay: bool = False) -> None:
        """Take `is_replay` for a recorded session, whose request the editor does not show yet."""
        self._root = root
        self._is_replay = is_replay
        self._session = ""
        self._count = 0
        self._calls: dict[tuple[str, str], str] = {}
        """Ids of the calls that run, by candidate and the model's own id, which may repeat."""
        self._streamed: set[str] = set()
        """Candidates whose unfinished reply has been shown."""
        self._newest_reply = ""
        self._edit = ""
        """Id of the newest finished call that may have changed files."""
        self._hunks: frozenset[Hunk] = frozenset()
        self._judging = ""
        """Id of the verification that runs."""
        self._judges = False
        self._progress_at: datetime | None = None

    @property
    def running_call(self) -> str:
        """Id of the newest call that runs; empty if none does."""
        return next(reversed(self._calls.values()), "")

    def translate(self, record: events.Record) -> Iterator[Update]:
        match record.event:
            case events.SessionStarted(session=session, task=task):
                self._session, self._judges = session, task.given
                if self._is_replay:
                    yield schema.UserMessageChunk(content=_text(task.issue))
            case events.ToolStarted() | events.ToolFinished():
                yield self._translate_call(record.event)
            case events.ToolStreamed(text=text):
                yield from self._show_progress(text, at=record.at)
            case events.FilesChanged(diff=diff):
                yield from self._show_change(diff)
            case events.TargetsGreen() | events.TestsEnded() | events.Verified():
                yield from self._translate_judgement(record.event)
            case events.SessionFinished():
                yield from self._finish(record.event)
            case events.QuestionAnswered() | events.ReviewAnswered() | events.PlanAnswered():
                pass  # the editor has shown the question with its answer
            case _:
                yield from self._translate_course(record.event)

    def next_id(self) -> str:
        """Return the id of another call."""
        self._count += 1
        return f"{self._session}:{self._count}"

    def _translate_course(self, event: events.Event) -> Iterator[Update]:
        match event:
            case events.TextStreamed(candidate=candidate, text=text) if candidate == MAIN_CANDIDATE:
                self._streamed.add(candidate)
                yield _message(text)
            case events.ReasoningStreamed(candidate=candidate, text=text) if candidate == MAIN_CANDIDATE:
                yield schema.AgentThoughtChunk(content=_text(text))
            case events.MessageFinished(candidate=name, message=AssistantMessage(text=text)) if text.strip():
                self._newest_reply = text.strip()
                yield _message("\n\n" if name in self._streamed else f"{text.strip()}\n\n")
                self._streamed.discard(name)
            case events.Warned() | events.Failed():
                lead = "\n\n" if self._streamed else ""
                yield from (_message(f"{lead}{line.words}\n\n") for line in describe_event(event))
            case _:
                for line in describe_event(event):
                    yield schema.AgentThoughtChunk(content=_text(f"{line.words}\n"))

    def _translate_call(self, event: events.ToolStarted | events.ToolFinished) -> Update:
        if isinstance(event, events.ToolStarted):
            self._calls[event.candidate, event.call.id] = id = self.next_id()
            return start_call(id, event.call, root=self._root)
        message = event.message
        id = self._calls.pop((event.candidate, message.call_id), "") or self.next_id()
        if message.ok and message.name in ("apply_patch", "run_command"):
            self._edit = id
        status: schema.ToolCallStatus = "completed" if message.ok else "failed"
        return _progress(id, status=status, content=[_content(_fence(message.text))])

    def _show_progress(self, text: str, *, at: datetime) -> Iterator[Update]:
        id = self.running_call or self._judging
        if id and (self._progress_at is None or at - self._progress_at >= PROGRESS_INTERVAL):
            self._progress_at = at
            yield _progress(id, content=[_content(_fence(text))])

    def _show_change(self, diff: str) -> Iterator[Update]:
        """Show the new hunks of a change in the call that made it; a change without a call is one itself."""
        hunks = split_git_diff(diff)
        new = [hunk for hunk in hunks if hunk not in self._hunks]
        self._hunks = frozenset(hunks)
        call, self._edit = self._edit, ""
        if not new:
            return
        places = [
            schema.ToolCallLocation(
                path=str(self._root / hunk.path), line=next(changed_line_starts(hunk), None)
            )
            for hunk in new
        ]
        title = f"change {', '.join(dict.fromkeys(hunk.path for hunk in new))}"
        yield (_progress if call else schema.ToolCallStart)(
            tool_call_id=call or self.next_id(), title=sanitize_text(title), kind="edit", status="completed",
            content=[*diff_content(self._root, new)], locations=places,
        )  # fmt: skip

    def _translate_judgement(
        self, event: events.TargetsGreen | events.TestsEnded | events.Verified
    ) -> Iterator[Update]:
        if not self._judging:
            self._judging, title = self.next_id(), "judge the change"
            yield schema.ToolCallStart(
                tool_call_id=self._judging, title=title, kind="execute", status="in_progress"
            )
        if isinstance(event, events.Verified):
            verdict = event.verdict
            is_red = verdict.kind in (VerdictKind.NOT_FIXED, VerdictKind.BROKEN)
            is_examined = verdict.is_examinable and verdict.kind is VerdictKind.FIXED
            yield _progress(
                self._judging,
                title=f"judge the change: {verdict.label}",
                status="in_progress" if is_examined else "failed" if is_red else "completed",
                content=[_content(_fence(summary_text(verdict, session=self._session)))],
            )
            self._judging = self._judging if is_examined else ""

    def _finish(self, event: events.SessionFinished) -> Iterator[Update]:
        """Close what is still open, then show the report and the summary as the last message."""
        for id in filter(None, (*self._calls.values(), self._judging)):
            yield _progress(id, status="failed" if event.kind is None else "completed")
        report = report_body(event).strip()
        if report and report != self._newest_reply:
            yield _message(f"{report}\n\n")
        shown = summary_lines(event, session=self._session, command="/{}", is_judged=self._judges)
        lines = [line.plain for line in shown]
        yield _message(_fence("\n".join(lines)))


def start_call(id: str, call: ToolCall, *, root: Path) -> schema.ToolCallStart:
    try:
        arguments = parse_json(call.arguments)
    except ValueError:
        arguments = call.arguments
    path = arguments.get("path") if isinstance(arguments, dict) else None
    line = arguments.get("line") if isinstance(arguments, dict) else None
    place = {"path": str(root / path), "line": line} if path and isinstance(path, str) else None
    return schema.ToolCallStart(
        tool_call_id=id,
        title=sanitize_text(f"{call.name} {summarize_arguments(call.arguments)}".strip()),
        name=call.name,
        kind="think" if call.name.startswith("hand_over") else KINDS.get(call.name, "other"),
        status="in_progress",
        locations=[schema.ToolCallLocation.model_validate(place)] if place else None,
        raw_input=arguments,
    )


def diff_content(root: Path, hunks: Iterable[Hunk]) -> Iterator[Any]:
    """Yield the hunks of a change in the form in which editors show changes."""
    for hunk in hunks:
        lines = hunk_lines(hunk.body)
        if not lines:
            yield _content(f"{hunk.path}: changed without lines")
            continue
        is_new = "\nnew file mode " in hunk.header
        yield schema.FileEditToolCallContent(
            path=str(root / hunk.path),
            old_text=None if is_new else "".join(line.text for line in lines if line.sign != "+"),
            new_text="".join(line.text for line in lines if line.sign != "-"),
        )


def _progress(tool_call_id: str, **fields: Any) -> schema.ToolCallProgress:
    return schema.ToolCallProgress(tool_call_id=tool_call_id, **fields)


def _text(text: str) -> schema.TextContentBlock:
    return schema.TextContentBlock(text=sanitize_text(text))


def _message(text: str) -> schema.AgentMessageChunk:
    return schema.AgentMessageChunk(content=_text(text))


def _content(text: str) -> schema.ContentToolCallContent:
    return schema.ContentToolCallContent(content=_text(text))


def _fence(text: str) -> str:
    """Return a text as a block of Markdown in which nothing is interpreted."""
    marks = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{marks}\n{text}\n{marks}\n"


def permission_request(
    event: events.AnyQuestion, *, root: Path, call: str
) -> tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]:
    """Return a question of a session as a request for permission: the call that it is about, and options."""
    match event:
        case events.QuestionAsked(text=title, options=names, default=default):
            content: list[Any] = [_content(_fence(title))]
            kinds = {"always": "allow_always", default: "reject_once"}
            options = [(name, name, kinds.get(name, "allow_once")) for name in names]
        case events.ReviewAsked(diff=diff, verdict=verdict):
            content = [*diff_content(root, split_git_diff(diff))]
            content += [_content(_fence(summary_text(verdict)))] if verdict else []
            title = f"Deliver this change?{f' It is {verdict.label}.' if verdict else ''}"
            options = [
                (APPLY, "Bring it onto my branch", "allow_once"),
                (DELIVER, "Keep it on a branch of its own", "allow_once"),
                (REFUSE, "Refuse it", "reject_once"),
            ]
        case events.PlanAsked(plan=plan):
            title, content = "Run this plan?", [_content(format_plan(plan))]
            options = [(DELIVER, "Run it", "allow_once"), (REFUSE, "Refuse it", "reject_once")]
    return _ask(call, title, content), _options(options)


def _ask(call: str, title: str, content: Sequence[Any]) -> schema.ToolCallUpdate:
    line = sanitize_text(title.splitlines()[0])
    return schema.ToolCallUpdate(
        tool_call_id=call, title=line, kind="other", status="pending", content=[*content]
    )


def _options(options: Iterable[tuple[str, str, Any]]) -> list[schema.PermissionOption]:
    return [schema.PermissionOption(option_id=id, name=name, kind=kind) for id, name, kind in options]


def answer_command(event: events.AnyQuestion, option: str | None) -> events.SessionCommand:
    """Return the command that answers a question; None is the answer of an unattended session.

    An empty option stands for a question that the user has dismissed.
    """
    match event:
        case events.QuestionAsked(question=question, options=options, default=default):
            return events.QuestionAnswered(question=question, option=option if option in options else default)
        case events.ReviewAsked(question=question, diff=diff):
            hunks = tuple(range(len(split_git_diff(diff))))
            accepted = hunks if option in (APPLY, DELIVER, None) else ()
            return events.ReviewAnswered(question=question, accepted=accepted)
        case events.PlanAsked(question=question, plan=plan):
            return events.PlanAnswered(question=question, plan=plan if option in (DELIVER, None) else None)


class EditorSession:
    """One conversation of an editor: each prompt is a session that continues the one before."""

    def __init__(self, id: str, repository: EditorRepository, client: acp.Client) -> None:
        self.id = id
        self.repository = repository
        self._client = client
        self._commands = Commands(
            repository,
            newest=lambda: self.newest,
            show_lines=lambda lines: self._lines.extend(lines),
            show_diff=lambda diff: self._lines.append(diff),
            ask=self._refuse,
        )
        self._lines: list[str] = []
        """Output of the command that runs."""
        self.newest: EventLog | None = None
        """Log of the newest session, which the next prompt continues."""
        self._running: RunningSession | None = None
        self._is_busy = self._is_opened = self._is_cancelled = False
        self._applies = False
        """Whether the user wants the change on the current branch once it is delivered."""

    @property
    def _records(self) -> Sequence[events.Record]:
        return self.newest.records if self.newest is not None else ()

    async def introduce(self, logs: Sequence[EventLog] = ()) -> None:
        """Show the earlier sessions of the conversation, then name the commands of the prompt."""
        for log in logs:
            translator = UpdateTranslator(self.repository.root, is_replay=True)
            for record in log.records:
                await self._send(*translator.translate(record))
        purposes = {**COMMANDS, **await asyncio.to_thread(custom_purposes, self.repository)}
        parts = ((name, text.rpartition("  ")) for name, text in purposes.items())
        commands: list[Any] = [
            {"name": name, "description": text, "input": {"hint": argument.strip().lower()}}
            for name, (argument, _, text) in parts
        ]
        await self._send(schema.AvailableCommandsUpdate(available_commands=commands))

    def cancel(self) -> None:
        """Stop what runs; a session that is still being opened stops as soon as it is open."""
        self._is_cancelled = self._is_busy
        self._commands.stop()
        if self._running is not None:
            self._running.send(events.Stop())

    async def prompt(self, text: str, attachments: tuple[Attachment, ...]) -> schema.StopReason:
        """Carry out a request or a command, and return why it ended.

        Raises:
            CoderError: it cannot be done.
        """
        if self._is_busy:
            raise UserError("The prompt before is still being worked on: cancel it, or wait.")
        self._is_busy, self._is_cancelled = True, False
        try:
            mode = "ask" if text.endswith("?") else next_mode(self._records)
            match await asyncio.to_thread(interpret, self.repository, text, mode=mode, known=COMMANDS):
                case TypedRequest() as request:
                    return await self._request(request, attachments)
                case PromptCommand() as command:
                    await self._run_command(*command)
                    return "end_turn"
        finally:
            self._is_busy, self._running = False, None

    async def _run_command(self, name: str, text: str) -> None:
        if name == "!":
            raise UserError("Commands behind ! run in coder's own interface alone.")
        self._lines.clear()
        newest = self._commands.newest_id if name in ("apply", "undo") else ""
        await self._commands.run(name, text or newest)
        await self._send(_message(_fence("\n".join(self._lines))))

    async def _refuse(self, _question: str, options: tuple[str, ...]) -> str:
        return options[-1]

    async def _request(self, asked: TypedRequest, attachments: tuple[Attachment, ...]) -> schema.StopReason:
        await self._open_repository()
        request = self._commands.make_request(asked, attachments=attachments, conversation=self.id)
        running = await self.repository.start(request)
        await self._perform(running)
        self.newest = running.log if request.conversation else self.newest
        finished = running.log.records[-1].event
        assert isinstance(finished, events.SessionFinished)
        if self._is_cancelled:
            return "cancelled"
        if self._applies and finished.delivery is not None and not finished.delivery.merged:
            await self._run_command("apply", "")
        return "max_turn_requests" if finished.kind is VerdictKind.LIMIT else "end_turn"

    async def _open_repository(self) -> None:
        """Check the repository before its first request, and have the user trust it where that is needed."""
        if self._is_opened:
            return
        opened = await asyncio.to_thread(self.repository.open)
        await self._send(*(_message(f"{notice}\n\n") for notice in opened.notices))
        if (trust := opened.trust) is not None:
            kinds = ("allow_once", "allow_always", "reject_once")
            options = [(name, name, kind) for name, kind in zip(trust.options, kinds, strict=True)]
            call = _ask(f"{self.id}:trust", trust.text, [_content(trust.details)])
            choice = await self._choose(call, _options(options)) or trust.decline
            if not await asyncio.to_thread(trust.settle, choice):
                raise UserError(f"{self.repository.root} is not trusted: nothing was run. See: coder trust")
        self._is_opened = True

    async def _perform(self, running: RunningSession) -> None:
        """Run a session to its end and show all of it; it stops where the editor is gone."""
        self._running, self._applies = running, False
        questions: list[asyncio.Future[None]] = []
        if self._is_cancelled:
            running.send(events.Stop())
        try:
            await run_and_follow(running, self._follow(running, questions))
        finally:
            for question in questions:
                question.cancel()

    async def _follow(self, running: RunningSession, questions: "list[asyncio.Future[None]]") -> None:
        translator = UpdateTranslator(self.repository.root)
        async for record in running.log.follow():
            await self._send(*translator.translate(record))
            if isinstance(record.event, events.AnyQuestion):
                ids = {"call": translator.running_call, "new_id": translator.next_id()}
                answer = self._answer(running, record.event, **ids)
                questions.append(asyncio.ensure_future(answer))

    async def _answer(
        self, running: RunningSession, event: events.AnyQuestion, *, call: str, new_id: str
    ) -> None:
        """Have the user answer a question on the call that runs; without one, it is a call itself."""
        option: str | None = ""
        if not self._is_cancelled:
            id = call or new_id
            update, options = permission_request(event, root=self.repository.root, call=id)
            if not call:
                await self._send(schema.ToolCallStart.model_validate(update.model_dump()))
            option = await self._choose(update, options)
            status = "failed" if option in ("", REFUSE) else "in_progress" if call else "completed"
            await self._send(_progress(id, status=status))
        self._applies = isinstance(event, events.ReviewAsked) and option == APPLY
        running.send(answer_command(event, option))

    async def _choose(
        self, call: schema.ToolCallUpdate, options: list[schema.PermissionOption]
    ) -> str | None:
        """Return what the user chooses; empty if they dismiss it, None if the editor cannot ask."""
        try:
            response = await self._client.request_permission(self.id, call, options)
        except acp.RequestError:
            return None
        return response.outcome.option_id if response.outcome.outcome == "selected" else ""

    async def _send(self, *updates: Update) -> None:
        for update in updates:
            await self._client.session_update(session_id=self.id, update=update)


class EditorAgent:
    """The agent's side of the protocol: conversations by their ids."""

    def __init__(
        self,
        open_repository: Callable[[Path, Mapping[str, Any]], EditorRepository],
        make_id: Callable[[], str],
    ) -> None:
        """Take `open_repository`, which is given the editor's MCP servers in the form of `.mcp.json`."""
        self._open_repository = open_repository
        self._make_id = make_id
        self._sessions: dict[str, EditorSession] = {}
        self._client: acp.Client

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, **_: Any) -> schema.InitializeResponse:
        sessions: Any = {"list": {}, "close": {}}
        capabilities = schema.AgentCapabilities(
            load_session=True,
            prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True),
            session_capabilities=sessions,
            mcp_capabilities=schema.McpCapabilities(http=True),
        )
        return schema.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=capabilities,
            agent_info=schema.Implementation(name="coder", title="coder", version=__version__),
        )

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> schema.NewSessionResponse:
        session = await self._add_session(self._make_id(), cwd, mcp_servers)
        asyncio.get_running_loop().call_soon(asyncio.ensure_future, session.introduce())
        return schema.NewSessionResponse(session_id=session.id)

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> schema.LoadSessionResponse:
        session = await self._add_session(session_id, cwd, mcp_servers)
        with _reported_errors():
            logs = await asyncio.to_thread(session.repository.load_conversation, session_id)
        session.newest = logs[-1]
        await session.introduce(logs)
        return schema.LoadSessionResponse()

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> schema.ListSessionsResponse:
        with _reported_errors():
            repository = await asyncio.to_thread(self._open_repository, Path(cwd or ""), {})
            stored = await asyncio.to_thread(repository.list_conversations)
        infos = [
            schema.SessionInfo(
                session_id=id,
                cwd=str(repository.root),
                title=sanitize_text(title),
                updated_at=changed.isoformat(),
            )
            for id, title, changed in stored
        ]
        return schema.ListSessionsResponse(sessions=infos)

    async def close_session(self, session_id: str, **_: Any) -> None:
        await self.cancel(session_id)
        self._sessions.pop(session_id, None)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session_id in self._sessions:
            self._sessions[session_id].cancel()

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> schema.PromptResponse:
        if (session := self._sessions.get(session_id)) is None:
            raise acp.RequestError.resource_not_found(session_id)
        text, attachments = read_prompt(prompt, session.repository.root)
        with _reported_errors():
            return schema.PromptResponse(stop_reason=await session.prompt(text, attachments))

    async def _add_session(self, id: str, cwd: str, servers: Sequence[Any] | None) -> EditorSession:
        entries = {server.name: _server_entry(server) for server in servers or ()}
        with _reported_errors():
            repository = await asyncio.to_thread(self._open_repository, Path(cwd), entries)
        self._sessions[id] = EditorSession(id, repository, self._client)
        return self._sessions[id]


def _server_entry(server: Any) -> dict[str, Any]:
    """Return an MCP server of the editor in the form of `.mcp.json`."""
    if isinstance(server, schema.McpServerStdio):
        variables = {variable.name: variable.value for variable in server.env}
        return {"command": server.command, "args": server.args, "env": variables}
    return {"url": server.url, "headers": {header.name: header.value for header in server.headers}}


@contextmanager
def _reported_errors() -> Iterator[None]:
    """Turn errors of coder into those of the protocol."""
    try:
        yield
    except CoderError as error:
        raise acp.RequestError(-32602, str(error), {"details": str(error)}) from None


def read_prompt(blocks: Sequence[Any], root: Path) -> tuple[str, tuple[Attachment, ...]]:
    """Return the text of a prompt, and the texts and images that are attached to it.

    A link to a file of the repository becomes a mention.
    """
    texts: list[str] = []
    attachments: list[Attachment] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock(text=text):
                texts.append(text)
            case schema.ResourceContentBlock(uri=uri):
                path = Path(unquote(urlsplit(uri).path))
                is_inside = uri.startswith("file:") and path.is_relative_to(root)
                texts.append(f'@"{path.relative_to(root)}"' if is_inside else uri)
            case schema.EmbeddedResourceContentBlock(
                resource=schema.TextResourceContents(uri=uri, text=text)
            ):
                attachments.append(Attachment(name=unquote(uri.removeprefix("file://")), text=text))
            case schema.ImageContentBlock(data=data, mime_type=media_type):
                name = f"image {1 + len(attachments)}"
                image = Image(name=name, media_type=media_type, base64=data)
                attachments.append(Attachment(name=name, text="", image=image))
    return "".join(texts).strip(), tuple(attachments)
