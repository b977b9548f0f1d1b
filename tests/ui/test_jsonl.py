import asyncio
import io
import json
from pathlib import Path

import pytest

from coder.core.events import Warned
from coder.session.log import EventLog, read_records
from coder.ui import jsonl

LOGS = sorted((Path(__file__).parent.parent / "logs").glob("format-*"))


def objects(log: Path) -> list[dict[str, object]]:
    out = io.StringIO()
    event_log = EventLog(records=read_records(log))
    event_log.close()
    asyncio.run(jsonl.write_records(event_log.follow(), out))
    return [json.loads(line) for line in out.getvalue().splitlines()]


def documented_fields() -> dict[str, set[str]]:
    """Return the fields of each event from the module's own documentation."""
    table = (
        (jsonl.__doc__ or "")
        .partition("fields:\n\n")[2]
        .partition("\n\n`verdict`")[0]
        .replace("\n          ", " ")
    )
    rows = (line.split(maxsplit=1) for line in table.splitlines())
    return {
        name: {"event", "at", *(field.strip() for field in fields.partition("(")[0].split(","))}
        for name, fields in rows
    }


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
def test_each_object_has_the_documented_fields_and_no_others(log: Path) -> None:
    fields = documented_fields()
    for public in objects(log):
        assert set(public) == fields[str(public["event"])]


def test_output_fits_any_encoding() -> None:
    out = io.StringIO()
    log = EventLog()
    log.append(Warned(text="sp\u00e4ter \u2026 \udcff"))
    log.close()
    asyncio.run(jsonl.write_records(log.follow(), out))
    assert out.getvalue().isascii()
    assert json.loads(out.getvalue())["text"] == "sp\u00e4ter \u2026 \udcff"
