"""Test files that a change can reach, by the import graph and by names."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from coder.verify.select import (
    find_data_tests,
    find_paths_in_sources,
    imported_names,
    is_source_as_data,
    select_test_files,
)
from tests.builders import write

Reached = Callable[..., tuple[str, ...] | None]

SHOP = {
    "shop/cart.py": (
        "def total(prices):\n    return sum(prices)\n\n\nclass Cart:\n    def add(self, x):\n"
        "        return total([x])\n"
    ),
    "shop/bill.py": "from shop import cart\n\n\ndef bill(prices):\n    return cart.total(prices)\n",
    "shop/page.py": "from shop.bill import bill\n\n\ndef render(prices):\n    return str(bill(prices))\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
    "tests/test_bill.py": "from shop.bill import bill\n\n\ndef test_bill():\n    assert bill([1]) == 1\n",
    "tests/test_page.py": (
        "from shop.page import render\n\n\ndef test_page():\n    assert render([1]) == '1'\n"
    ),
    "tests/test_user.py": "def test_name():\n    assert 'name'\n",
    "tests/unit/conftest.py": "",
    "tests/unit/test_unit.py": "from tests.helpers import shown\n\n\ndef test_unit():\n    shown()\n",
    "tests/helpers.py": "def shown():\n    return 1\n",
    "tests/test_long.py": "def test_long():\n    pass\n",
}


@pytest.fixture
def select_tests(tmp_path: Path) -> Reached:
    def select(change: dict[str, str], base: dict[str, str] = SHOP) -> tuple[str, ...] | None:
        write(tmp_path / "old", base)
        write(tmp_path / "new", {**base, **change})
        part = select_test_files(tmp_path / "old", tmp_path / "new", sorted(change))
        return None if part is None else part.files

    return select


CART, BILL, PAGE = (f"tests/test_{name}.py" for name in ("cart", "bill", "page"))
SUMMED = {"shop/cart.py": SHOP["shop/cart.py"].replace("sum(prices)", "sum(prices, 0)")}
LISTED = {"shop/bill.py": SHOP["shop/bill.py"].replace("(prices)\n", "(list(prices))\n")}
SHOWN = {"shop/page.py": SHOP["shop/page.py"].replace("str(", "repr(")}
UNIT = ("tests/unit/test_unit.py",)
RATES = {
    "shop/rates.py": "RATE = 2\n",
    "tests/test_rates.py": "from shop.rates import RATE\n\n\ndef test_rate():\n    assert RATE\n",
}
SPEC = {
    "pytest.ini": "[pytest]\npython_files = *_spec.py\n",
    "shop/bill_spec.py": SHOP[BILL],
}
TYPED = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import {}\n\n\n"
TYPED += "class Box[T]:\n    pass\n\n\ntype Pair[T] = tuple[T, T]\n\n\n"
BARE_BILL = SHOP["shop/bill.py"].replace("import cart\n\n\n", "import cart\n")
RENAMED = SHOP["shop/page.py"].replace("import bill", "import total as bill")
DOCTESTS = {"pytest.ini": "[pytest]\naddopts = -q --doctest-modules\n"}


@pytest.mark.parametrize(
    ("more", "change", "tests"),
    [
        ({}, SUMMED, (CART, BILL, PAGE)),
        ({}, {**LISTED, "tests/test_user.py": "def test_b(): pass\n"}, ("tests/test_user.py", BILL, PAGE)),
        ({}, {"tests/unit/conftest.py": "x = 1\n"}, UNIT),
        ({}, {"tests/helpers.py": "def shown():\n    return 2\n"}, UNIT),
        (RATES, {"shop/rates.py": "RATE = 3\n"}, ("tests/test_rates.py",)),
        (SPEC, LISTED, ("shop/bill_spec.py", BILL, PAGE)),
        (
            {"shop/bill.py": TYPED.format("os") + BARE_BILL},
            {"shop/bill.py": TYPED.format("sys") + BARE_BILL.replace("(prices)\n", "([*prices])\n")},
            (BILL, PAGE),
        ),
        (DOCTESTS, SHOWN, ("shop/page.py", PAGE)),
        ({}, {"shop/page.py": RENAMED}, (PAGE,)),
    ],
    ids=[
        *("tests of users come later", "changed tests come first", "conftest", "helper", "name in users"),
        *("configured names of files", "types and new syntax", "doctests of the module", "changed import"),
    ],
)
def test_tests_that_use_the_change_are_reached(
    select_tests: Reached, more: dict[str, str], change: dict[str, str], tests: tuple[str, ...]
) -> None:
    assert select_tests(change, {**SHOP, **more}) == tests


@pytest.mark.parametrize("path", ["pyproject.toml", "shop/data.json", "pytest.ini", "shop/fast.c"])
def test_configuration_and_data_reach_everything(select_tests: Reached, path: str) -> None:
    assert select_tests({path: "x = 1\n"}) is None


def test_import_time_code_and_new_syntax_reach_users(select_tests: Reached) -> None:
    generic = "class Box[T]:\n    pass\n\n\ntype Pair[T] = tuple[T, T]\n\n\n"
    base = {**SHOP, "shop/bill.py": generic + SHOP["shop/bill.py"]}
    change = {"shop/bill.py": base["shop/bill.py"] + "install()\n"}
    assert select_tests(change, base) == ("tests/test_bill.py", "tests/test_page.py")


@pytest.mark.parametrize(
    ("options", "has_examples", "text"),
    [
        ("--doctest-glob=*.md", True, ("guide.md",)),
        ("--doctest-glob '*.md'", True, ("guide.md",)),
        ("--doctest-glob=*.md", False, ()),
        ("--doctest-glob=*.rst", True, ()),
        ("-q", True, ()),
    ],
)
def test_examples_in_texts_are_tests(
    select_tests: Reached, options: str, has_examples: bool, text: tuple[str, ...]
) -> None:
    examples = ">>> 1\n1\n" if has_examples else "prose"
    base = {**SHOP, "guide.md": examples, "pytest.ini": f"[pytest]\naddopts = {options}\n"}
    assert select_tests(SHOWN, base) == (*text, PAGE)


def test_any_test_is_reached_where_none_is_known_to(select_tests: Reached) -> None:
    base = {
        "shop/cart.py": "def total(prices):\n    return sum(prices)\n",
        "shop/commands/bill.py": "from shop.cart import total\n\nBILL = total([])\n",
        "tests/test_bill.py": "def test_bill():\n    assert call_command('bill')\n",
    }
    change = {"shop/cart.py": "def total(prices):\n    return sum(prices, 0)\n"}
    assert select_tests(change, base) is None


def test_django_loads_by_names_in_settings(select_tests: Reached) -> None:
    base = {
        "manage.py": "import os\n\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'site.settings')\n",
        "shop/views.py": "def total(request):\n    return 1\n",
        "tests/test_pages.py": "def test_page(client):\n    assert client.get('/')\n",
        "tests/test_views.py": "from shop.views import total\n\n\ndef test_total():\n    assert total(0)\n",
    }
    change = {"shop/views.py": "def total(request):\n    return 2\n"}
    assert select_tests(change, base) == ("tests/test_views.py", "tests/test_pages.py")


CALLED_BY_COMPUTED_NAME = {
    "shop/visit.py": (
        "class Visitor:\n    def visit(self, node):\n        return getattr(self, 'visit_' + node)()\n\n"
        "    def visit_price(self):\n        return 1\n"
    ),
    "tests/test_visit.py": (
        "from shop.visit import Visitor\n\n\ndef test_visit():\n    assert Visitor().visit('price') == 1\n"
    ),
    "tests/test_other.py": "def test_other():\n    pass\n",
}
DEEP = {
    "shop/deep.py": "".join(f"def f{n}():\n    return f{n + 1}()\n\n\n" for n in range(5))
    + "def f5():\n    return 1\n",
    "tests/test_deep.py": "from shop.deep import f0\n\n\ndef test_deep():\n    assert f0() == 1\n",
    "tests/test_other.py": "def test_other():\n    pass\n",
}
HELPED = {
    "shop/cart.py": "def total(prices):\n    return 1\n",
    "tests/util.py": (
        "from shop.cart import total\n\n\ndef check():\n    assert total([]) == 1\n\n\n"
        "def check_all():\n    check()\n"
    ),
    "tests/test_total.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([]) == 1\n",
    "tests/test_util.py": "from tests.util import check_all\n\n\ndef test_all():\n    check_all()\n",
    "tests/test_other.py": "def test_other():\n    pass\n",
}
REGISTERED = {
    "shop/plugin.py": "@register\ndef cart():\n    return 1\n",
    "shop/cli.py": "from shop import plugin as _\n\n\ndef main():\n    pass\n",
    "tests/test_cli.py": "from shop.cli import main\n\n\ndef test_main():\n    main()\n",
    "tests/test_other.py": "def test_other():\n    pass\n",
}


@pytest.mark.parametrize(
    ("base", "path", "tests"),
    [
        (CALLED_BY_COMPUTED_NAME, "shop/visit.py", ("tests/test_visit.py",)),
        (DEEP, "shop/deep.py", ("tests/test_deep.py",)),
        (HELPED, "shop/cart.py", ("tests/test_total.py", "tests/test_util.py")),
        (REGISTERED, "shop/plugin.py", ("tests/test_cli.py",)),
    ],
    ids=["computed name", "deep", "helper", "registered"],
)
def test_follows_callers_until_they_lead_to_tests(
    select_tests: Reached, base: dict[str, str], path: str, tests: tuple[str, ...]
) -> None:
    assert select_tests({path: base[path].replace("return 1", "return 2")}, base) == tests


def test_other_packages_are_reached_through_what_they_import(select_tests: Reached) -> None:
    base = {f"{name}/pyproject.toml": "[tool.pytest.ini_options]\n" for name in "abcd"}
    for name, used in zip("abcd", ("pkg_a", "pkg_a", "pkg_b", "pkg_d"), strict=True):
        base[f"{name}/pkg_{name}/__init__.py"] = f"from {used} import calc\n"
        base[f"{name}/pkg_{name}/calc.py"] = "def total(v):\n    return v\n"
        base[f"{name}/tests/test_calc.py"] = f"from pkg_{name}.calc import total\n\ndef test_t(): total(1)\n"
    files = select_tests({"a/pkg_a/calc.py": "def total(v):\n    return 1\n"}, base)
    assert files == ("a/tests/test_calc.py", "b/tests/test_calc.py", "c/tests/test_calc.py")


def test_data_of_tests_is_a_source_where_a_source_names_it(tmp_path: Path) -> None:
    """A name that several files have says which of them only with the folder."""
    names = ["tests/golden/schema.json", "tests/roots/one/index.rst", "tests/roots/two/index.rst"]
    names += ["tests/pages/index.html", "shop/pages/index.html", "tests/forms/form.html", "docs/form.html"]
    source = "open('golden/schema.json')\nROOT = 'index.rst'\nPAGE = 'index.html'\nFORM = 'forms/form.html'\n"
    write(tmp_path, {**dict.fromkeys(names, ""), "shop/core.py": source})
    tests = [name for name in names if name.startswith("tests/")]
    assert find_paths_in_sources(tmp_path, tests) == {"tests/golden/schema.json", "tests/forms/form.html"}


MAKES_CASES = "FILES = find_files('check-*.test')\n\n\nclass Suite(DataSuite):\n    pass\n"
READS_CASES = "def test_case():\n    check({})\n"


@pytest.mark.parametrize(
    ("files", "data", "tests"),
    [
        ({"tests/test_all.py": MAKES_CASES}, "tests/data/check-a.test", ("tests/test_all.py::check-a.test",)),
        ({"tests/test_all.py": MAKES_CASES}, "tests/data/parse-a.test", ()),
        ({"tests/test_all.py": MAKES_CASES, "tests/test_a.py": "glob('*')"}, "tests/data/parse-a.test", ()),
        ({"tests/test_a.py": READS_CASES.format("'a.toml'")}, "tests/data/a.toml", ("tests/test_a.py",)),
        ({"tests/test_a.py": READS_CASES.format("'cases'")}, "tests/data/cases/a.txt", ("tests/test_a.py",)),
        ({"tests/test_a.py": READS_CASES.format("'cases'")}, "tests/data/cases/a.py", ("tests/test_a.py",)),
        ({"tests/test_a.py": READS_CASES.format("'test'")}, "tests/data/a.txt", ()),
        (
            {"tests/test_a.py": "@mark.sphinx(testroot='ext-a')\n" + READS_CASES.format("")},
            "tests/roots/test-ext-a/index.rst",
            ("tests/test_a.py",),
        ),
        (
            {"conftest.py": "def pytest_collect_file(): '.yaml'\n", "tests/test_a.py": "'a.yaml'\n"},
            "tests/a.yaml",
            ("tests/a.yaml",),
        ),
    ],
)
def test_finds_tests_of_data(
    files: dict[str, str], data: str, tests: tuple[str, ...], tmp_path: Path
) -> None:
    write(tmp_path, {**files, data: ""})
    assert find_data_tests(tmp_path, [data]) == {data: tests}


@pytest.mark.parametrize(
    ("path", "is_data"),
    [
        ("tests/cases/a.py", True),
        ("tests/cases/used.py", False),
        ("tests/conftest.py", False),
        ("b.py", False),
    ],
)
def test_python_that_nothing_imports_is_data_of_tests(tmp_path: Path, path: str, is_data: bool) -> None:
    write(tmp_path, {path: "", "tests/test_a.py": "from .cases.used import x\nread('cases')\n"})
    assert is_source_as_data(tmp_path, path) == is_data


@pytest.mark.parametrize(
    "user",
    [
        "from shop.cart import total as sum_of\n\n\ndef pay(prices):\n    return sum_of(prices)\n",
        "from shop.cart import total\n\nWAYS = [total]\n\n\ndef pay(prices):\n    return WAYS[0](prices)\n",
        "def pay(prices):\n    from shop.cart import total as sum_of\n    return sum_of(prices)\n",
        "import shop.cart as c\n\n\ndef pay(prices):\n    return getattr(c, 'to' + 'tal')(prices)\n",
        "from shop.cart import *\n\npay = lambda prices: total(prices)\n",
    ],
)
def test_users_by_another_name_are_reached(select_tests: Reached, user: str) -> None:
    base = {
        **SHOP,
        "shop/pay.py": user,
        "tests/test_pay.py": "from shop.pay import pay\n\n\ndef test_pay():\n    assert pay([1]) == 1\n",
    }
    renamed = {"shop/cart.py": SHOP["shop/cart.py"].replace("total", "whole")}
    for change in (SUMMED, renamed):
        reached = select_tests(change, base)
        assert reached is not None
        assert reached[0] == "tests/test_cart.py"
        assert "tests/test_pay.py" in reached
        assert "tests/test_user.py" not in reached


@pytest.mark.parametrize(
    "start",
    ["subprocess.check_call(['shop'])", "await asyncio.create_subprocess_exec('shop')", "os.popen('shop')"],
)
def test_tests_that_start_programs_are_reached(select_tests: Reached, start: str) -> None:
    program = f"async def test_cli():\n    {start}\n"
    base = {**SHOP, "shop/__main__.py": "from shop.cart import total\n", "tests/test_cli.py": program}
    reached = select_tests(SUMMED, base)
    assert reached is not None
    assert (reached[0], reached[-1]) == ("tests/test_cart.py", "tests/test_cli.py")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from a import (\n    b,  # the first, of two\n    c as d,\n)\n", {"a", "a.b", "a.c"}),
        ("from a import b, \\\n    c\n", {"a", "a.b", "a.c"}),
        ("import a as b, c.d\n", {"a", "c.d"}),
        ("def f():\n    from . import f\n    from ..g import h\n", {".", ".f", "..g", "..g.h"}),
        ("if x: pass\nfrom .a import *; y = 1\n", {".a", ".a.*"}),
        ('"""Use it so:\n\n>>> from a import b\n"""\n', {"a", "a.b"}),
        ("important = 1\nfrom_a = important\n", set()),
        ("def (\nimport a\n", {"a"}),
    ],
)
def test_reads_every_form_of_import(text: str, names: set[str]) -> None:
    assert imported_names(text) == names


def test_dynamic_import_may_import_everything(select_tests: Reached) -> None:
    found = "import importlib\n\n\ndef find(name):\n    return importlib.import_module(name)\n"
    base = {"shop/__init__.py": "", "shop/lonely.py": "N = 1\n", "shop/found.py": found}
    tests = {"tests/test_found.py": "from shop.found import find\n", "tests/test_other.py": ""}
    assert select_tests({"shop/lonely.py": "N = 2\n"}, {**base, **tests}) == ("tests/test_found.py",)


def test_pipe_among_modules_does_not_block(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write(old, {"b.py": "", "test_a.py": "import b\n"})
    write(new, {"b.py": "B = 1\n", "test_a.py": "import b\n"})
    os.mkfifo(new / "pipe.py")
    selection = select_test_files(old, new, ["b.py"])
    assert selection is not None and selection.files == ("test_a.py",)
