"""Reports on entries: totals and breaks, by day and by project."""

from collections import defaultdict

from worklog.periods import gaps, merge


def by_day(entries):
    """Entries of each day, in order."""
    days = defaultdict(list)
    for entry in entries:
        days[entry.day].append(entry)
    return dict(sorted(days.items()))


def worked(entries):
    """Minutes worked, counting what overlaps once."""
    return sum(stretch.length for stretch in merge(entry.period for entry in entries))


def breaks(entries):
    """Pauses between entries of one day."""
    return gaps([entry.period for entry in entries])


def by_project(entries):
    """Minutes of each project, most first."""
    totals = defaultdict(int)
    for entry in entries:
        totals[entry.project] += entry.period.length
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))


def clock(minutes):
    """Minutes as hours and minutes, such as 7:05."""
    return f"{minutes // 60}:{minutes % 60:02d}"


def render(entries):
    """The whole report as text."""
    lines = []
    for day, todays in by_day(entries).items():
        pause = sum(gap.length for gap in breaks(todays))
        lines.append(f"{day}  worked {clock(worked(todays))}, break {clock(pause)}")
        width = max(len(entry.project) for entry in todays)
        lines += [f"    {project:<{width}}  {clock(total)}" for project, total in by_project(todays)]
    return "\n".join(lines)
