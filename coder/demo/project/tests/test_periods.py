from worklog.periods import Period, gaps, merge


def test_what_overlaps_becomes_one():
    assert merge([Period(9, 12), Period(10, 14)]) == [Period(9, 14)]


def test_what_is_inside_disappears():
    assert merge([Period(9, 17), Period(10, 11)]) == [Period(9, 17)]


def test_what_is_apart_stays_apart():
    assert merge([Period(13, 14), Period(9, 10)]) == [Period(9, 10), Period(13, 14)]


def test_gaps_lie_between():
    assert gaps([Period(12, 13), Period(9, 10)]) == [Period(10, 12)]


def test_one_period_has_no_gaps():
    assert gaps([Period(9, 10)]) == []
    assert gaps([]) == []
