from worklog.entries import parse
from worklog.periods import Period
from worklog.report import breaks, by_project, clock, render, worked

DAY = """
2026-03-02 09:00-10:30 billing prices with tax
2026-03-02 10:30-12:00 billing review
2026-03-02 13:00-17:00 search index
"""


def test_worked_counts_what_overlaps_once():
    entries = parse("2026-03-02 09:00-11:00 a\n2026-03-02 10:00-12:00 b\n")
    assert worked(entries) == 180


def test_entries_that_touch_have_no_break_between_them():
    assert breaks(parse(DAY)) == [Period(720, 780)]


def test_break_between_two_entries():
    entries = parse("2026-03-02 09:00-10:00 a\n2026-03-02 11:00-12:00 b\n")
    assert breaks(entries) == [Period(600, 660)]


def test_projects_by_time():
    assert by_project(parse(DAY)) == [("search", 240), ("billing", 180)]


def test_clock():
    assert clock(425) == "7:05"


def test_render():
    assert render(parse(DAY)).splitlines()[0] == "2026-03-02  worked 7:00, break 1:00"
