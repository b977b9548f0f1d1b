"""The event log: append numbers an event, follow yields every event from any point, old then new."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime

from coder.core.events import Event, Fleeting, Record, ToolStreamed, Warned
from coder.core.ports.sandbox import Progress
from coder.core.ports.store import Store
from coder.permissions.secrets import Secrets


def utc_now() -> datetime:
    return datetime.now(UTC)


class EventLog:
    """The whole truth of one session; to be used from one event loop, where each append is heard by every follower."""

    def __init__(
        self,
        store: Store | None = None,
        clock: Callable[[], datetime] = utc_now,
        records: Iterable[Record] = (),
        secrets: Secrets = Secrets(),  # noqa: B008 (a frozen value)
    ) -> None:
        """`secrets` are the person's own values, which no event ever holds."""
        self._store = store
        self._clock = clock
        self._secrets = secrets
        self._records = list(records)
        self._followers: list[asyncio.Queue[Record | None]] = []
        self._closed = False

    @property
    def records(self) -> list[Record]:
        """Every lasting record so far; not to be changed."""
        return self._records

    def append(self, event: Event) -> Record:
        """Number an event, store it unless it is fleeting, and pass it on."""
        event = self._secrets.out_of(event)
        fleeting = isinstance(event, Fleeting)
        record = Record(number=len(self._records) + (not fleeting), at=self._clock(), event=event)
        if not fleeting:
            self._records.append(record)
            if self._store is not None:
                self._store.append(record)
        for follower in self._followers:
            follower.put_nowait(record)
        return record

    def progress(self, candidate: str) -> Progress:
        """A listener for what runs in threads, which shows each line as a fleeting event of the candidate."""
        loop = asyncio.get_running_loop()
        masked = self._secrets.by_line()

        def show(line: str) -> None:
            if not loop.is_closed():  # a thread may outlive a stopped session for a moment
                loop.call_soon_threadsafe(self.append, ToolStreamed(candidate=candidate, text=masked(line)))

        return show

    def warner(self) -> Callable[[str], None]:
        """What to call from threads to have a warning logged."""
        loop = asyncio.get_running_loop()

        def warn(text: str) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.append, Warned(text=text))

        return warn

    def close(self) -> None:
        """Nothing more will come: followers end after what they have not seen yet."""
        self._closed = True
        for follower in self._followers:
            follower.put_nowait(None)

    async def follow(self, start: int = 1) -> AsyncIterator[Record]:
        """Yield every record from number `start` on, then what comes, until the log is closed."""
        fresh: asyncio.Queue[Record | None] = asyncio.Queue()
        old = self._records[start - 1 :]
        if self._closed:
            fresh.put_nowait(None)
        self._followers.append(fresh)
        try:
            for record in old:
                yield record
            while (record_or_end := await fresh.get()) is not None:
                yield record_or_end
        finally:
            self._followers.remove(fresh)
