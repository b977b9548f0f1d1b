"""Event log of a session: `append` numbers an event, `follow` yields past and future events in order.

`$XDG_STATE_HOME/coder/sessions/<id>/events.jsonl` is the truth: a format version, then one record a line,
flushed each. Large outputs are blobs by their SHA-256. Keys come from the environment and never reach an
event.
"""

import asyncio
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import ValidationError

from coder.core import events
from coder.core.errors import UserError
from coder.core.events import Record, SessionFinished, SessionStarted
from coder.core.ports import Progress, RunListener, Store
from coder.core.text import suggest_name
from coder.core.values import Delivery
from coder.files.regular_files import sessions_directory
from coder.permissions.secrets import Secrets


def utc_now() -> datetime:
    return datetime.now(UTC)


class EventLog:
    """Complete record of one session, used from one event loop; each append reaches every follower."""

    def __init__(
        self,
        store: Store | None = None,
        clock: Callable[[], datetime] = utc_now,
        records: Iterable[events.Record] = (),
        secrets: Secrets = Secrets(),  # noqa: B008 (a frozen value)
    ) -> None:
        """Take `secrets` with the user's own secret values, which no event may hold."""
        self._store = store
        self._clock = clock
        self._secrets = secrets
        self.records = list(records)
        """All lasting records so far; not to be changed by callers."""
        self._followers: list[asyncio.Queue[events.Record | None]] = []
        self._closed = False

    @property
    def is_closed(self) -> bool:
        """Whether nothing will be appended any more."""
        return self._closed

    def append(self, event: events.Event) -> events.Record:
        """Give an event its number, store it unless it is fleeting, and pass it to the followers."""
        event = self._secrets.mask_value(event)
        is_fleeting = isinstance(event, events.TransientEvent)
        record = events.Record(number=len(self.records) + (not is_fleeting), at=self._clock(), event=event)
        if not is_fleeting:
            self.records.append(record)
            if self._store is not None:
                self._store.append(record)
        for follower in self._followers:
            follower.put_nowait(record)
        return record

    def warn(self, text: str) -> None:
        """Warn the user."""
        self.append(events.Warned(text=text))

    def progress_listener(self, candidate: str) -> Progress:
        """Return a thread-safe listener that shows each line as a fleeting event of the candidate."""
        append = self._thread_safe_append()
        mask = self._secrets.line_masker()
        return lambda line: append(events.ToolStreamed(candidate=candidate, text=mask(line)))

    def run_listener(self, candidate: str) -> RunListener:
        append = self._thread_safe_append()
        return lambda event: append(event.model_copy(update={"candidate": candidate}))

    def warning_callback(self) -> Callable[[str], None]:
        append = self._thread_safe_append()
        return lambda text: append(events.Warned(text=text))

    def offer_callback(self) -> Callable[[bool], None]:
        """Return a thread-safe callback that shows whether the user may have the change delivered now."""
        append = self._thread_safe_append()
        return lambda is_offered: append(events.DeliverNowOffered(offered=is_offered))

    def _thread_safe_append(self) -> Callable[[events.Event], None]:
        loop = asyncio.get_running_loop()

        def append(event: events.Event) -> None:
            if not loop.is_closed():  # a thread may outlive a stopped session for a moment
                loop.call_soon_threadsafe(append_in_loop, event)

        def append_in_loop(event: events.Event) -> None:
            if self._closed:  # the last event of a session stays the last
                return
            with suppress(OSError):  # of a full disk: the session's own next event meets it as well
                self.append(event)

        return append

    def close(self) -> None:
        """Close the log: followers end after the records they have not read yet."""
        self._closed = True
        for follower in self._followers:
            follower.put_nowait(None)

    async def follow(self, start: int = 1) -> AsyncIterator[events.Record]:
        """Yield every record from number `start` on, then new ones until the log is closed."""
        queue: asyncio.Queue[events.Record | None] = asyncio.Queue()
        past_records = self.records[start - 1 :]
        if self._closed:
            queue.put_nowait(None)
        self._followers.append(queue)
        try:
            for record in past_records:
                yield record
            while (record_or_end := await queue.get()) is not None:
                yield record_or_end
        finally:
            self._followers.remove(queue)


class RunningSession(Protocol):
    """Session as a front end sees it."""

    @property
    def log(self) -> EventLog: ...

    def send(self, command: events.SessionCommand) -> None:
        """Handle a command; one that comes too early or too late does no harm."""
        ...

    async def run(self) -> object:
        """Run to the end, close the log, and release all resources."""
        ...


async def run_and_follow(running: RunningSession, show: Coroutine[None, None, None]) -> None:
    """Run a session to its end beside what shows its log; stop it where its reader is gone.

    An exception of either is raised as itself.
    """
    run, follower = asyncio.ensure_future(running.run()), asyncio.ensure_future(show)
    try:
        await asyncio.wait({run, follower}, return_when=asyncio.FIRST_COMPLETED)
        if not run.done():
            running.send(events.Stop())
        await run
        await follower
    finally:
        run.cancel()
        follower.cancel()
        await asyncio.wait({run, follower})


FORMAT = 3
HEAD_CHARACTERS = 400
"""Beginning of a log, with the time of its first record."""
READABLE = (1, 2, FORMAT)
"""Formats that can be read: the values of events know the names of former fields."""


class SessionStore:
    """Writes one session's records, flushing each, and its large outputs."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._blobs = directory / "blobs"
        self._file = (directory / "events.jsonl").open("x", encoding="utf-8")
        self._write(json.dumps({"format": FORMAT}))

    def append(self, record: Record) -> None:
        self._write(record.model_dump_json())

    def store_blob(self, text: str) -> str:
        data = text.encode("utf-8", "surrogateescape")
        name = hashlib.sha256(data).hexdigest()
        self._blobs.mkdir(exist_ok=True)
        (self._blobs / name).write_bytes(data)
        return name

    def close(self) -> None:
        self._file.close()

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()


def read_records(directory: Path) -> list[Record]:
    """Return all records of a stored session; an incomplete last line is dropped.

    Raises:
        UserError: there is no log, or another version of coder wrote something unknown.
    """
    path = directory / "events.jsonl"
    return list(_parse_records(path, _read_lines(path)))


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a log without its header."""
    try:
        header, *lines = path.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n")
    except FileNotFoundError:
        raise UserError(f"There is no session log at {path}.") from None
    if _format_version(header) not in READABLE:
        raise UserError(
            f"{path} was not written in format {FORMAT}, the one this version of coder reads. Use the "
            "version that wrote it."
        )
    return lines


def _format_version(line: str) -> object:
    try:
        header = json.loads(line)
    except json.JSONDecodeError:
        return None
    return header.get("format") if isinstance(header, dict) else None


def _parse_records(path: Path, lines: list[str]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=2):
        try:
            yield Record.model_validate_json(line)
        except ValidationError:
            if number == len(lines) + 1:
                return
            raise UserError(
                f"Line {number} of {path} cannot be read. The lines before it can: cut the file there."
            ) from None


def append_finish(directory: Path, event: SessionFinished, *, at: datetime) -> None:
    """Append the last event to the log of a session that was killed; an incomplete last line is cut off."""
    records = read_records(directory)
    with (directory / "events.jsonl").open("r+b") as file:
        lines = file.readlines()
        file.truncate(sum(map(len, lines[: len(records) + 1])))
        file.seek(0, os.SEEK_END)
        if not lines[len(records)].endswith(b"\n"):
            file.write(b"\n")
        file.write(f"{Record(number=len(records) + 1, at=at, event=event).model_dump_json()}\n".encode())


class StoredSession(NamedTuple):
    directory: Path
    started: SessionStarted
    finished: SessionFinished | None

    @property
    def delivery(self) -> Delivery | None:
        return self.finished.delivery if self.finished else None


def stored_sessions(
    repository: Path | None = None, *, on_problem: Callable[[str], object] = lambda _: None
) -> Iterator[StoredSession]:
    """Yield the sessions in a repository, or in all, the newest first.

    `on_problem` is told of each that cannot be read; one that ended before it began is left out.
    """
    for directory in reversed(list_sessions()):
        try:
            started, finished = boundary_events(directory)
        except UserError as error:
            on_problem(str(error))
            continue
        if started is not None and repository in (None, Path(started.repository)):
            yield StoredSession(directory, started, finished)


def find_session(
    name: str,
    *,
    repository: Path | None = None,
    delivered: Callable[[Delivery], bool] | None = None,
    conversation: bool = False,
) -> Path:
    """Return the directory of the only session whose id ends or begins with `name`; `last` is the newest.

    Of `last` alone, nothing is skipped that was not `delivered`: it names the same session to each command.

    The name of a branch of coder's stands for the newest session that was delivered there.

    With `repository` only its sessions count, and those by name whose delivered commit is there (of another
    worktree); with `delivered` only those that delivered something of which that is true, and with
    `conversation` the newest one that did not just judge a change.

    Raises:
        UserError: no session matches, or more than one.
    """
    if name == "last":
        return _find_last(repository, delivered, conversation)
    directories = list_sessions()
    if name.startswith("coder/"):
        on_branch = (
            session.directory
            for session in stored_sessions()
            if session.delivery and session.delivery.branch == name
        )
        matching = [*islice(on_branch, 1)]
    else:
        matching = [
            entry for entry in directories if entry.name.endswith(name) or entry.name.startswith(name)
        ]
    if len(matching) != 1:
        count = f"{len(matching)} sessions" if matching else "No session"
        known = [form for entry in directories for form in (entry.name, entry.name.rpartition("-")[2])]
        hint = "" if matching else suggest_name(name, known)
        raise UserError(f"{count} named {name!r}. {hint}`coder log` lists them; `last` is the newest.")
    start_event, finished = boundary_events(matching[0])
    delivery = finished.delivery if finished else None
    is_here = delivery is not None and delivery.commit and delivered is not None and delivered(delivery)
    if (
        repository is not None
        and start_event is not None
        and start_event.repository != str(repository)
        and not is_here
    ):
        raise UserError(
            f"Session {matching[0].name} belongs to {start_event.repository}; work there, or add --repo "
            f"{start_event.repository}."
        )
    return matching[0]


def _find_last(
    repository: Path | None, delivered: Callable[[Delivery], bool] | None, conversation: bool
) -> Path:
    def refuse(problem: str) -> None:
        if delivered:  # an older fix than the one that is meant must not be applied or undone
            raise UserError(f"{problem} So `last` may mean it: name a session; `coder log` lists them.")

    last: StoredSession | None = None
    for session in stored_sessions(repository, on_problem=refuse):
        last = last or session
        is_delivered = delivered is None or (session.delivery is not None and delivered(session.delivery))
        if not is_delivered or (conversation and session.started.task.given):
            continue
        if delivered and session is not last:
            raise UserError(
                f"The last session, {last.directory.name}, has no fix to apply or undo. The newest one that "
                f"has: {session.directory.name}"
            )
        return session.directory
    kind = "with a fix to apply or undo" if delivered else "yet"
    raise UserError(f"No session {kind}{f' in {repository}' if repository else ''}.")


def list_sessions() -> list[Path]:
    """Return the directories of all stored sessions, oldest first."""
    return [log.parent for log in sorted(sessions_directory().glob("*/events.jsonl"), key=_began)]


def _began(log: Path) -> tuple[str, str, str]:
    """Return the order of a session's log: by the second in its id, then by the time of its first record."""
    name, second = log.parent.name, len("20260101-120000")
    with suppress(OSError), log.open(encoding="utf-8", errors="replace") as file:
        if found := re.search(r'"at":"([^"]+)"', file.read(HEAD_CHARACTERS)):
            return name[:second], found[1], name
    return name[:second], "", name


def list_conversation(directory: Path) -> tuple[Path, ...]:
    """Return the sessions of the conversation that ends with this one, as far as they are stored.

    Each is one request of the user; the oldest, number 1, comes first.
    """
    sessions = [directory]
    started, _ = boundary_events(directory)
    while started is not None and started.task.continues:
        earlier = directory.parent / started.task.continues
        if not earlier.is_dir():
            break
        sessions.insert(0, earlier)
        started, _ = boundary_events(earlier)
    return tuple(sessions)


def boundary_events(directory: Path) -> tuple[SessionStarted | None, SessionFinished | None]:
    """Return the first event of a stored session, and its last one if it ended; other lines are not parsed.

    Raises:
        UserError: there is no log, or another version of coder wrote something unknown.
    """
    path = directory / "events.jsonl"
    lines = _read_lines(path)
    return _find_event(path, lines, SessionStarted), _find_event(path, lines[::-1], SessionFinished)


def _find_event(path: Path, lines: Sequence[str], kind: type[events.AnyEvent]) -> events.AnyEvent | None:
    marker = f'"type":"{kind.model_fields["type"].default}"'  # not within another event's text
    found = [line for line in lines if marker in line]
    return events.newest_event([*_parse_records(path, found[:1])], kind)
