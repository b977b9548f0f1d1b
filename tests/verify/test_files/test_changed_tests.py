"""Changed tests of a Python file."""

from textwrap import dedent

import pytest

from coder.verify.test_files import ChangedTests, differs_by_imports_alone, find_changed_tests

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
