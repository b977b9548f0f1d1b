"""Measures of the answers of an edit."""

from coder.core.ports.repair import Compared
from coder.repair.ranking.answers import changed, contradicting, levelled, stumbling

CALLS = ("same(1)", "same(2)", "same(3)", "main(0)")
COMPARISON = Compared(calls=CALLS, before=("True", "False", "False", "0\tlist[]\t'a'"))


def test_an_answer_may_differ_in_some_of_its_parts() -> None:
    assert changed(("True", "False", "False", "0\tlist[]\t'a'"), COMPARISON) == 0.0
    assert changed(("True", "False", "False", "1\tlist[]\t'a'"), COMPARISON) == 1 / 12
    assert changed(("True", "False", "False", "raises OSError"), COMPARISON) == 1 / 4
    assert changed((), COMPARISON) == 0.0


def test_distinguishes_accidental_from_deliberate_exceptions() -> None:
    assert stumbling(("raises IndexError", "raises ValueError", "raises TypeError\t'printed'", "1")) == 0.5


def test_detects_function_with_single_answer() -> None:
    assert levelled(("True", "True", "True", "0"), COMPARISON)
    assert not levelled(("True", "True", "False", "0"), COMPARISON)
    assert not levelled(("True", "False", "False", "1"), COMPARISON), "one call tells nothing"
    assert not levelled((), COMPARISON)


def test_accepts_function_that_returns_its_argument() -> None:
    comparison = Compared(
        calls=("get(key=1, default=0)", "get(key=2, default=0)", "get(key=3, default=0)"),
        before=("1", "2", "0"),
    )
    assert not levelled(("0", "0", "0"), comparison)
    assert levelled(("7", "7", "7"), comparison)


def test_ignores_accidental_exceptions_as_distinct_answers() -> None:
    comparison = Compared(calls=("f(1)", "f(2)", "f(3)"), before=("list[A]", "raises TypeError", "list[A]"))
    assert not levelled(("list[A]",) * 3, comparison)


def test_counts_documentation_examples_as_contradictions_only() -> None:
    comparison = Compared(
        calls=("f(1)", ">>> a.f", ">>> a.g"), before=("1", "1 of 2 otherwise", "as documented")
    )
    assert changed(("1", "as documented", "as documented"), comparison) == 0.0
    assert contradicting(("1", "as documented", "as documented"), comparison) == 0.0
    assert contradicting(comparison.before, comparison) == 0.5
    assert contradicting(("1",), Compared(calls=("f(1)",), before=("1",))) == 0.0
