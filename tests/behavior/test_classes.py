"""Alternatives grouped by their answers to the same calls."""

from typing import Any

import pytest

from coder.behavior.comparison import CallAnswer, CallKey, group_by_answers
from coder.core.ports import AnswerClasses


def answers(**texts: str) -> dict[CallKey, CallAnswer]:
    """Return answers to `f(name)`, or to a variation of the tests' calls if the name begins with its kind."""
    found: dict[CallKey, CallAnswer] = {}
    for name, text in texts.items():
        kind: Any = name[:4] if name.startswith("near") else "far" if name.startswith("far") else "own"
        found[CallKey("a.py", "f", kind, f"f({name})")] = CallAnswer(text=text)
    return found


MANY = answers(**{f"x{count}": "1" for count in range(30)})


def test_equal_answers_are_one_class() -> None:
    found = group_by_answers([MANY | answers(y="2"), MANY | answers(y="3"), MANY | answers(y="2")])
    assert found == AnswerClasses(classes=((0, 2), (1,)), call="f(y)", answers=("2", "3"))
    assert group_by_answers([MANY] * 2) == AnswerClasses(classes=((0, 1),))


def test_equal_answers_to_few_inputs_say_little() -> None:
    assert group_by_answers([answers(x="1", y="2")] * 2).says_little
    one_call = answers(x="1", **{f"far{count}": "2" for count in range(30)})
    assert group_by_answers([one_call] * 2).says_little
    varied = answers(x="1", y="2", **{f"near{count}": "2" for count in range(6)})
    assert not group_by_answers([varied] * 2).says_little


@pytest.mark.parametrize(("text", "says_little"), [("<function g>", True), ("'<b>'", False)])
def test_equal_answers_that_hide_what_they_hold_say_little(text: str, says_little: bool) -> None:
    hidden = answers(**{f"x{count}": text for count in range(30)})
    assert group_by_answers([hidden] * 2).says_little is says_little


def test_call_that_reads_the_clock_tells_no_edits_apart() -> None:
    edits = [answers(x="1", y="2", now="7"), answers(x="1", y="3", now="8")]
    base = answers(x="0", y="0", now="6")
    found = group_by_answers(edits, base, answers(x="0", y="0", now="9"))
    assert (found.classes, found.call) == (((0,), (1,)), "f(y)")
    alike = [{**edit, **answers(y="2")} for edit in edits]
    assert group_by_answers(alike, base, answers(x="0", y="0", now="9")).classes == ((0, 1),)


def test_call_that_can_be_written_is_the_deciding_one() -> None:
    edits = [answers(**{"<Cart>": "1", "longer": "1"}), answers(**{"<Cart>": "2", "longer": "2"})]
    assert group_by_answers(edits).call == "f(longer)"


def test_counts_calls_that_are_answered_otherwise_than_before() -> None:
    edits = [answers(x="1", y="2", z="3"), answers(x="1", y="0", z="0")]
    assert group_by_answers(edits, answers(x="0", y="0", z="0")).changed == (3, 1)


def test_values_that_a_function_cannot_take_tell_nothing() -> None:
    errors = answers(x="1", far="raises TypeError: x"), answers(x="1", far="raises KeyError: y")
    assert group_by_answers(errors).classes == ((0, 1),)
    endless = answers(x="1", far="time-out"), answers(x="1", far="2")
    assert group_by_answers(endless).classes == ((0, 1),)


def test_alternative_without_answers_is_its_own_class() -> None:
    found = group_by_answers([answers(x="1"), {}, answers(x="2")])
    assert found == AnswerClasses(
        classes=((0,), (1,), (2,)), call="f(x)", answers=("1", "", "2"), says_little=True
    )
    assert group_by_answers([answers(x="1"), {}]).classes == ((0,), (1,))
