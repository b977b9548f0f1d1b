"""Event log of a session: `append` numbers an event, `follow` yields past and future events in order."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from coder.core import events
from coder.core.ports import Progress, RunListener, Store
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
        self._records = list(records)
        self._followers: list[asyncio.Queue[events.Record | None]] = []
        self._closed = False

    @property
    def records(self) -> list[events.Record]:
        """All lasting records so far; not to be changed by callers."""
        return self._records

    @property
    def is_closed(self) -> bool:
        """Whether nothing will be appended any more."""
        return self._closed

    def append(self, event: events.Event) -> events.Record:
        """Give an event its number, store it unless it is fleeting, and pass it to the followers."""
        event = self._secrets.mask_value(event)
        is_fleeting = isinstance(event, events.TransientEvent)
        record = events.Record(number=len(self._records) + (not is_fleeting), at=self._clock(), event=event)
        if not is_fleeting:
            self._records.append(record)
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
        past_records = self._records[start - 1 :]
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
