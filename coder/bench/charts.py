"""Scatter plots as inline SVG."""

import math
from collections.abc import Sequence
from html import escape

from coder.core.values.base import Value

WIDTH, HEIGHT = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 48, 14, 14, 44
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999")
"""Distinguishable with any colour vision (M. Okabe, K. Ito)."""
MARK_DISTANCE = 12.0
"""Least distance of two marks in SVG units, so that none hides another."""


class Point(Value):
    """Result of one strategy with one model."""

    label: str
    x: float
    y: float
    """Share from 0 to 1, with its interval `low` to `high`."""
    low: float
    high: float


def series_colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def scatter_plot(points: Sequence[Point], *, across: str, up: str) -> str:
    """Return a scatter plot with intervals; the x axis begins at 0, and overlapping marks are moved apart."""
    ticks = _ticks(max((point.x for point in points), default=0.0))
    places = _spread_overlaps([_x(point.x, ticks[-1]) for point in points])
    parts = [
        *_frame(across, up, ticks),
        *(_mark(point, number, places[number]) for number, point in enumerate(points)),
    ]
    name = escape(f"{up} against {across}", quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">{"".join(parts)}</svg>'


def _ticks(maximum: float) -> list[float]:
    """Return up to six round numbers from 0 to just beyond the largest value."""
    if maximum <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(maximum / 5))
    step = next(step * power for step in (1, 2, 5, 10) if step * power * 5 >= maximum)
    return [number * step for number in range(math.ceil(maximum / step) + 1)]


def _spread_overlaps(places: Sequence[float]) -> list[float]:
    """Return the positions in their order, with those too close to each other spread around their mean."""
    groups: list[list[int]] = []
    for number in sorted(range(len(places)), key=places.__getitem__):
        groups.append([number])
        while (
            len(groups) > 1
            and _spread(groups[-1], places)[0] - _spread(groups[-2], places)[-1] < MARK_DISTANCE
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    positions = {
        number: position
        for group in groups
        for number, position in zip(group, _spread(group, places), strict=True)
    }
    return [positions[number] for number in range(len(places))]


def _spread(group: Sequence[int], places: Sequence[float]) -> list[float]:
    middle = sum(places[number] for number in group) / len(group)
    return [middle + (rank - (len(group) - 1) / 2) * MARK_DISTANCE for rank in range(len(group))]


def _x(value: float, maximum: float) -> float:
    return LEFT + value / maximum * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _frame(across: str, up: str, ticks: Sequence[float]) -> list[str]:
    parts = []
    for quarter in range(5):
        share = quarter / 4
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(share):.1f}" y2="{_y(share):.1f}"/>'
        )
        parts.append(
            f'<text x="{LEFT - 6}" y="{_y(share) + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>'
        )
    for value in ticks:
        parts.append(
            f'<text x="{_x(value, ticks[-1]):.1f}" y="{HEIGHT - BOTTOM + 16}" '
            f'text-anchor="middle">{value:g}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" '
        f'text-anchor="middle">{escape(across)}</text>'
    )
    parts.append(f"<title>{escape(up)} against {escape(across)}</title>")
    return parts


def _mark(point: Point, number: int, x: float) -> str:
    shade = series_colour(number)
    title = (
        f"{point.label}: {100 * point.y:.0f} % ({100 * point.low:.0f} to {100 * point.high:.0f}), "
        f"{point.x:.4g}"
    )
    return (
        f"<g><title>{escape(title)}</title>"
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(point.low):.1f}" y2="{_y(point.high):.1f}" '
        f'stroke="{shade}" stroke-width="2"/>'
        f'<circle cx="{x:.1f}" cy="{_y(point.y):.1f}" r="5" fill="{shade}"/></g>'
    )
