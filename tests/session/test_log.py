import asyncio

from coder.core.events import Record, TextStreamed, ToolStreamed, Warned
from coder.session.log import EventLog
from tests.session.fakes import ticking_clock


def event_texts(records: list[Record]) -> list[tuple[int, str]]:
    return [(record.number, getattr(record.event, "text", "")) for record in records]


async def collect_records(log: EventLog, start: int = 1) -> list[Record]:
    return [record async for record in log.follow(start)]


async def test_late_watcher_sees_same_lasting_events() -> None:
    log = EventLog(clock=ticking_clock())
    early = asyncio.ensure_future(collect_records(log))
    await asyncio.sleep(0)
    log.append(Warned(text="a"))
    log.append(TextStreamed(candidate="c1", text="fleeting"))
    late = asyncio.ensure_future(collect_records(log))
    await asyncio.sleep(0)
    log.append(Warned(text="b"))
    log.close()
    assert event_texts(await early) == [(1, "a"), (1, "fleeting"), (2, "b")]
    assert event_texts(await late) == [(1, "a"), (2, "b")]


async def test_masks_live_command_output() -> None:
    log = EventLog(clock=ticking_clock())
    following = asyncio.ensure_future(collect_records(log))
    await asyncio.sleep(0)
    show = log.progress_listener("c1")
    for line in (
        "-----BEGIN PRIVATE KEY-----",
        "c2VzYW1lIG9wZW4=",
        "-----END PRIVATE KEY-----",
        "AKIAQ2W3E4R5T6Y7U5I6",
        "1 passed",
    ):
        show(line)
    await asyncio.sleep(0)
    log.close()
    assert [record.event.text for record in await following if isinstance(record.event, ToolStreamed)] == [
        *["[masked: private key]"] * 3,
        "[masked: AWS access key]",
        "1 passed",
    ]


async def test_threads_that_outlive_a_session_append_nothing() -> None:
    log = EventLog(clock=ticking_clock())
    warn = log.warning_callback()
    log.append(Warned(text="last"))
    log.close()
    warn("late")
    await asyncio.sleep(0)
    assert [record.event for record in log.records] == [Warned(text="last")]
