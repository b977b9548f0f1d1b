"""Arithmetic with months."""

import calendar
from datetime import date, timedelta


def month_length(year, month):
    """How many days a month has."""
    return calendar.monthrange(year, month)[1]


def add_months(day, months):
    """The same day some months later; the last day of a month that is too short for it."""
    years, index = divmod(day.month - 1 + months, 12)
    year, month = day.year + years, index + 1
    return date(year, month, 1) + timedelta(days=day.day - 1)


def weeks_later(day, weeks):
    return day + timedelta(weeks=weeks)
