"""Successors of removed tests: what counts as one, and what it must check."""

import pytest

from coder.verify.test_edits import Succession, find_removed_functions, find_successions, weakened_successors

OLD = """
def test_tea():
    assert price("tea") == 3

def test_cake():
    basket = Basket(["cake"])
    assert basket.price() == 5
"""
CASES = {
    "renamed": (
        OLD.replace("test_tea", "test_price_of_tea"),
        [Succession(("t.py::test_tea",), ("t.py::test_price_of_tea",))],
    ),
    "renamed with a local variable": (
        OLD.replace("test_cake", "test_sum").replace("basket", "full"),
        [Succession(("t.py::test_cake",), ("t.py::test_sum",))],
    ),
    "merged into one with cases": (
        """
@pytest.mark.parametrize(("item", "expected"), [("tea", 3), ("milk", 1)])
def test_price(item, expected):
    assert price(item) == expected
""",
        [Succession(("t.py::test_tea",), ("t.py::test_price",))],
    ),
    "moved into a class": (
        "class TestPrice:\n    def test_of_tea(self):\n        assert price('tea') == 3\n",
        [Succession(("t.py::test_tea",), ("t.py::TestPrice::test_of_tea",))],
    ),
    "deleted, and another test added": ("def test_close():\n    assert Shop().close() == 1\n", []),
    "deleted": ("", []),
}


@pytest.mark.parametrize(("new", "expected"), CASES.values(), ids=CASES)
def test_finds_successors_by_content(new: str, expected: list[Succession]) -> None:
    old, changed = {"t.py": OLD}, {"t.py": new}
    gone = find_removed_functions(old, changed)
    assert list(find_successions(old, changed, gone)) == expected


def test_finds_successors_in_another_file() -> None:
    old, new = {"t.py": OLD}, {"tests/t_price.py": OLD}
    assert find_successions(old, new, ["t.py::test_tea"]) == (
        Succession(("t.py::test_tea",), ("tests/t_price.py::test_tea",)),
    )


WEAKER = {
    "looser": ("== 3\n", "is not None\n", "checks more loosely than before"),
    "skipped": ("def test_tea", "@pytest.mark.skip\ndef test_tea", "is skipped or expected to fail now"),
    "fewer": ("\n\ndef test_cake", "\n    price('tea')\n\ndef test_cake", "checks less than before"),
}


@pytest.mark.parametrize(("text", "replacement", "finding"), WEAKER.values(), ids=WEAKER)
def test_describes_weaker_successors(text: str, replacement: str, finding: str) -> None:
    old = (
        OLD.replace('price("tea") == 3', 'price("tea") == 3\n    assert price("tea") > 0')
        if (finding.startswith("checks less"))
        else OLD
    )
    new = OLD.replace(text, replacement).replace("test_tea", "test_price")
    findings = list(weakened_successors({"t.py": old}, {"t.py": new}))
    assert len(findings) == 1
    assert findings[0].startswith(f"test_price, in the place of test_tea, {finding}")


def test_cases_make_up_for_merged_tests() -> None:
    old = "def test_tea():\n    assert price('tea') == 3\n\ndef test_cake():\n    assert price('cake') == 5\n"
    new = """
@pytest.mark.parametrize(("item", "expected"), [("tea", 3), ("cake", 5)])
def test_price(item, expected):
    assert price(item) == expected
"""
    assert list(weakened_successors({"t.py": old}, {"t.py": new})) == []
    assert list(weakened_successors({"t.py": old}, {"t.py": new.replace(', ("cake", 5)', "")})) == [
        "test_price, in the place of test_cake, test_tea, checks less than before (1 check fewer)"
    ]
