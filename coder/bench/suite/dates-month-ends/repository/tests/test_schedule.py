from datetime import date

import pytest

from billing.schedule import due_dates, next_due


def test_weeks():
    assert due_dates(date(2023, 1, 1), 2, every="week") == [date(2023, 1, 1), date(2023, 1, 8)]


def test_next_due():
    assert next_due(date(2023, 1, 10), date(2023, 2, 11)) == date(2023, 3, 10)


def test_unknown_period():
    with pytest.raises(ValueError):
        due_dates(date(2023, 1, 1), 1, every="moon")
