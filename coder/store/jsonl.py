"""Session on disk: events.jsonl, with its format on line one, and its blobs."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from coder.core.errors import UserError
from coder.core.events import Record, SessionFinished, SessionStarted
from coder.core.values import Delivery, EventValue
from coder.directories import sessions_directory

FORMAT = 3
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


def find_session(
    name: str,
    *,
    sessions: Path | None = None,
    repository: Path | None = None,
    delivered: Callable[[Delivery], bool] | None = None,
    conversation: bool = False,
) -> Path:
    """Return the directory of the only session whose id ends or begins with `name`; `last` is the newest.

    Of `last` alone, nothing is skipped that was not `delivered`: it names the same session to each command.

    The name of a branch of coder's stands for the newest session that was delivered there.

    With `repository` only its sessions count, with `delivered` only those that delivered something
    of which that is true, and with `conversation` the newest one that did not just judge a change.

    Raises:
        UserError: no session matches, or more than one.
    """

    def is_eligible(directory: Path) -> bool:
        start_event, finished = boundary_events(directory)
        is_same_repository = repository is None or (
            start_event is not None and start_event.repository == str(repository)
        )
        return (
            is_same_repository
            and (
                delivered is None
                or (finished is not None and finished.delivery is not None and delivered(finished.delivery))
            )
            and (not conversation or (start_event is not None and not start_event.task.given))
        )

    directories = list_sessions(sessions or sessions_directory())
    if name == "last":
        newest = next((entry for entry in reversed(directories) if is_eligible(entry)), None)
        if newest is None:
            kind = "with a fix to apply or undo" if delivered else "yet"
            raise UserError(f"No session {kind}{f' in {repository}' if repository else ''}.")
        last = find_session("last", sessions=sessions, repository=repository) if delivered else newest
        if newest != last:
            raise UserError(
                f"The last session, {last.name}, has no fix to apply or undo. The newest one that has: "
                f"{newest.name}"
            )
        return newest
    matching = (
        _newest_on_branch(name, directories)
        if name.startswith("coder/")
        else [entry for entry in directories if entry.name.endswith(name) or entry.name.startswith(name)]
    )
    if len(matching) != 1:
        count = f"{len(matching)} sessions" if matching else "No session"
        hint = "" if matching else _suggest_session(name, directories)
        raise UserError(f"{count} named {name!r}.{hint} `coder log` lists them; `last` is the newest.")
    start_event = boundary_events(matching[0])[0]
    if repository is not None and start_event is not None and start_event.repository != str(repository):
        raise UserError(
            f"Session {matching[0].name} belongs to {start_event.repository}; work there, or add --repo "
            f"{start_event.repository}."
        )
    return matching[0]


def _newest_on_branch(branch: str, directories: Sequence[Path]) -> list[Path]:
    """Return the newest session whose fix is on a branch, if there is one."""
    for directory in reversed(directories):
        finished = boundary_events(directory)[1]
        if finished is not None and finished.delivery is not None and finished.delivery.branch == branch:
            return [directory]
    return []


def _suggest_session(name: str, directories: Sequence[Path]) -> str:
    """Return a sentence on the session whose id, or end of an id, is most like a name; empty without any."""
    ends = {directory.name.rpartition("-")[2]: directory.name for directory in directories}
    names = {**ends, **{directory.name: directory.name for directory in directories}}
    matches = get_close_matches(name, names, n=1)
    return f" Do you mean {names[matches[0]]}?" if matches else ""


def list_sessions(sessions: Path) -> list[Path]:
    """Return the directories of all stored sessions, oldest first."""
    return sorted(
        (path.parent for path in sessions.glob("*/events.jsonl")), key=lambda directory: directory.name
    )


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
    start_event = _find_event(path, lines, SessionStarted)
    finish_event = _find_event(path, lines[::-1], SessionFinished)
    assert start_event is None or isinstance(start_event, SessionStarted)
    assert finish_event is None or isinstance(finish_event, SessionFinished)
    return start_event, finish_event


def _type_marker(kind: type[EventValue]) -> str:
    """Return the text of a record's line that names its type; it cannot occur within another event's text."""
    return f'"type":"{kind.model_fields["type"].default}"'


def _find_event(path: Path, lines: Sequence[str], kind: type[EventValue]) -> EventValue | None:
    marker = _type_marker(kind)
    found = [line for line in lines if marker in line]
    records = _parse_records(path, found[:1]) if found else iter(())
    return next((record.event for record in records), None)
