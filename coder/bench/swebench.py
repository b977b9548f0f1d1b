"""Predictions for the `swebench` package (5.x)."""

import json
from collections.abc import Sequence
from pathlib import Path

from coder.bench.runner import Outcome

PREDICTIONS = "predictions.jsonl"


def write_predictions(directory: Path, outcomes: Sequence[Outcome]) -> list[Path]:
    """Write the changes of each strategy and model as `swebench` evaluates them, and return the files.

    A file holds one change an instance, that of the first seed; if there is one strategy and model, it is
    predictions.jsonl.
    """
    groups: dict[str, dict[str, Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.job.seed):
        groups.setdefault(_model_name(outcome), {}).setdefault(outcome.job.task, outcome)
    files = []
    for name, by_instance in sorted(groups.items()):
        file = directory / (PREDICTIONS if len(groups) == 1 else f"predictions-{_file_part(name)}.jsonl")
        lines = (
            json.dumps({"instance_id": instance, "model_name_or_path": name, "model_patch": outcome.diff})
            for instance, outcome in sorted(by_instance.items())
        )
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files.append(file)
    return files


def _model_name(outcome: Outcome) -> str:
    return f"coder-{outcome.job.strategy}-{outcome.job.model}"


def _file_part(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-._" else "-" for character in name)
