"""What the answers of an edit say of it."""

from coder.core.ports.repair import Compared
from coder.repair.ranking.answers import changed, contradicting, levelled, stumbling

CALLS = ("same(1)", "same(2)", "same(3)", "main(0)")
FOUND = Compared(calls=CALLS, before=("True", "False", "False", "0\tlist[]\t'a'"))


def test_an_answer_may_differ_in_some_of_its_parts() -> None:
    assert changed(("True", "False", "False", "0\tlist[]\t'a'"), FOUND) == 0.0
    assert changed(("True", "False", "False", "1\tlist[]\t'a'"), FOUND) == 1 / 12
    assert changed(("True", "False", "False", "raises OSError"), FOUND) == 1 / 4
    assert changed((), FOUND) == 0.0


def test_accidents_are_told_from_what_is_raised_on_purpose() -> None:
    assert stumbling(("raises IndexError", "raises ValueError", "raises TypeError\t'printed'", "1")) == 0.5


def test_a_function_that_tells_nothing_apart_any_more_is_seen() -> None:
    assert levelled(("True", "True", "True", "0"), FOUND)
    assert not levelled(("True", "True", "False", "0"), FOUND)
    assert not levelled(("True", "False", "False", "1"), FOUND), "one call tells nothing"
    assert not levelled((), FOUND)


def test_what_gives_back_what_it_was_given_tells_things_apart() -> None:
    found = Compared(
        calls=("get(key=1, default=0)", "get(key=2, default=0)", "get(key=3, default=0)"),
        before=("1", "2", "0"),
    )
    assert not levelled(("0", "0", "0"), found)
    assert levelled(("7", "7", "7"), found)


def test_what_only_told_accidents_from_the_rest_told_nothing_apart() -> None:
    found = Compared(calls=("f(1)", "f(2)", "f(3)"), before=("list[A]", "raises TypeError", "list[A]"))
    assert not levelled(("list[A]",) * 3, found)


def test_examples_of_the_documentation_are_no_calls_but_can_be_contradicted() -> None:
    found = Compared(calls=("f(1)", ">>> a.f", ">>> a.g"), before=("1", "1 of 2 otherwise", "as documented"))
    assert changed(("1", "as documented", "as documented"), found) == 0.0
    assert contradicting(("1", "as documented", "as documented"), found) == 0.0
    assert contradicting(found.before, found) == 0.5
    assert contradicting(("1",), Compared(calls=("f(1)",), before=("1",))) == 0.0
