"""Questions that search answers, on a small repository with a history."""

from dataclasses import replace
from pathlib import Path

import pytest

from coder.repo.git import find_checkout
from coder.repo.history import GitHistory
from coder.strategies.offline_answer import read_question, write_page
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


def test_page_begins_with_what_is_asked(place: Workspace) -> None:
    page = write_page(place, "Who calls `total`, and what tests it?")
    assert titles(page) == [
        "# Who calls `total`, and what tests it?",
        "## `total`",
        "### What uses it",
        "### What tests it",
        "### Where it is defined",
        "### How and when it changed",
    ]
    assert (
        "A function at `shop/cart.py:1`; called from 1 place in the source; 1 test may reach it. It last"
        in page
    )
    assert "- `shop/order.py:5` in `place_order`: `return round(total(prices), 2)`" in page
    assert "- imported at `shop/order.py:1`" in page
    assert "- `tests/test_cart.py:5` in `test_total`, which names `total`" in page
    assert ".env" not in page


def test_classes_are_used_rather_than_called(place: Workspace) -> None:
    write(place.root, {"shop/page.py": "from shop.cart import Basket\n\n\ndef page(basket: Basket): ...\n"})
    page = write_page(place, "Who uses `Basket`?")
    assert "A class at `shop/cart.py:6`; used from 1 place in the source; 0 tests may reach it." in page


def test_history_is_that_of_the_lines_with_the_newest_change(place: Workspace) -> None:
    page = write_page(place, "When did total() change, and how?")
    history = page[page.index("### How and when it changed") : page.index("### Where it is defined")]
    commits = [line.rpartition(": ")[2] for line in history.splitlines() if line.startswith("- ")]
    assert commits[:2] == ["Start at zero", "start"]
    assert "-    return sum(prices)\n+    return sum(prices, 0)" in history


def test_quoted_text_is_searched_for(place: Workspace) -> None:
    page = write_page(place, 'Where does "the basket is empty" come from?')
    assert '- `shop/cart.py:8` in `Basket.show`: `raise ValueError("the basket is empty")`' in page
    assert "occurs nowhere" in write_page(place, 'Where does "no such text" come from?')


def test_file_is_outlined_with_its_importers(place: Workspace) -> None:
    page = write_page(place, "What is shop/cart.py for?")
    assert titles(page)[1:] == [
        "## `shop/cart.py`",
        "### What imports it",
        "### How and when it changed",
    ]
    assert "- `shop/cart.py:1` function `def total(prices)`. Add the prices of a cart." in page
    assert "- `shop/order.py:1`" in page


def test_misspelled_name_is_said_to_be_unknown(place: Workspace) -> None:
    page = write_page(place, "Who calls `totl`?")
    assert "Nothing here defines `totl`. Near: `total`." in page


def test_uses_that_may_mean_a_namesake_are_set_apart(place: Workspace) -> None:
    files = {
        "shop/lamp.py": "class Lamp:\n    def show(self): ...\n\n\ndef light(lamp):\n    lamp.show()\n",
        "shop/page.py": "from shop.cart import Basket\n\n\ndef page():\n    Basket().show()\n",
    }
    write(place.root, files)
    page = write_page(place, "Who calls `Basket.show`?")
    assert "called from 1 place in the source (perhaps 1 more: its name has others)" in page
    assert "- `shop/page.py:5` in `page`: `Basket().show()`" in page
    assert "- 1 use, such as in shop/lamp.py (1), in files that do not name `Basket`" in page


def test_removed_name_is_answered_from_the_history(place: Workspace) -> None:
    root = place.root
    write(root, {"shop/order.py": "place_order_now = 1\n"})
    git(root, "commit", "--quiet", "--all", "--message", "Order at once")
    write(root, {"shop/order.py": FILES["shop/order.py"]})
    git(root, "commit", "--quiet", "--all", "--message", "Do not order at once")
    checkout = find_checkout(root)
    history = GitHistory(git=checkout.git, revision=checkout.head)
    page = write_page(replace(place, history=history), "Why was place_order_now removed?")
    assert "Nothing here defines `place_order_now`" in page
    assert "## Commits with `place_order_now`" in page
    assert "Ada: Do not order at once" in page


def test_question_without_names_is_ranked_by_words_and_says_so(place: Workspace) -> None:
    write(place.root, {f"shop/part{number}.py": f"def part{number}():\n    pass\n" for number in range(20)})
    page = write_page(place, "How are the prices of a cart added?")
    assert "By its words, the question is likeliest about" in page
    assert "`total`" in titles(page)[1]
    assert "Found because:" in page


@pytest.mark.parametrize(
    ("question", "line"),
    [
        (
            "where is the discount computed?",
            "- `shop/sale.py:1`, parameter in `sell`: `def sell(items, discount=0):`",
        ),
        (
            "where is the voucher kept?",
            "- `shop/sale.py:2`, attribute in `sell`: `items.voucher_code = None`",
        ),
        ("where is the vat rate set?", '- `shop/sale.py:3`, key in `sell`: `return {"vat_rate": 19}`'),
        ("who says that something expired?", '- `shop/sale.py:6`, text: `MESSAGE = "it has expired"`'),
    ],
)
def test_words_are_found_in_parts_that_define_nothing(place: Workspace, question: str, line: str) -> None:
    source = 'def sell(items, discount=0):\n    items.voucher_code = None\n    return {"vat_rate": 19}\n'
    write(place.root, {"shop/sale.py": f'{source}\n\nMESSAGE = "it has expired"\n'})
    assert line in write_page(place, question)


def test_question_about_nothing_here_is_answered_so(place: Workspace) -> None:
    assert "shares a name or a rare word" in write_page(place, "Why zebras?")


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How does the shop show an order?", []),
        ("Who calls show?", ["show"]),
        ("Where is total defined?", ["total"]),
        ("What does the Basket do?", ["Basket"]),
        ("How does Basket.show work?", ["Basket.show"]),
        ("What uses place_order?", ["place_order"]),
    ],
)
def test_plain_words_are_names_only_where_they_are_asked_about(
    place: Workspace, question: str, names: list[str]
) -> None:
    subjects = read_question(place, question).subjects
    assert [subject.name for subject in subjects if not subject.reasons] == names
