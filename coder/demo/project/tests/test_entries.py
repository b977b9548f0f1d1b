from datetime import date

import pytest

from worklog.entries import Entry, EntryError, minutes, parse, parse_line
from worklog.periods import Period


def test_a_line_is_an_entry():
    entry = parse_line("2026-03-02 09:00-10:30 billing prices with tax")
    assert entry == Entry(date(2026, 3, 2), Period(540, 630), "billing", "prices with tax")


def test_the_text_may_be_missing():
    assert parse_line("2026-03-02 09:00-10:30 billing").text == ""


def test_entries_are_sorted_and_comments_skipped():
    log = "# march\n2026-03-03 09:00-10:00 a\n\n2026-03-02 09:00-10:00 b\n"
    assert [entry.project for entry in parse(log)] == ["b", "a"]


@pytest.mark.parametrize("line", ["2026-03-02 09:00", "2026-13-02 09:00-10:00 a", "2026-03-02 10:00-09:00 a", "2026-03-02 0900-1000 a"])
def test_anything_else_is_an_error(line):
    with pytest.raises(EntryError, match="line 7"):
        parse_line(line, 7)


def test_minutes():
    assert minutes("00:00") == 0
    assert minutes("17:05") == 1025
