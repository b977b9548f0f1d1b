"""Table of a run, and files about its failures."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.patching.rivals import GIT, OURS
from benchmarks.patching.trial import Result

OUTCOMES = ("exact", "wrong", "refused", "dirty")
WIDTH = 21


def format_table(results: Sequence[Result], *, without: int) -> str:
    """Return one line for each kind of damage, pairs and negatives in groups, then shares and times."""
    names = list(results[0].outcomes) if results else []
    groups = {
        "one damage": [
            result for result in results if len(result.spec.damages) == 1 and not result.spec.negative
        ],
        "two damages, by each": [
            result for result in results if len(result.spec.damages) == 2 and not result.spec.negative
        ],
        "to be refused": [result for result in results if result.spec.negative],
    }
    lines = [_row("", "n", names), _row("", "", ["exact wrong refu. dirty"] * len(names))]
    for title, group in groups.items():
        lines.append(f"-- {title}")
        kinds = {
            kind
            for result in group
            for kind in ([result.spec.negative] if result.spec.negative else result.spec.damages)
        }
        for kind in sorted(kinds):
            chosen = [result for result in group if kind in (result.spec.negative, *result.spec.damages)]
            lines.append(_row(kind, str(len(chosen)), [_counts(chosen, name) for name in names]))
        lines.append(
            _row(f"all: {title.partition(',')[0]}", str(len(group)), [_counts(group, name) for name in names])
        )
    draws = sum(result.draws for result in results)
    lines.append(f"\n{len(results)} diffs out of {draws} drawn commits; for {without} no commit was found")
    return "\n".join([*lines, *_shares(results, names), *_times(results, names)])


def save_failures(results: Sequence[Result], directory: Path) -> None:
    """Write our failures, the wrong before the refused, as `<kind>-<n>.md`, and remove earlier files."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.glob("*.md"):
        path.unlink()
    numbers: Counter[str] = Counter()
    for result in sorted(
        (result for result in results if result.report), key=lambda result: result.outcomes[OURS] != "wrong"
    ):
        kind = re.sub(r"[^\w+]+", "-", result.spec.name)
        numbers[kind] += 1
        mark = "" if result.outcomes[OURS] == "refused" else f"{result.outcomes[OURS].upper()}-"
        (directory / f"{mark}{kind}-{numbers[kind]}.md").write_text(result.report, encoding="utf-8")


def _row(kind: str, number: str, cells: Sequence[str]) -> str:
    return f"{kind:<40} {number:>4} | " + " | ".join(f"{cell:^23}" for cell in cells)


def _counts(results: Sequence[Result], name: str) -> str:
    counts = Counter(result.outcomes[name] for result in results)
    return " ".join(f"{counts[outcome] or '.':>5}" for outcome in OUTCOMES)


def _shares(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    positive = [result for result in results if not result.spec.negative]
    negative = [result for result in results if result.spec.negative]
    lines = []
    for name in names:
        exact = sum(result.outcomes[name] == "exact" for result in positive) / max(1, len(positive))
        refused = sum(result.outcomes[name] == "refused" for result in negative) / max(1, len(negative))
        wrong, dirty = (
            sum(result.outcomes[name] == outcome for result in results) for outcome in ("wrong", "dirty")
        )
        lines.append(
            f"{name:<16} exact {exact:7.2%} of the certain, refused {refused:7.2%} of the "
            f"negatives, wrong {wrong}, dirty {dirty}"
        )
    return lines


def _times(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """Return one line for each applier; ours is called in this process, as the tool is; the others are
    processes, except whatthepatch.
    """
    times = {
        name: median(result.seconds[name] for result in results) * 1000 if results else 0.0 for name in names
    }
    git = times.get(GIT, 0.0) or 1.0
    return [
        f"{name:<16} {milliseconds:7.2f} ms a patch (median), {milliseconds / git:5.2f} x git apply"
        for name, milliseconds in times.items()
    ]
