"""Questions that search answers, on a small repository with a history."""

from dataclasses import replace
from pathlib import Path

import pytest

from coder.repo.git import find_checkout
from coder.repo.history import GitHistory
from coder.strategies.offline_answer import write_page
from coder.workspace.workspace import Workspace
from tests.builders import git, repo, write
from tests.tools.fakes import workspace

FILES = {
    "shop/cart.py": (
        "def total(prices):\n"
        '    """Add the prices of a cart."""\n'
        "    return sum(prices)\n"
        "\n"
        "\n"
        "class Basket:\n"
        "    def show(self):\n"
        '        raise ValueError("the basket is empty")\n'
    ),
    "shop/order.py": (
        "from shop.cart import total\n\n\ndef place_order(prices):\n    return round(total(prices), 2)\n"
    ),
    "tests/test_cart.py": (
        "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
    ),
    ".env": "KEY=total\n",
}


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    root = repo(tmp_path / "repository", FILES)
    write(root, {"shop/cart.py": FILES["shop/cart.py"].replace("sum(prices)", "sum(prices, 0)")})
    git(root, "commit", "--quiet", "--all", "--message", "Start at zero")
    checkout = find_checkout(root)
    return replace(workspace(root), history=GitHistory(git=checkout.git, revision=checkout.head))


def titles(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("#")]


def test_page_tells_all_of_what_is_named(place: Workspace) -> None:
    page = write_page(place, "Who calls `total`, and what tests it?")
    assert titles(page) == [
        "# Who calls `total`, and what tests it?",
        "## `total`",
        "### What uses it",
        "### What tests it",
        "### Its last commits",
    ]
    assert "- `shop/cart.py:1` to 3: function `def total(prices)`. Add the prices of a cart." in page
    assert "- `shop/order.py:5` in `place_order`: `return round(total(prices), 2)`" in page
    assert "- `tests/test_cart.py::test_total`, line 5, names `total`" in page
    assert "Start at zero" in page
    assert ".env" not in page


def test_function_that_tests_alone_use_is_said_to_be(place: Workspace) -> None:
    write(
        place.root, {"tests/test_show.py": "from shop.cart import Basket\n\n\ndef test_it():\n    Basket()\n"}
    )
    page = write_page(place, "Who uses `Basket`?")
    assert "Only tests use it by name." in page
    assert "tests/test_show.py" in page
    assert "Nothing here uses it by name." in write_page(place, "who calls `place_order`?")


def test_a_common_word_counts_where_it_is_defined(place: Workspace) -> None:
    assert titles(write_page(place, "who calls add?"))[1:] == []
    write(place.root, {"shop/sums.py": "def add(a, b):\n    return a + b\n"})
    assert titles(write_page(place, "who calls add?"))[1] == "## `add`"


def test_misspelled_name_is_said_to_be_unknown(place: Workspace) -> None:
    assert "Nothing here defines `totl`. Near: `total`." in write_page(place, "Who calls `totl`?")


def test_question_without_names_gets_likely_places(place: Workspace) -> None:
    write(place.root, {f"shop/part{number}.py": f"def part{number}():\n    pass\n" for number in range(20)})
    page = write_page(place, "How are the prices of a cart added?")
    assert "By its words, the question is likeliest about:\n- `shop/cart.py:1` `total`:" in page
    assert "shares a name or a rare word" in write_page(place, "xyzzy qwert?")


def test_files_that_a_question_names_are_listed(place: Workspace) -> None:
    page = write_page(place, 'Why does @shop/order.py ignore @"shop/cart.py"?')
    assert page.endswith(
        "likeliest about:\n"
        "- `shop/cart.py`: defines `total` (line 1), `Basket` (line 6), `Basket.show` (line 7)\n"
        "- `shop/order.py`: defines `place_order` (line 4)"
    )
