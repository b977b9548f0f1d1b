"""Results of strategies on the bugs that a repository had, from which `auto` learns."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from coder.core.values import Value
from coder.directories import index_database
from coder.files.regular_files import replace_text

LEAST_TASKS = 5
"""Fewer bugs say nothing of a strategy."""


class StrategyResult(Value):
    strategy: str
    model: str
    solved: int
    of: int
    usd: float | None = None
    """Mean cost of a run; None if it is not known."""


_RESULTS = TypeAdapter(tuple[StrategyResult, ...])


def write_results(root: Path, results: Sequence[StrategyResult]) -> None:
    """Store results of a repository, in place of older ones of the same strategies and models."""
    new = {(result.strategy, result.model): result for result in results}
    kept = {(result.strategy, result.model): result for result in read_results(root)}
    file = _results_file(root)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, json.dumps([result.model_dump() for result in {**kept, **new}.values()]))


def read_results(root: Path) -> tuple[StrategyResult, ...]:
    """Return the stored results of a repository; none if there are none that can be read."""
    try:
        return _RESULTS.validate_json(_results_file(root).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return ()


def best_strategy(root: Path, model: str) -> StrategyResult | None:
    """Return the strategy that solved most with a model, the cheapest of equal ones.

    None if no two strategies were tried on enough bugs, or none solved any.
    """
    known = [
        result
        for result in read_results(root)
        if result.model == model and result.of >= LEAST_TASKS and result.strategy != "auto"
    ]
    if len(known) < 2:
        return None
    best = max(known, key=lambda result: (result.solved / result.of, -(result.usd or 0.0)))
    return best if best.solved else None


def _results_file(root: Path) -> Path:
    return index_database(root).with_suffix(".strategies.json")
