from pathlib import Path
from typing import Any

import jinja2
import pytest

from coder.core.phases import EDIT
from coder.core.task import Task
from coder.core.verdict import Failure, Reproduced, TestReport, TestResult
from coder.prompting import PackagedPrompts

RED = TestResult(id="tests/test_a.py::test_a", outcome="failed", failure=Failure(type="AssertionError", message="assert 1 == 2\nmore"))
TASK = Task(issue="It is wrong.", directory=Path("repository"))
CASES: dict[str, dict[str, Any]] = {
    "system": {},
    "task": {
        "task": TASK,
        "report": TestReport(command="pytest", results=(RED,)),
        "reds": (RED,),
        "look": "Layout: 2 files",
        "instructions": "Be kind.",
    },
    "reproduce": {"reds": (RED,)},
    "not_reproduced": {"found": Reproduced(rejected=("tests/test_b.py::test_b: passes already",)), "source": True, "tests_changed": True},
    "edit": {"reproduction": None},
    "diagnose": {"explanation": "It is still red.", "left": 1},
    "repair": {},
    "reminder": {"phase": EDIT, "finish": "length", "text": "I think"},
    "give_up": {},
}
SNAPSHOTS = Path(__file__).parent / "prompts"


@pytest.mark.parametrize("name", CASES)
def test_a_prompt_reads_as_it_did_when_it_was_last_reviewed(name: str) -> None:
    """To review a change: delete its file in tests/prompts, run this once, and look at the diff."""
    text = PackagedPrompts().render(name, **CASES[name]) + "\n"
    snapshot = SNAPSHOTS / f"{name}.md"
    if not snapshot.exists():
        snapshot.write_text(text, encoding="utf-8")
        pytest.fail(f"{snapshot.name} is new: review it and run again")
    assert text == snapshot.read_text(encoding="utf-8")


def test_every_prompt_is_reviewed() -> None:
    prompts = Path(__file__).parent.parent / "prompts"
    assert {path.stem for path in prompts.glob("*.md")} == set(CASES)


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        PackagedPrompts().render("edit")
