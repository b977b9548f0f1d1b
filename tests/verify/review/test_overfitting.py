"""Signs of overfitting that the behavior of neighboring inputs does not show."""

import pytest

from coder.verify.checks.review import overfitting_signs

TEST = "def test_style():\n    assert style((1, 2, 3)) == 'x'\n"
LENGTH = "chooses by the length of the test's own input"
EQUALITY = "makes values that are equal to others than a built-in type's"
CHOICE = "def style(color):\n    if len(color) == {length}:\n        {body}\n    return ''\n"
METHOD = "class Text({base}):\n    def {name}(self, other):\n        return True\n"


@pytest.mark.parametrize(
    ("source", "signs"),
    [
        (CHOICE.format(length=3, body="return 'x'"), [f"a.py:2 {LENGTH}"]),
        (CHOICE.format(length=3, body="r, g = color"), [f"a.py:2 {LENGTH}"]),
        (CHOICE.format(length=3, body="r, g, b = color"), []),
        (CHOICE.format(length=5, body="return 'x'"), []),
        (METHOD.format(base="str", name="__eq__"), [f"a.py:1 {EQUALITY}"]),
        (METHOD.format(base="str", name="__add__"), []),
        (METHOD.format(base="Shape", name="__eq__"), []),
    ],
)
def test_reports_choices_by_length_and_lenient_equality(source: str, signs: list[str]) -> None:
    assert overfitting_signs({"a.py": ""}, {"a.py": source}, [TEST]) == signs
    assert overfitting_signs({"a.py": source}, {"a.py": source + "\n"}, [TEST]) == []


def test_length_that_the_issue_names_is_no_sign() -> None:
    source = CHOICE.format(length=3, body="return 'x'")
    assert overfitting_signs({"a.py": ""}, {"a.py": source}, [TEST], issue="colors of 3 parts") == []
