from datetime import date
from decimal import Decimal

import pytest

from billing.invoices import owed
from billing.months import add_months
from billing.schedule import due_dates


@pytest.mark.parametrize(
    ("start", "months", "end"),
    [
        (date(2023, 1, 31), 1, date(2023, 2, 28)),
        (date(2024, 1, 31), 1, date(2024, 2, 29)),
        (date(2023, 3, 31), 1, date(2023, 4, 30)),
        (date(2023, 3, 31), -1, date(2023, 2, 28)),
        (date(2023, 5, 15), 1, date(2023, 6, 15)),
        (date(2023, 12, 31), 2, date(2024, 2, 29)),
    ],
)
def test_add_months(start, months, end):
    assert add_months(start, months) == end


def test_a_leap_day_every_year():
    assert due_dates(date(2024, 2, 29), 2, every="year")[1] == date(2025, 2, 28)


def test_owed():
    assert owed("10", date(2023, 1, 31), date(2023, 3, 1)) == Decimal(20)
