"""Measures of the answers of an edit."""

from coder.core.ports import CallComparison
from coder.repair.clusters import changed_share, contradiction_share, is_degenerate

CALLS = ("same(1)", "same(2)", "same(3)", "main(0)")
COMPARISON = CallComparison(calls=CALLS, before=("True", "False", "False", "0\tlist[]\t'a'"))


def test_an_answer_may_differ_in_some_of_its_parts() -> None:
    assert changed_share(("True", "False", "False", "0\tlist[]\t'a'"), COMPARISON) == 0.0
    assert changed_share(("True", "False", "False", "1\tlist[]\t'a'"), COMPARISON) == 1 / 12
    assert changed_share(("True", "False", "False", "raises OSError"), COMPARISON) == 1 / 4
    assert changed_share((), COMPARISON) == 0.0


def test_detects_function_with_single_answer() -> None:
    assert is_degenerate(("True", "True", "True", "0"), COMPARISON)
    assert not is_degenerate(("True", "True", "False", "0"), COMPARISON)
    assert not is_degenerate(("True", "False", "False", "1"), COMPARISON), "one call tells nothing"
    assert not is_degenerate((), COMPARISON)


def test_accepts_function_that_returns_its_argument() -> None:
    comparison = CallComparison(
        calls=("get(key=1, default=0)", "get(key=2, default=0)", "get(key=3, default=0)"),
        before=("1", "2", "0"),
    )
    assert not is_degenerate(("0", "0", "0"), comparison)
    assert is_degenerate(("7", "7", "7"), comparison)


def test_ignores_accidental_exceptions_as_distinct_answers() -> None:
    comparison = CallComparison(
        calls=("f(1)", "f(2)", "f(3)"), before=("list[A]", "raises TypeError", "list[A]")
    )
    assert not is_degenerate(("list[A]",) * 3, comparison)


def test_counts_documentation_examples_as_contradictions_only() -> None:
    comparison = CallComparison(
        calls=("f(1)", ">>> a.f", ">>> a.g"), before=("1", "1 of 2 otherwise", "as documented")
    )
    assert changed_share(("1", "as documented", "as documented"), comparison) == 0.0
    assert contradiction_share(("1", "as documented", "as documented"), comparison) == 0.0
    assert contradiction_share(comparison.before, comparison) == 0.5
    assert contradiction_share(("1",), CallComparison(calls=("f(1)",), before=("1",))) == 0.0
