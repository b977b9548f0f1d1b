"""Due dates."""

from billing.months import add_months, weeks_later


def due_dates(start, count, *, every="month"):
    """The first `count` due dates of a subscription that begins at `start`."""
    if every == "month":
        return [add_months(start, number) for number in range(count)]
    if every == "year":
        return [add_months(start, 12 * number) for number in range(count)]
    if every == "week":
        return [weeks_later(start, number) for number in range(count)]
    raise ValueError(f"unknown period {every!r}")


def next_due(start, today, *, every="month"):
    """The first due date that is not before today."""
    count = 1
    while True:
        last = due_dates(start, count, every=every)[-1]
        if last >= today:
            return last
        count += 1
