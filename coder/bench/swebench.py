"""Exchange with the `swebench` package (5.x): predictions out, results of its containers in."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from coder.bench.runner import Outcome
from coder.core.errors import UserError

PREDICTIONS = "predictions.jsonl"
LOGS = Path("logs", "run_evaluation")
"""Where swebench writes below its working directory: RUN/MODEL/INSTANCE/report.json."""


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


def judge_in_containers(directory: Path, rows: Path, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes with the judgement of swebench's own containers, where they gave one.

    Raises:
        UserError: swebench or Docker is missing here, or its evaluation failed.
    """
    if importlib.util.find_spec("swebench") is None:
        raise UserError("--containers needs the package swebench beside coder: pip install 'swebench>=5,<6'.")
    try:
        subprocess.run(["docker", "info"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise UserError("--containers needs Docker, and no Docker daemon answers here.") from None
    for file in write_predictions(directory, outcomes):
        command = [sys.executable, "-m", "swebench.harness.run_evaluation", "--dataset_name", str(rows)]
        command += ["--predictions_path", str(file.resolve()), "--run_id", file.stem]
        if subprocess.run(command, cwd=directory, check=False).returncode != 0:
            raise UserError(f"swebench could not evaluate {file}; what it printed stands above.")
    return [_with_container_result(directory, outcome) for outcome in outcomes]


def _with_container_result(directory: Path, outcome: Outcome) -> Outcome:
    name = _model_name(outcome).replace("/", "__")
    reports: Iterable[Path] = (directory / LOGS).glob(f"*/{name}/{outcome.job.task}/report.json")
    for report in reports:
        try:
            resolved = json.loads(report.read_text(encoding="utf-8"))[outcome.job.task]["resolved"]
        except (ValueError, KeyError):
            continue
        return outcome.model_copy(update={"passes_hidden": bool(resolved), "hidden_problem": ""})
    return outcome


def _model_name(outcome: Outcome) -> str:
    return f"coder-{outcome.job.strategy}-{outcome.job.model}"


def _file_part(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-._" else "-" for character in name)
