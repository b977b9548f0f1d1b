"""What the first message shows of a repository."""

import time
from pathlib import Path

import pytest

from coder.core.verdict import Failure, Frame, TestResult
from coder.tools.orientation import first_look
from tests.tools.fakes import workspace

CART = '''"""Carts."""


class Cart:
    """Holds items."""

    def total_price(self, coupon=None):
        """The price of everything."""
        return sum(item.price for item in self.items)

    def add(self, item):
        if item is None:
            raise ValueError(f"cannot add nothing to cart {self!r}, sorry")
        self.items.append(item)
'''
FILES = {
    "README.md": "A shop.\n",
    "shop/cart.py": CART,
    "shop/stock.py": "def count(items):\n    return len(items)\n",
    "shop/mail.py": "def send(message):\n    print(message)\n",
    "tests/test_cart.py": "def test_total_price():\n    assert Cart().total_price(coupon=3) == 0\n",
}


def test_the_definition_that_the_issue_mentions_comes_first(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    look = first_look(space, "Coupons are ignored\n\n`Cart.total_price(coupon=...)` returns the full price.", (), 6000)
    assert look.startswith("Layout: 5 files\n  shop/ (3 files)\n  tests/ (1 file)\n  README.md\n")
    assert "likeliest first:\n  shop/cart.py: Cart.total_price (line 7)" in look
    assert "Tests about the same words: tests/test_cart.py" in look
    first_window = look.split("likeliest places")[1]
    assert "    4| class Cart:" in first_window
    assert "    7|     def total_price(self, coupon=None):" in first_window
    assert {"README.md", "shop/cart.py", "tests/test_cart.py"} <= set(space.named)


def test_an_error_message_finds_the_line_that_says_it(tmp_path: Path) -> None:
    look = first_look(workspace(tmp_path, FILES), "It breaks\n\nValueError: cannot add nothing to cart <Cart 7>, sorry\n", (), 6000)
    assert "shop/cart.py: Cart.add (line 11)" in look
    assert "says 'cannot add nothing to cart'" in look


def test_a_traceback_in_the_issue_is_shown_around_its_line(tmp_path: Path) -> None:
    issue = 'Crash\n\nTraceback (most recent call last):\n  File "/srv/lib/shop/stock.py", line 2, in count\nTypeError\n'
    look = first_look(workspace(tmp_path, FILES), issue, (), 6000)
    assert "shop/stock.py, lines 1-2 of 2" in look.split("likeliest places")[1].split("\n\n")[1]


def test_a_failing_test_that_shares_words_lends_its_innermost_frames(tmp_path: Path) -> None:
    frames = (Frame(path="tests/test_mail.py", line=1, function="test_send"), Frame(path="shop/mail.py", line=2, function="send"))
    red = TestResult(id="tests/test_mail.py::test_send", outcome="failed", failure=Failure(type="E", message="", frames=frames))
    space = workspace(tmp_path, FILES)
    look = first_look(space, "send does nothing", (red,), 6000)
    assert "    2|     print(message)" in look
    assert 2 in space.named["shop/mail.py"]


def test_keeps_to_its_budget(tmp_path: Path) -> None:
    files = FILES | {f"shop/part{number}.py": CART * 5 for number in range(30)}
    for budget in (500, 3000, 14_000):
        assert len(first_look(workspace(tmp_path, files), "Cart.total_price ignores the coupon", (), budget)) <= budget


def test_an_issue_that_says_nothing_still_gets_the_layout(tmp_path: Path) -> None:
    assert first_look(workspace(tmp_path, FILES), "", (), 6000).startswith("Layout: 5 files")
    assert first_look(workspace(tmp_path / "empty"), "it is broken", (), 6000) == "Layout: 0 files"


@pytest.mark.parametrize("unit", ["\n", "```", "<!--", "**a", "a_", "a.b/", "'aa bb cc dd ", "# ", "  ", "Error: "])
def test_a_hostile_issue_is_answered_soon(unit: str, tmp_path: Path) -> None:
    started = time.perf_counter()
    first_look(workspace(tmp_path, FILES), unit * (200_000 // len(unit)), (), 6000)
    assert time.perf_counter() - started < 10
