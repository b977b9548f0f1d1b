"""Notes that `hand_over` makes."""

from pathlib import Path

import pytest

from coder.core.notes import Diagnosis, Done, GiveUp, Note, Reproduction, Sites
from coder.tools.hand_over import build_note, hand_over
from tests.tools.fakes import call_refused_tool, call_tool, workspace


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
    assert build_note(arguments) == note
    assert call_tool(hand_over, workspace(tmp_path), **arguments) == f"Handed over: {kind}."


def test_names_missing_fields(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    assert call_refused_tool(hand_over, space, kind="done", summary="  ").startswith(
        "A note of kind 'done' needs a summary"
    )
    assert call_refused_tool(hand_over, space, kind="sites", summary="s").startswith(
        "A note of kind 'sites' needs places"
    )
    assert "kind: Input should be 'sites'" in call_refused_tool(hand_over, space, kind="victory", summary="s")


def test_reproduction_without_tests_says_so() -> None:
    assert build_note({"kind": "reproduction", "summary": "It is a typo.", "tests": ()}) == Reproduction(
        summary="It is a typo.", tests=()
    )


@pytest.mark.parametrize("kind", ["reproduction", "done", "diagnosis"])
def test_notes_keep_tests_that_are_not_about_the_issue(kind: str) -> None:
    note = build_note({"kind": kind, "summary": "s", "unrelated_tests": ["t.py::test_wording"]})
    assert isinstance(note, Reproduction | Done | Diagnosis)
    assert note.unrelated_tests == ("t.py::test_wording",)
