"""Doctest examples that a change leaves alone."""

from coder.verify.test_edits import doctest_examples, paths_with_same_examples

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


def test_reads_doctest_examples_in_order() -> None:
    assert doctest_examples(TEXT) == (("add(1, 2)\n", "3\n"), ("x = Sum(1)\n", ""), ("print(x)\n", "a sum\n"))
    assert doctest_examples("def f(:") == doctest_examples('"""\n  >>> f()\n1\n"""\n') == ()


def test_prose_may_change_but_examples_must_not() -> None:
    new_texts = {
        "prose.py": TEXT.replace("Numbers.", "Sums."),
        "wanted.py": TEXT.replace("3", "4"),
        "entered.py": TEXT.replace("Sum(1)", "Sum(2)"),
        "none.py": "x = 1",
    }
    assert paths_with_same_examples(
        dict.fromkeys([*new_texts, "gone.py"], TEXT) | {"none.py": "x = 2"}, new_texts
    ) == {"prose.py"}
