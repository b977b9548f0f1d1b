"""Repository overview in the first message."""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from coder.core.verdict import Failure, Frame, TestResult
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.orientation import issue_overview, related_failures
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
    ".github/check.yml": "on: push\n",
    "pyproject.toml": "[project]\n",
    "shop/cart.py": CART,
    "shop/stock.py": "def count(items):\n    return len(items)\n",
    "shop/mail.py": "def send(message):\n    print(message)\n",
    "tests/test_cart.py": "def test_total_price():\n    assert Cart().total_price(coupon=3) == 0\n",
}


def overview_of(tmp_path: Path, files: Mapping[str, str], issue: str, *failing: TestResult) -> str:
    return issue_overview(workspace(tmp_path, files), issue, failing, 10_000).text


def test_mentioned_definition_comes_first_whole_in_its_class(tmp_path: Path) -> None:
    issue = "Coupons are ignored\n\n`Cart.total_price(coupon=...)` returns the full price."
    overview = overview_of(tmp_path, FILES, issue)
    layout, title, source, *_ = overview.split("\n\n")
    assert layout == "Layout: 6 files; shop/ (3), tests/ (1), pyproject.toml"
    assert title.startswith("Likeliest places")
    assert source.startswith(
        "shop/cart.py, 14 lines [defines total_price, named in code]\n    4| class Cart:"
    )
    assert overview.count("    7|     def total_price(self, coupon=None):") == 1
    assert "Cart.add" not in overview  # it is in the class shown above


def test_one_of_many_equal_files_is_shown(tmp_path: Path) -> None:
    files = {f"shop/part{number}.py": f"def total{number}():\n    return {number}\n" for number in range(30)}
    overview = overview_of(tmp_path, files, "The total is wrong")
    assert overview.count(", 2 lines [") == 1
    assert overview.count("shop/part") > 5


def test_shows_function_of_traceback_frame_whatever_its_line(tmp_path: Path) -> None:
    issue = (
        "Crash\n\nTraceback (most recent call last):\n"
        '  File "/srv/lib/shop/stock.py", line 99, in count\nTypeError\n'
    )
    assert "shop/stock.py, 2 lines [in the traceback]" in overview_of(tmp_path, FILES, issue)


def failure(path: str, function: str, test: str, kind: str = "E") -> TestResult:
    frames = (
        Frame(path="tests/test_mail.py", line=1, function=test),
        Frame(path=path, line=2, function=function),
    )
    return TestResult(
        id=f"tests/test_mail.py::{test}",
        outcome="failed",
        failure=Failure(type=kind, message="", frames=frames),
    )


def test_uses_innermost_frames_of_related_failing_test(tmp_path: Path) -> None:
    red = failure("shop/mail.py", "send", "test_send")
    overview = overview_of(tmp_path, FILES, "send does nothing", red)
    assert "    2|     print(message)" in overview


@pytest.mark.parametrize(("number", "related"), [(3, 3), (40, 0)], ids=["few", "for one reason"])
def test_many_failures_of_one_kind_are_related_to_no_issue(number: int, related: int) -> None:
    clues = extract_issue_terms("`requests.get` raises ConnectionError")
    reds = [failure("lib/x.py", "f", f"test_{count}", "ConnectionError") for count in range(number)]
    assert len(related_failures(clues, reds)) == related


@pytest.mark.parametrize(
    ("message", "related"),
    [
        ("Cannot find module 'lib/marked.esm.js' imported from test/marked.test.js", 0),
        ("no marked.Parser", 1),
    ],
    ids=["path", "name"],
)
def test_path_in_a_message_relates_no_failure_to_an_issue(message: str, related: int) -> None:
    red = TestResult(
        id="test/all.test.js",
        outcome="failed",
        failure=Failure(type="CollectionError", message=message, frames=()),
    )
    assert len(related_failures(extract_issue_terms("`marked` nests lists"), [red])) == related


def test_keeps_to_its_budget(tmp_path: Path) -> None:
    files = FILES | {f"shop/part{number}.py": CART * 5 for number in range(30)}
    for budget in (30, 500, 3000, 14_000):
        overview = issue_overview(
            workspace(tmp_path, files), "Cart.total_price ignores the coupon", (), budget
        ).text
        assert len(overview) <= budget


@pytest.mark.parametrize(
    "unit", ["\n", "```", "<!--", "**a", "a_", "a.b/", "'aa bb cc dd ", "# ", "  ", "Error: "]
)
def test_answers_hostile_issue_quickly(unit: str, tmp_path: Path) -> None:
    start = time.process_time()
    issue_overview(workspace(tmp_path, FILES), unit * (60_000 // len(unit)), (), 6000)
    assert time.process_time() - start < 10


FILLING = "".join(
    f'    def fill_{number}(self):\n        """Says render, copy and form."""\n        return {number}\n\n'
    for number in range(30)
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


def test_shows_method_of_long_class_and_lists_the_others(tmp_path: Path) -> None:
    overview = overview_of(
        tmp_path, {"shop/shelf.py": LONG}, '`Shelf(form="round").render(1)` draws nothing\n'
    )
    source = next(part for part in overview.split("\n\n") if "def _render" in part).splitlines()
    assert source[1] == "    1| class Shelf:"
    place = source.index("  127|     def _render(self, value):")
    assert source[place - 1 : place + 4] == [
        "      ...",
        "  127|     def _render(self, value):",
        '  128|         """Draw it.',
        "      ...",
        "  133|         return self._scaled(value) if self.form else value",
    ]


def test_constants_of_a_short_file_are_shown_with_what_uses_them(tmp_path: Path) -> None:
    regexes = "const kinds = [/^1$/, /^2$/];"
    function = "export default function isPhone(text) {\n  return kinds.some(text);\n}\n"
    files = {"is_phone.js": f"{regexes}\n\n\nconst other = 1;\n\n\n{function}"}
    overview = overview_of(tmp_path, files, "isPhone accepts an address")
    assert f"    1| {regexes}" in overview.splitlines()
    assert "const other" not in overview


def test_beginning_is_shown_where_no_word_points_into_a_long_definition(tmp_path: Path) -> None:
    code = "\n".join(["def convert(value):", *LONG_BODY, ""])
    overview = overview_of(tmp_path, {"a.py": code}, "`convert` fails")
    assert "    2|     value_0 = prepare(0)" in overview
    assert len(overview.splitlines()) < 120


LONG_BODY = [f"    value_{number} = prepare({number})" for number in range(200)]


@pytest.mark.parametrize(
    ("lines", "shown"), [(100, {2, 90, 101}), (200, {2, 150, 151, 152})], ids=["whole", "windows"]
)
def test_never_cuts_the_place(tmp_path: Path, lines: int, shown: set[int]) -> None:
    body = LONG_BODY[:lines]
    body[149:151] = (
        ["    if value.is_frozen():", "        raise FrozenError"] if lines == 200 else body[149:151]
    )
    code = "\n".join(["def convert(value):", '    """Convert."""', *body, ""])
    overview = overview_of(
        tmp_path, {"a.py": code}, "`convert` fails with `FrozenError` for is_frozen values"
    )
    numbers = {int(line[:5]) for line in overview.splitlines() if line[5:6] == "|"}
    assert shown <= numbers
    assert len(numbers) < 120
    assert ("      ...\n" in overview) == (lines == 200)


def test_shows_a_test_of_the_likeliest_place(tmp_path: Path) -> None:
    tests = (
        "import pytest\nfrom shop.cart import (\n    Cart,\n)\n\n\ndef test_total_price():\n"
        "    def price():\n        return Cart().total_price(coupon=3)\n\n"
    )
    tests += "    assert Cart()\n" * 20
    rest = "".join(f"\n\ndef test_add_{number}():\n    Cart().add({number})\n" for number in range(9))
    files = FILES | {
        "tests/test_cart.py": tests + rest,
        "tests/test_mail.py": "def test_cart_mail():\n    send(3)\n",
    }
    overview = overview_of(
        tmp_path, files, "Coupons are ignored\n\n`Cart.total_price(coupon=3)` returns the full price."
    )
    assert overview.split("A test of it:\n\n")[1].splitlines() == [
        "tests/test_cart.py, 66 lines",
        "    7| def test_total_price():",
        "    8|     def price():",
        "    9|         return Cart().total_price(coupon=3)",
        "   10| ",
        *(f"{number:>5}|     assert Cart()" for number in range(11, 17)),
        "The file imports pytest, Cart",
        "",
        "Tests named alike: tests/test_cart.py",
    ]


def test_shows_a_test_of_the_next_place_where_the_likeliest_has_none(tmp_path: Path) -> None:
    files = {
        "shop/tree.py": (
            "def find_node(root):\n    return root[0]\n\n\n"
            "def _middle(root):\n    return find_node(root)\n\n\n"
            "def instrument(root):\n    return _middle(root)\n"
        ),
        "tests/test_tree.py": (
            "from shop.tree import instrument\n\n\ndef test_one():\n    assert instrument([1])\n"
        ),
    }
    overview = overview_of(tmp_path, files, "IndexError in find_node\n\n`instrument([])` raises IndexError")
    assert overview.index("[defines find_node") < overview.index("    5|     assert instrument([1])")


def test_case_of_javascript_is_shown_around_its_use_with_data_named_alike(tmp_path: Path) -> None:
    files = {
        "src/slices.js": "export function slice(begin) {\n  return begin;\n}\n",
        "test/slices.test.js": (
            "import { slice } from '../src/slices';\n\ndescribe('slices', () => {\n"
            "  it('begins', () => {\n    const begin = 1;\n    expect(slice(begin)).toBe(1);\n  });\n});\n"
        ),
        "test/data/slices.txt": "1\n",
        "test/data/other.txt": "1\n",
    }
    overview = overview_of(tmp_path, files, "`slice` fails for negative numbers")
    assert "    4|   it('begins', () => {" in overview.split("A test of it:\n\n")[1]
    assert overview.endswith("Tests named alike: test/data/slices.txt, test/slices.test.js")


MESSAGES = {
    "check/messages.py": 'UNBOUND_NAME = Message(\n    "a function should receive such a name"\n)\n',
    "check/names.py": "def fail_unbound(node):\n    report(messages.UNBOUND_NAME, node)\n",
    "check/other.py": "def wrong(error):\n    return 1\n\n\ndef hint(kind):\n    return kind\n",
}


@pytest.mark.parametrize(
    "quoted",
    [
        '"A function should receive such a name"',
        "`A function should receive such a name`",
        "```\nmain.py:5: error: A function should receive such a name\n```",
    ],
    ids=["quotes", "backticks", "diagnostic"],
)
def test_message_leads_to_what_uses_its_constant_alone(tmp_path: Path, quoted: str) -> None:
    overview = overview_of(tmp_path, MESSAGES, f"A wrong hint of this kind\n\n{quoted}\n")
    assert "check/names.py, 2 lines [uses UNBOUND_NAME, the issue's message]" in overview
    assert "|     return kind" not in overview


def test_place_where_an_example_of_the_issue_fails_is_likely(tmp_path: Path) -> None:
    example = "`count(None)` raises TypeError: object of type 'NoneType' has no len(), in shop/stock.py:2"
    space = workspace(tmp_path, FILES)
    overview = issue_overview(space, "Empty shops crash the mail", (), 10_000, [example]).text
    assert "shop/stock.py, 2 lines [in the traceback]" in overview


def test_word_on_several_lines_of_a_long_function_points_at_them(tmp_path: Path) -> None:
    body = ["    address = read()" if number % 40 == 5 else f"    step({number})" for number in range(200)]
    code = "\n".join(["def connect():", *body, ""])
    overview = overview_of(tmp_path, {"a.py": code}, "`connect` resolves the address")
    assert overview.count("address = read()") == 5
