"""Changed tests of a file, fixtures and assertions."""

from textwrap import dedent

import pytest

from coder.verify.test_files import (
    ChangedTests,
    adds_only_fixtures,
    differs_by_imports_alone,
    find_changed_tests,
    find_replaced_assertions,
    source_of_test,
)

OLD = """
import os
import pytest

LIMIT = 3

@pytest.fixture
def cart():
    return [LIMIT]

def helper(x):
    return x

class Base:
    size = 1
    def test_shared(self):
        assert self.size
class TestBox(Base):
    def setup_method(self):
        self.x = 1
    def test_a(self):
        assert helper(self.x)
    def test_b(self):
        pass

def test_cart(cart):
    assert cart

@pytest.mark.parametrize("n", [1, 2])
def test_plain(n):
    assert n
"""
BOX = ("t.py::TestBox::test_shared", "t.py::TestBox::test_a", "t.py::TestBox::test_b")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "def test_new():\n    pass\n", ChangedTests(added=("t.py::test_new",))),
        ("assert n\n", "assert n + 1\n", ChangedTests(edited=("t.py::test_plain",))),
        ("[1, 2]", "[1, 2, 3]", ChangedTests(edited=("t.py::test_plain",))),
        ("def test_cart", "def test_basket", ChangedTests(("t.py::test_basket",), (), ("t.py::test_cart",))),
        ("LIMIT = 3", "LIMIT = 4", ChangedTests(edited=("t.py::test_cart",))),
        ("return x", "return x + 1", ChangedTests(edited=("t.py::TestBox::test_a",))),
        ("self.x = 1", "self.x = 2", ChangedTests(edited=BOX)),
        (
            "        assert self.size",
            "        assert self.size == 1",
            ChangedTests(edited=("t.py::Base::test_shared", BOX[0])),
        ),
        (
            "import os\n",
            "import os\nimport sys\n\ndef test_new():\n    pass\n",
            ChangedTests(("t.py::test_new",)),
        ),
        ("import os\n", "import os, sys\n", ChangedTests(is_whole=True)),
        ("LIMIT = 3", "from shop import LIMIT, Cart", ChangedTests(edited=("t.py::test_cart",))),
        ("import os\n", "import os\nprint('x')\n", ChangedTests(is_whole=True)),
        ("import os\n", "from helpers import *\n", ChangedTests(is_whole=True)),
        (
            "import os\n",
            "try:\n    from a import *\nexcept ImportError:\n    A = 1\n\ndef test_new():\n    pass\n",
            ChangedTests(is_whole=True),
        ),
        ("@pytest.fixture\n", "@pytest.fixture(autouse=True)\n", ChangedTests(is_whole=True)),
        ("LIMIT = 3", "LIMIT = 3\npytestmark = pytest.mark.slow", ChangedTests(is_whole=True)),
        ("LIMIT = 3", "LIMIT = (", ChangedTests(is_whole=True)),
        ("LIMIT = 3", "LIMIT = 3  # comment", ChangedTests(is_whole=True)),
    ],
)
def test_finds_changed_tests(before: str, after: str, expected: ChangedTests) -> None:
    new = OLD.replace(before, after) if before else OLD + dedent(after)
    assert find_changed_tests("t.py", OLD, new) == expected


def test_new_file_adds_all_tests() -> None:
    found = find_changed_tests("t.py", "", OLD)
    assert found.added == ("t.py::Base::test_shared", *BOX, "t.py::test_cart", "t.py::test_plain")
    assert find_changed_tests("t.py", OLD, "").removed == found.added


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from shop import add\n{}",
            "from shop import (\n    add,\n    sub,\n)\nimport shop.items as items\n{}",
        ),
        (
            "import m\n{}",
            "import importlib\npytest_plugins = ['m.plugin']\nimportlib.import_module('m.n')\n{}",
        ),
        ("import {{add}} from './m';\n{}", "import {{\n  add,\n  sub,\n}} from './m';\nimport './n.js'\n{}"),
        ("const {{add}} = require('../m')\n{}", "const {{add, sub: minus}} = require('../m');\n{}"),
    ],
    ids=["Python", "by string", "ES modules", "CommonJS"],
)
def test_imports_are_told_from_tests(old: str, new: str) -> None:
    before, after = "test('adds', () => {})\n", "test('adds', () => { sub() })\n"
    assert differs_by_imports_alone(old.format(before), new.format(before))
    assert not differs_by_imports_alone(old.format(before), new.format(after))
    assert not differs_by_imports_alone(old.format(before), new.format(before + after))


FIXED = "import pytest\n\n@pytest.fixture\ndef cart():\n    return []\n"
CLASS = "class Shop:\n    size = 3\n\n    def cart(self):\n        return 1\n"
FIXTURE = "\n@pytest.fixture(scope='module')\ndef shop(tmp_path):\n    return print(tmp_path)\n"


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (FIXED + FIXTURE, True),
        (
            FIXED + "from pathlib import Path\nDATA = Path(__file__).parent / 'data'\n" + CLASS + FIXTURE,
            True,
        ),
        (FIXED.replace("[]", "[1]") + FIXTURE, False),
        (FIXTURE, False),
        (FIXED + FIXTURE.replace("scope='module'", "autouse=True"), False),
        (FIXED + FIXTURE.replace("scope='module'", "name='taken'"), False),
        (FIXED + FIXTURE.replace("def shop", "def taken"), False),
        (FIXED + FIXTURE.replace("def shop", "def tmp_path"), False),
        (FIXED + FIXTURE.replace("def shop", "def pytest_runtest_call"), False),
        (FIXED + "pytest.raises = print\n" + FIXTURE, False),
        (FIXED + "SEEN = setattr(pytest, 'raises', print)\n" + FIXTURE, False),
        (FIXED + "import helpers\n" + FIXTURE, False),
        (FIXED + "from .helpers import *\n" + FIXTURE, False),
        (FIXED + CLASS.replace("size = 3", "size = print()"), False),
    ],
)
def test_only_fixtures_that_tests_ask_for_are_harmless(new: str, expected: bool) -> None:
    assert adds_only_fixtures(FIXED, new, taken={"taken"}, changed={"helpers"}) is expected


PRICES = """
def test_price():
    assert price("tea") == 3
    assert price(
        "cake",
    ) == 5


@pytest.mark.parametrize("name, expected", [("a  b", "A"), ("c", "C")])
def test_initials(name, expected):
    assert initials(name) == expected
"""

CASES = '@pytest.mark.parametrize("name, expected", [("a  b", "A"), ("c", "C")])'


JS = "test('a', () => {\n  const x = f()\n  expect(x).toBe(1)\n})\n"


@pytest.mark.parametrize(
    ("old", "edit", "tests", "line"),
    [
        (PRICES, ("== 5", "== 4"), ["t.py::test_price"], "`) == 5` is `) == 4` now"),
        (
            *(PRICES, ('"A"', '"AB"'), ["t.py::test_initials[a  b-A]", "t.py::test_initials[c-C]"]),
            f"`{CASES}` is `{CASES.replace('A', 'AB')}` now",
        ),
        (
            *(PRICES, ('    assert price("tea") == 3\n', ""), ["t.py::test_price"]),
            '`assert price("tea") == 3` is nothing now',
        ),
        (JS, ("toBe(1)", "toBe(2)"), ["a.test.js::a"], "`expect(x).toBe(1)` is `expect(x).toBe(2)` now"),
    ],
    ids=["new line", "outside of the function", "removed", "another language"],
)
def test_names_replaced_assertions(old: str, edit: tuple[str, str], tests: list[str], line: str) -> None:
    path = tests[0].partition("::")[0]
    (found,) = find_replaced_assertions({path: old}, {path: old.replace(*edit)}, tests)
    assert found.line == f"{tests[0].partition('[')[0]}: {line}"


@pytest.mark.parametrize(
    ("test", "text", "source"),
    [
        (
            "a.test.js::a > one",
            "test('one', () => f())\ntest('two', () => g())\n",
            ["test('one', () => f())"],
        ),
        ("a_spec.rb::A#n sorts", 'it "sorts" do\n  f\nend\nit "is" do\nend', ['it "sorts" do', "  f", "end"]),
        ("a.rs::tests::one", "#[test]\nfn one() {}\nfn two() {}", ["fn one() {}"]),
        ("a_test.go::TestA", "func TestB() {}\nfunc TestA() {}\n", ["func TestA() {}"]),
        ("a.test.js::a > none", "test('one', () => f())\n", []),
    ],
)
def test_takes_function_or_titled_block_for_a_test(test: str, text: str, source: list[str]) -> None:
    assert source_of_test(test.partition("::")[0], text, test).splitlines() == source
