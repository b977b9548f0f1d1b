"""Examples of the documentation, as far as a change leaves them alone."""

from coder.verify.documented import as_test, examples, same_examples

TEXT = '''"""Numbers.

>>> add(1, 2)
3
"""

class Sum:
    """A sum.

    >>> x = Sum(1)
    >>> print(x)
    a sum
    """
'''


def test_examples_are_read_from_top_to_bottom() -> None:
    assert examples(TEXT) == (("add(1, 2)\n", "3\n"), ("x = Sum(1)\n", ""), ("print(x)\n", "a sum\n"))
    assert examples("def f(:") == examples('"""\n  >>> f()\n1\n"""\n') == ()


def test_prose_may_change_and_examples_may_not() -> None:
    changed = {
        "prose.py": TEXT.replace("Numbers.", "Sums."),
        "wanted.py": TEXT.replace("3", "4"),
        "entered.py": TEXT.replace("Sum(1)", "Sum(2)"),
        "none.py": "x = 1",
    }
    assert same_examples(dict.fromkeys([*changed, "gone.py"], TEXT) | {"none.py": "x = 2"}, changed) == {"prose.py"}


def test_they_read_as_a_test() -> None:
    assert as_test(TEXT) == "add(1, 2)\n_ = 3\n\nx = Sum(1)\n\nprint(x)\n"
