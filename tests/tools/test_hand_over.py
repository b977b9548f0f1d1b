"""Notes that `hand_over` returns."""

from pathlib import Path

import pytest

from coder.core.notes import Diagnosis, Done, GiveUp, Note, Reproduction, Sites
from coder.tools.hand_over import (
    hand_over,
    hand_over_components,
    hand_over_plan,
    hand_over_report,
    hand_over_research,
    hand_over_research_plan,
)
from coder.tools.tool import Tool
from tests.tools.fakes import call_refused_tool, make_note, workspace


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        ("sites", Sites(summary="s", places=("a.py:3",), tests=("t.py::test_a",))),
        ("reproduction", Reproduction(summary="s", tests=("t.py::test_a",))),
        ("done", Done(summary="s")),
        ("diagnosis", Diagnosis(summary="s", places=("a.py:3",))),
        ("give_up", GiveUp(summary="s", places=("a.py:3",))),
    ],
)
def test_each_kind_makes_its_note(kind: str, note: Note, tmp_path: Path) -> None:
    arguments = {"kind": kind, "summary": " s\n", "places": ["a.py:3"], "tests": ["t.py::test_a"]}
    assert make_note(hand_over, workspace(tmp_path), **arguments) == note


@pytest.mark.parametrize(
    "form", [hand_over, hand_over_plan, hand_over_components, hand_over_research, hand_over_research_plan]
)
def test_each_form_gives_up(form: Tool, tmp_path: Path) -> None:
    note = make_note(form, workspace(tmp_path), kind="give_up", summary="Nothing here.")
    assert note == GiveUp(summary="Nothing here.")


def test_names_missing_fields(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    fault = call_refused_tool(hand_over, space, kind="done", summary="  ")
    assert "summary: String should have at least 1 character" in fault
    assert call_refused_tool(hand_over, space, kind="sites", summary="s").startswith(
        "A note of kind 'sites' needs places"
    )
    assert "kind: Input should be 'sites'" in call_refused_tool(hand_over, space, kind="victory", summary="s")
    report = {"kind": "report", "answer": "a", "findings": [], "details": ""}
    assert "findings: Tuple should have at least 1 item" in call_refused_tool(
        hand_over_report, space, **report
    )


@pytest.mark.parametrize("kind", ["reproduction", "done", "diagnosis"])
def test_notes_keep_tests_that_are_not_about_the_issue(kind: str, tmp_path: Path) -> None:
    arguments = {"kind": kind, "summary": "s", "unrelated_tests": ["t.py::test_wording"]}
    note = make_note(hand_over, workspace(tmp_path), **arguments)
    assert isinstance(note, Reproduction | Done | Diagnosis)
    assert note.unrelated_tests == ("t.py::test_wording",)
