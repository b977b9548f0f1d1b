from datetime import date

from billing.months import add_months, month_length


def test_month_length():
    assert month_length(2024, 2) == 29


def test_across_the_year():
    assert add_months(date(2023, 11, 15), 3) == date(2024, 2, 15)


def test_back():
    assert add_months(date(2023, 1, 15), -1) == date(2022, 12, 15)
