"""Doctest examples that a change leaves alone."""

from pathlib import Path

from coder.verify.checks.review import change_doubts
from coder.verify.test_edits import doctest_examples, examples_as_test, paths_with_same_examples
from tests.builders import write

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


def test_doctest_reads_as_test() -> None:
    assert examples_as_test(TEXT) == "add(1, 2)\n_ = 3\n\nx = Sum(1)\n\nprint(x)\n"


def test_checks_special_cases_against_doctest_values(tmp_path: Path) -> None:
    code = (
        'def slug(x):\n    """Slug.\n\n    >>> slug("Hello World")\n    \'hello-world\'\n    """\n'
        "    return x\n"
    )
    special = code.replace("return x", 'if x == "Hello World":\n        return "hello-world"\n    return x')
    fixed = code.replace("return x", 'return "-".join(x.lower().split())')
    write(tmp_path, {"old/a.py": code, "cheat/a.py": special, "fix/a.py": fixed})
    messages = {
        new: [
            doubt.text
            for doubt in change_doubts(
                tmp_path / "old",
                tmp_path / new,
                tests=[],
                sources=["a.py"],
                red_before=(),
                test_files=["a.py"],
            )
        ]
        for new in ("cheat", "fix")
    }
    assert messages == {"cheat": ["a.py:7 is made for the test's own input and answer"], "fix": []}
