"""Stored sessions: what a session that has ended, or was killed, leaves on disk."""

from contextlib import closing
from pathlib import Path
from typing import Any

from coder.core.events import Event, SessionStarted, Task
from coder.files.regular_files import sessions_directory
from coder.session.log import EventLog, SessionStore


def store_session(root: Path, name: str, *events: Event, task: Task | None = None, **fields: Any) -> Path:
    """Store a session of a repository that began and had these events; return its directory.

    `fields` are those of its start that matter.
    """
    unknown: dict[str, Any] = {"head": "", "base": "", "dirty": False, "model": "", "version": ""}
    task = task or Task(issue="It fails.", directory=root)
    started = SessionStarted(session=name, task=task, repository=str(root), **unknown | fields)
    with closing(SessionStore(sessions_directory() / name)) as store:
        log = EventLog(store)
        for event in (started, *events):
            log.append(event)
    return sessions_directory() / name
