"""Periods of a day, in minutes since midnight."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Period:
    """From a minute up to, but not including, another."""

    start: int
    end: int

    @property
    def length(self):
        return self.end - self.start


def merge(periods):
    """Stretches without a pause: what overlaps or touches becomes one."""
    stretches = []
    for period in sorted(periods):
        if stretches and period.start < stretches[-1].end:
            last = stretches.pop()
            stretches.append(Period(last.start, max(last.end, period.end)))
        else:
            stretches.append(period)
    return stretches


def gaps(periods):
    """What lies between the stretches."""
    stretches = merge(periods)
    return [Period(before.end, after.start) for before, after in zip(stretches, stretches[1:])]
