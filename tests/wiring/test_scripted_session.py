"""Scripts for every strategy."""

from importlib.resources import files
from pathlib import Path

import pytest

from coder.bench.suites import SuiteTask, load_suite
from coder.core.errors import UserError
from coder.models.scripted import load_script as steps
from coder.settings import Config
from coder.strategies.tree import APPROACHES
from coder.wiring.session import scripted_approach


def test_model_without_script_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to say"):
        scripted_approach(tmp_path / "script.jsonl", Config())


@pytest.mark.parametrize(
    "task", [task for task in load_suite("starter") if task.facts.solvable], ids=lambda task: task.name
)
def test_starter_script_answers_planners_and_reviewers(task: SuiteTask) -> None:
    texts = (path for path in files("coder.prompts").iterdir() if path.name.endswith(".md"))
    prompts = [*(path.read_text(encoding="utf-8") for path in texts), *APPROACHES]
    conditions = [step.when for step in steps(task.script) if step.when]
    assert {"You change nothing yourself.", "Correctness and edge cases.", "Tests and overfitting."} <= {
        *conditions
    }
    assert [words for words in conditions if not any(words in text for text in prompts)] == []
