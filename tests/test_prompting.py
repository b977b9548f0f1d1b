from pathlib import Path
from typing import Any

import jinja2
import pytest

from coder.core.events import Attachment, Diagnosed, Source, Task
from coder.core.notes import (
    CheckedClaim,
    Component,
    Findings,
    Plan,
    ResearchResult,
    ReviewFinding,
    Step,
    Subtopic,
)
from coder.core.plan import format_plan
from coder.core.values import EDIT, Image, Proposal, Proposals, Suspect
from coder.core.verdict import (
    Failure,
    ReproductionResult,
    RunProblem,
    TestReport,
    TestResult,
    Verdict,
    VerdictKind,
)
from coder.session.continuation import Continuation
from coder.session.phase import render_prompt

RED = TestResult(
    id="tests/test_a.py::test_a",
    outcome="failed",
    failure=Failure(type="AssertionError", message="assert 1 == 2\nmore"),
)
OFFLINE = RED.model_copy(update={"id": "tests/test_a.py::test_b", "denied": "network"})
TASK = Task(issue="It is wrong.", directory=Path("repository"))
ASKED = TASK.model_copy(
    update={"sources": (Source(path="coder-sources/spec.md", origin="the document spec.md"),)}
)
TOPIC = Subtopic(title="the tests", question="Which tests are there?")
FOUND = ResearchResult(
    summary="One.",
    claims=(CheckedClaim(text="`f` is called", places=("a.py:3",), problem="the lines say nothing of it"),),
    open_questions=("Why?",),
    dropped=(CheckedClaim(text="`g` is called", places=("a.py:99",), problem="no such place"),),
)
PLAN = Plan(
    summary="The sign goes.",
    steps=(
        Step(intent="A test shows it.", files=("tests/test_a.py",), check="tests/test_a.py::test_a"),
        Step(intent="It is gone."),
    ),
)
COMPONENTS = Plan(
    summary="It counts words.",
    components=(
        Component(
            name="words", purpose="Splits text.", path="tally/words.py", tests=("tests/test_words.py",)
        ),
        Component(
            name="counts",
            purpose="Counts words.",
            path="tally/counts.py",
            api=("def count(text: str) -> dict[str, int]",),
            dependencies=("words",),
            tests=("tests/test_counts.py",),
        ),
    ),
)
FINDING = ReviewFinding(severity="major", path="a.py", line=3, text="It fails for an empty list.")
NOTED = Verdict(
    kind=VerdictKind.PASSING,
    reason="No test went from red to green.",
    notes=("test_a fails as before: assert 1 == 2",),
)
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-x\n+y\n"
HINTS = Proposals(
    suspects=(Suspect(place="a.py::f", line=2, score=1.0),),
    proposals=(
        Proposal(diff=DIFF, summary="f: y for x", place="a.py::f", answer="2"),
        Proposal(diff=DIFF.replace("+y", "+z"), summary="f: z for x", place="a.py::f", answer="3"),
    ),
    call="f(1)",
)
CASES: dict[str, dict[str, Any]] = {
    "task": {
        "task": TASK,
        "report": TestReport(command="pytest", results=(RED, OFFLINE)),
        "reds": (RED,),
        "examples": ("`value()` gives 1",),
        "look": "Layout: 2 files",
        "instructions": "Be kind.",
        "hints": HINTS,
    },
    "tests_before": {
        "task": TASK,
        "report": TestReport(
            command="pytest",
            results=(RED,),
            problem=RunProblem(kind="timeout", text="The tests did not end within 10 s."),
        ),
        "reds": (RED,),
    },
    "instructions": {
        "own": "Answer briefly.",
        "files": {"AGENTS.md": "Be kind.", "api/CLAUDE.md": "Be brief."},
        "nested": ["web/AGENTS.md", "docs/GEMINI.md"],
        "skills": [{"name": "pdf", "description": "Use it for PDF files."}],
        "omitted": ["tables", "slides"],
    },
    "issue": {"task": TASK.model_copy(update={"origin": "https://forge.example/ada/clock/issues/7"})},
    "follow_up": {
        "task": TASK.model_copy(update={"mode": "change"}),
        "earlier": Continuation(session="s", commit="c", is_mixed=True),
        "look": "Layout: 2 files",
    },
    "attachments": {
        "task": TASK.model_copy(
            update={
                "attachments": (
                    Attachment(name="a.py (1 line)", text="    1| x = 1"),
                    Attachment(
                        name="shot.png (image, 12 kB)",
                        text="",
                        image=Image(name="shot.png", media_type="image/png", base64="eA=="),
                    ),
                )
            }
        )
    },
    "compacted": {
        "facts": {
            "requests": ("The first request",),
            "remarks": ("keep the signature",),
            "plan": "## The plan\nCount the rest",
            "findings": ("diagnose: the rest is lost",),
            "changed": ("clock.py",),
            "verdicts": ("NOT FIXED: test_a is still red",),
            "calls": ('read {"path": "clock.py"}',),
        }
    },
    "question": {"task": ASKED, "instructions": "", "known": (FOUND,), "look": "Layout: 2 files"},
    "sources": {"task": ASKED},
    "research_findings": {"results": (FOUND,)},
    "research_plan": {
        "earlier": Continuation(session="s", question="And before?", answer="Two."),
        "task": ASKED,
        "instructions": "Be kind.",
        "known": (FOUND,),
        "look": "Layout: 2 files",
    },
    "research": {"task": ASKED, "topic": TOPIC, "gap": "The tests are missing.", "look": "Layout: 2 files"},
    "evaluate": {"task": ASKED, "results": (FOUND,), "unanswered": (TOPIC,)},
    "synthesize": {"task": ASKED, "results": (FOUND,), "evaluation": "Complete."},
    "reproduce": {"reds": (RED,)},
    "not_reproduced": {
        "found": ReproductionResult(rejected=("tests/test_b.py::test_b: passes already",)),
        "source": True,
        "tests_changed": True,
        "judged": (NOTED,),
    },
    "edit": {"reproduction": None, "changed": True},
    "diagnose": {
        "explanation": "It is still red.",
        "left": 1,
        "found": (
            Diagnosed(
                candidate="c1",
                signature="ValueError in a.py, f",
                tests=("t",),
                cause="logic",
                attempts=2,
                was="test error",
            ),
            Diagnosed(
                candidate="c1", signature="KeyError in b.py, g", tests=("u",), cause="logic", attempts=3
            ),
        ),
        "places": ("a.py:3",),
        "asked": 1,
        "kept": True,
    },
    "wandering": {"phase": EDIT},
    "objection": {"failed": None, "faults": ["a.py:3: undefined name 'x'"]},
    "approach": {"aside": ["a.py"], "failed": "It is still red.", "approach": "look at the callers."},
    "siblings": {"traces": ["The sign was changed: 1 test is red."]},
    "plan_given": {"plan": format_plan(PLAN)},
    "step": {"plan": PLAN, "step": PLAN.steps[0], "failed": "Its check fails."},
    "step_result": {
        "step": PLAN.steps[0],
        "rest": PLAN.steps[1:],
        "failed": "Its check fails.",
        "checked": "",
        "diff": "+x",
        "beside": ["b.py"],
        "left": 2,
    },
    "review": {
        "brief": "Tests.",
        "task": TASK,
        "diff": "+x",
        "verdict": Verdict(
            kind=VerdictKind.PROVEN, reason="1 test went from red to green.", notes=("a note",)
        ),
        "around": "a.py\n    1| x",
        "paths": ("a.py",),
        "failure": "",
    },
    "review_behavior": {
        "issue": "It is wrong.",
        "diff": "a.py\n+x",
        "rows": "ordinal(31)  '31st' → '31th'  not tested",
    },
    "repair_flagged": {"findings": (FINDING,)},
    "passing": {
        "verdict": Verdict(kind=VerdictKind.PASSING, reason="1 test went from red to green."),
        "missing": ("the tests are tied to nothing in the issue",),
    },
    "start_over": {"diff": DIFF, "tests": True},
    "advice": {"advice": Findings(summary="The sign is lost earlier.", approve=False, findings=(FINDING,))},
    "reminder": {"phase": EDIT, "finish": "length", "text": "I think"},
    "build_plan": {
        "task": TASK.model_copy(update={"single_file": True}),
        "instructions": "Be kind.",
        "look": "Layout: 2 files",
    },
    "component": {
        "task": TASK,
        "plan": format_plan(COMPONENTS),
        "component": COMPONENTS.components[1],
        "instructions": "",
        "look": "",
    },
    "component_missing": {"component": COMPONENTS.components[0]},
    "component_flagged": {"component": COMPONENTS.components[0], "findings": (FINDING,)},
    "review_components": {"task": TASK, "plan": format_plan(COMPONENTS), "sources": "a.py\n    1| x"},
    "built": {"task": TASK, "plan": format_plan(COMPONENTS)},
    "attempts_left": {"left": 2, "passes": True},
    "give_up": {"failed": "NOT FIXED: 1 test not green"},
}
"""The values of each prompt that has any."""
PROMPTS = Path(__file__).parents[1] / "prompts"
SNAPSHOTS = Path(__file__).parent / "prompts"


@pytest.mark.parametrize("name", sorted(path.stem for path in PROMPTS.glob("*.md")))
def test_prompt_matches_snapshot(name: str) -> None:
    """To review a change: delete its file in tests/prompts, run this once, and read the diff."""
    text = render_prompt(name, **CASES.get(name, {})) + "\n"
    snapshot = SNAPSHOTS / f"{name}.md"
    if not snapshot.exists():
        snapshot.write_text(text, encoding="utf-8")
        pytest.fail(f"{snapshot.name} is new: review it and run again")
    assert text == snapshot.read_text(encoding="utf-8")


def test_every_snapshot_has_prompt() -> None:
    left = {path.stem for path in SNAPSHOTS.glob("*.md")} - {path.stem for path in PROMPTS.glob("*.md")}
    assert left == {"README"}


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render_prompt("edit")
