"""Repository overview in the first message."""

import time
from pathlib import Path

import pytest

from coder.core.errors import GitError
from coder.core.values import CommitInfo
from coder.core.verdict import Failure, Frame, TestResult
from coder.retrieval.orientation import issue_overview
from tests.tools.fakes import FakeHistory, workspace

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
    ".github/check.yml": "on: push\n",
    "pyproject.toml": "[project]\n",
    "shop/cart.py": CART,
    "shop/stock.py": "def count(items):\n    return len(items)\n",
    "shop/mail.py": "def send(message):\n    print(message)\n",
    "tests/test_cart.py": "def test_total_price():\n    assert Cart().total_price(coupon=3) == 0\n",
}


def test_mentioned_definition_comes_first(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    overview = issue_overview(
        space, "Coupons are ignored\n\n`Cart.total_price(coupon=...)` returns the full price.", (), 6000
    )
    assert overview.startswith("Layout: 6 files; shop/ (3), tests/ (1), pyproject.toml\n\nFiles")
    assert "likeliest first:\n  shop/cart.py: Cart.total_price (line 7)" in overview
    first_window = overview.split("likeliest places")[1]
    assert "    4| class Cart:" in first_window
    assert "    7|     def total_price(self, coupon=None):" in first_window
    assert {"pyproject.toml", "shop/cart.py", "tests/test_cart.py"} <= set(space.named)


def test_error_message_finds_its_line(tmp_path: Path) -> None:
    overview = issue_overview(
        workspace(tmp_path, FILES),
        "It breaks\n\nValueError: cannot add nothing to cart <Cart 7>, sorry\n",
        (),
        6000,
    )
    assert "shop/cart.py: Cart.add (line 11)" in overview
    assert "says 'cannot add nothing to cart'" in overview


def test_shows_code_around_traceback_line(tmp_path: Path) -> None:
    issue = (
        "Crash\n\nTraceback (most recent call last):\n"
        '  File "/srv/lib/shop/stock.py", line 2, in count\nTypeError\n'
    )
    overview = issue_overview(workspace(tmp_path, FILES), issue, (), 6000)
    assert "shop/stock.py, lines 1-2 of 2" in overview.split("likeliest places")[1].split("\n\n")[1]


def test_uses_innermost_frames_of_related_failing_test(tmp_path: Path) -> None:
    frames = (
        Frame(path="tests/test_mail.py", line=1, function="test_send"),
        Frame(path="shop/mail.py", line=2, function="send"),
    )
    red = TestResult(
        id="tests/test_mail.py::test_send",
        outcome="failed",
        failure=Failure(type="E", message="", frames=frames),
    )
    space = workspace(tmp_path, FILES)
    overview = issue_overview(space, "send does nothing", (red,), 6000)
    assert "    2|     print(message)" in overview
    assert 2 in space.named["shop/mail.py"]


def test_keeps_to_its_budget(tmp_path: Path) -> None:
    files = FILES | {f"shop/part{number}.py": CART * 5 for number in range(30)}
    for budget in (500, 3000, 14_000):
        assert (
            len(issue_overview(workspace(tmp_path, files), "Cart.total_price ignores the coupon", (), budget))
            <= budget
        )


def test_works_without_readable_history(tmp_path: Path) -> None:
    class PartialHistory(FakeHistory):
        def recent_commits(self, *, path: str | None = None, count: int = 200) -> tuple[CommitInfo, ...]:
            raise GitError("git log failed: unable to read 4a48cb86")

    overview = issue_overview(
        workspace(tmp_path, FILES, history=PartialHistory()), "Cart.total_price ignores the coupon", (), 6000
    )
    assert "shop/cart.py: Cart.total_price (line 7)" in overview


def test_empty_issue_still_gets_layout(tmp_path: Path) -> None:
    assert issue_overview(workspace(tmp_path, FILES), "", (), 6000).startswith("Layout: 6 files")
    assert issue_overview(workspace(tmp_path / "empty"), "it is broken", (), 6000) == "Layout: 0 files"


@pytest.mark.parametrize(
    "unit", ["\n", "```", "<!--", "**a", "a_", "a.b/", "'aa bb cc dd ", "# ", "  ", "Error: "]
)
def test_answers_hostile_issue_quickly(unit: str, tmp_path: Path) -> None:
    start = time.process_time()
    issue_overview(workspace(tmp_path, FILES), unit * (200_000 // len(unit)), (), 6000)
    assert time.process_time() - start < 10


FILLING = "".join(
    f'    def fill_{number}(self):\n        """Says render, copy and form."""\n        return {number}\n\n'
    for number in range(24)
)
LONG = f'''class Shelf:
    """Where things stand."""

    FORMS = {{"round": 1, "square": 2}}

{FILLING}
    def _render(self, value):
        """Draw it.

        >>> Shelf("round")._render(1)
        1
        """
        return self._scaled(value) if self.form else value

    def _scaled(self, value):
        return value * 2

    def __getstate__(self):
        return self.form
'''


def test_shows_long_class_by_head_and_relevant_methods(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"shop/shelf.py": LONG})
    overview = issue_overview(space, '`Shelf(form="round").render(1)` draws nothing\n', (), 6000)
    windows = overview.split("likeliest places")[1].split("\n\n")[1:]
    assert windows[1] == (
        "shop/shelf.py, lines 1-5 of 115\n    1| class Shelf:\n"
        '    2|     """Where things stand."""\n    3| \n'
        '    4|     FORMS = {"round": 1, "square": 2}\n    5| '
    )
    assert windows[0].splitlines() == [
        "shop/shelf.py, lines 103-115 of 115",
        "    1| class Shelf:",
        "      ...",
        "  103|     def _render(self, value):",
        '  104|         """Draw it.',
        "      ... docstring, to line 108",
        "  109|         return self._scaled(value) if self.form else value",
        "  110| ",
        "  111|     def _scaled(self, value):",
        "  112|         return value * 2",
        "  113| ",
        "  114|     def __getstate__(self):",
        "  115|         return self.form",
    ]


def test_special_method_ranks_above_mentions_of_operation(tmp_path: Path) -> None:
    overview = issue_overview(
        workspace(tmp_path, {"shop/shelf.py": LONG}), "`copy.deepcopy(Shelf(1))` loses the form\n", (), 6000
    )
    assert "Shelf.__getstate__ (line 114)" in overview.splitlines()[3]


def test_names_near_duplicate_without_showing_it(tmp_path: Path) -> None:
    files = FILES | {"shop/old_cart.py": CART.replace("items)", "things)")}
    overview = issue_overview(
        workspace(tmp_path, files), "`shop.cart`: `Cart.total_price` ignores the coupon", (), 6000
    )
    assert overview.count("The price of everything.") == 1
    assert "near-identical copy at shop/old_cart.py:" in overview


def test_shows_nearest_test_and_insertion_place(tmp_path: Path) -> None:
    tests = (
        "import pytest\nfrom shop.cart import (\n    Cart,\n)\n\n\ndef test_total_price():\n"
        "    assert Cart().total_price(coupon=3) == 0\n"
    )
    rest = "".join(f"\n\ndef test_add_{number}():\n    Cart().add({number})\n" for number in range(9))
    files = FILES | {
        "tests/test_cart.py": tests + rest,
        "tests/test_mail.py": "def test_cart_mail():\n    send(3)\n",
    }
    space = workspace(tmp_path, files)
    overview = issue_overview(
        space, "Coupons are ignored\n\n`Cart.total_price(coupon=3)` returns the full price.", (), 6000
    )
    paragraphs = overview.split("The nearest existing test:\n\n")[1].split("\n\n")
    assert paragraphs[0] == "tests/test_cart.py imports\nimport pytest\nfrom shop.cart import ( Cart, )"
    assert paragraphs[1].splitlines()[1:] == [
        "    7| def test_total_price():",
        "    8|     assert Cart().total_price(coupon=3) == 0",
    ]
    assert paragraphs[2].startswith(
        "tests/test_cart.py, lines 33-44 of 44 (the end of the file; a new test fits below)"
    )
    assert paragraphs[2].endswith("   44|     Cart().add(8)")


ORDER = """from shop.mail import post
from shop.cart import Cart


class Order:
    def close(self, box):
        post(self)
        box.seal(1)
        return self.Slip(self)

    class Slip: ...
"""
MANY = "".join(f"def close_{number}(order):\n    return order.close({number})\n\n\n" for number in range(6))


def test_shows_callees_of_likeliest_definition(tmp_path: Path) -> None:
    files = {
        "shop/order.py": f"{ORDER}\n\nclass Box:\n    def seal(self, tape):\n        return tape\n",
        "shop/mail.py": "def post(letter):\n    return letter\n",
        "shop/closing.py": MANY,
    }
    overview = issue_overview(workspace(tmp_path, files), "`Order.close` does not close\n", (), 6000)
    assert "shop/mail.py, lines 1-2 of 2 (post: called by close)\n    1| def post(letter):" in overview
    assert "seal: called by close" in overview


def test_shows_lines_of_likely_definition_once(tmp_path: Path) -> None:
    issue = 'total is wrong\n\n  File "/srv/shop/cart.py", line 9, in total_price\nTypeError\n'
    overview = issue_overview(workspace(tmp_path, FILES), issue, (), 6000)
    assert overview.count("    9|         return sum(item.price for item in self.items)") == 1
