"""Services of `coder acp`: the streams to the editor, its repositories and their stored conversations."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from acp import Agent, run_agent

from coder.cli.running import end_without_client, take_over_stream
from coder.cli.tui import InterfaceServices
from coder.repo.git import find_checkout
from coder.session.log import (
    EventLog,
    StoredSession,
    boundary_events,
    find_session,
    list_conversation,
    read_records,
    stored_sessions,
)
from coder.ui.acp import EditorAgent, StoredConversation
from coder.wiring.conversations import make_session_id

ANSWER_SECONDS = 0.5
"""Seconds for the answers to what came last before the end of the input."""
LONGEST_MESSAGE = 50 * 2**20
"""Bytes of a message of the editor, which may hold images."""
MOST_CONVERSATIONS = 50
"""Newest conversations that an editor is told of."""


def serve_editor(flags: Mapping[str, Any], *, unsafe: bool) -> None:
    """Serve one editor over the standard streams until it closes them; `flags` replace settings."""
    asyncio.run(_serve(EditorAgent(partial(open_repository, flags, unsafe), make_session_id)))


def open_repository(
    flags: Mapping[str, Any], unsafe: bool, directory: Path, servers: Mapping[str, Any]
) -> "EditorServices":
    """Return the repository that contains a directory; `servers` are the MCP servers that the editor names.

    Raises:
        UserError: there is none.
    """
    root = find_checkout(directory).root
    return EditorServices(directory, root, flags, unsafe=unsafe, servers=servers)


async def _serve(agent: EditorAgent) -> None:
    source, sink = take_over_stream(0), take_over_stream(1)
    loop = asyncio.get_running_loop()
    reader = _EditorInput(limit=LONGEST_MESSAGE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sink)
    await run_agent(cast(Agent, agent), asyncio.StreamWriter(transport, protocol, None, loop), reader)


class _EditorInput(asyncio.StreamReader):
    """Messages of the editor; once it has gone, this process ends soon, after its last answers."""

    def feed_eof(self) -> None:
        asyncio.get_running_loop().call_later(ANSWER_SECONDS, super().feed_eof)
        end_without_client()


class EditorServices(InterfaceServices):
    """The repository of an editor, with its conversations by the ids that editors have given them."""

    def list_conversations(self) -> Sequence[StoredConversation]:
        """Return the newest ones; one that began elsewhere has the id of its newest session."""
        found: dict[str, StoredConversation] = {}
        continued: set[str] = set()
        for directory, started, _ in self._requests():
            task = started.task
            id = task.conversation or directory.name
            if directory.name not in continued and id not in found:
                oldest = boundary_events(list_conversation(directory)[0])[0]
                changed = datetime.fromtimestamp((directory / "events.jsonl").stat().st_mtime, UTC)
                found[id] = StoredConversation(id, oldest.task.issue if oldest else task.issue, changed)
            continued.add(task.continues)
            if len(found) == MOST_CONVERSATIONS:
                break
        return list(found.values())

    def load_conversation(self, id: str) -> Sequence[EventLog]:
        newest = next(
            (path for path, started, _ in self._requests() if started.task.conversation == id), None
        )
        newest = newest or find_session(id, repository=self.root, conversation=True)
        self.loaded = newest.name
        logs = [EventLog(records=read_records(directory)) for directory in list_conversation(newest)]
        for log in logs:
            log.close()
        return logs

    def _requests(self) -> Iterator[StoredSession]:
        """Yield the sessions that are no mere verdicts, the newest first."""
        return (session for session in stored_sessions(self.root) if not session.started.task.given)
