"""Weakened tests, as opposed to equivalent rewrites."""

import pytest

from coder.verify.test_edits import removed_tests, weakened_tests

BEFORE = """
import pytest
from shop import price, Basket


def test_price():
    assert price("tea") == 3
    with pytest.raises(KeyError, match="cake"):
        price("cake")


class TestBasket:
    def test_sum(self):
        basket = Basket(["tea"])
        self.assertEqual(basket.sum(), 3)
"""
WEAKER = {
    "skipped": (
        "def test_price():",
        "@pytest.mark.skip\ndef test_price():",
        "test_price is skipped or expected to fail now",
    ),
    "expected to fail": (
        "def test_price():",
        "@pytest.mark.xfail(strict=False)\ndef test_price():",
        "test_price is skipped or expected to fail now",
    ),
    "skips itself": (
        "basket = ",
        "self.skipTest('x')\n        basket = ",
        "TestBasket.test_sum is skipped or expected to fail now",
    ),
    "mocked": (
        "basket = ",
        "Basket.sum = MagicMock(return_value=3)\n        basket = ",
        "TestBasket.test_sum puts mocks in the place of real parts now",
    ),
    "less": ('    assert price("tea") == 3\n', "", "test_price checks less than before (1 check fewer)"),
    "looser": ('price("tea") == 3', 'price("tea") is not None', "test_price checks more loosely than before"),
    "any error": ('KeyError, match="cake"', "Exception", "test_price checks more loosely than before"),
    "or true": (
        'price("tea") == 3',
        'price("tea") == 3 or True',
        "test_price checks more loosely than before",
    ),
    "unittest": (
        "assertEqual(basket.sum(), 3)",
        "assertTrue(basket.sum())",
        "TestBasket.test_sum checks more loosely than before",
    ),
    "ends": (
        '    assert price("tea")',
        '    sys.exit(0)\n    assert price("tea")',
        "test_price ends the process now",
    ),
    "swallowed": (
        '    assert price("tea") == 3',
        '    try:\n        assert price("tea") == 3\n    except AssertionError:\n        pass',
        "test_price swallows its own assertions now",
    ),
    "the whole file": (
        "import pytest",
        "import pytest\npytestmark = pytest.mark.skip",
        "pytestmark is reassigned, which decides what is run",
    ),
}


@pytest.mark.parametrize("name", WEAKER)
def test_reports_lost_assertions(name: str) -> None:
    old, new, message = WEAKER[name]
    assert old in BEFORE
    assert weakened_tests({"test_shop.py": BEFORE}, {"test_shop.py": BEFORE.replace(old, new)}) == [
        f"test_shop.py: {message}"
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("== 3", "== 4"),
        ('price("tea") == 3', 'price("coffee", size=2) == 3 and price("tea") == 3'),
        ('    assert price("tea") == 3', '    assert price("tea") == 3\n    assert price("milk") == 1'),
        ("self.assertEqual(basket.sum(), 3)", "assert basket.sum() == 3"),
        ("class TestBasket", "def test_more():\n    assert price('tea')\n\n\nclass TestBasket"),
        ("import pytest", "import pytest  # and more"),
        (BEFORE, "def broken(:"),
    ],
)
def test_a_rewritten_or_added_test_is_no_loss(old: str, new: str) -> None:
    assert weakened_tests({"test_shop.py": BEFORE}, {"test_shop.py": BEFORE.replace(old, new)}) == []


def test_removed_test_is_absent_from_all_files() -> None:
    moved = {"test_shop.py": "", "test_price.py": "def test_price():\n    pass\n"}
    assert removed_tests({"test_shop.py": BEFORE}, moved) == ["test_shop.py::TestBasket::test_sum"]
