"""Comparison of the behavior of real changes, in place and outside of the tests."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from coder.behavior.runs import TARGET, BehaviorRuns
from coder.core.ports import Execution, Limits
from coder.core.verdict import BehaviorReport, Finding
from coder.core.verdict_summary import REMEDIES
from coder.sandbox.process import ProcessSandbox
from coder.verify.launch import TARGET as RUN_TARGET
from coder.verify.run import PytestRunner
from tests.builders import by_hand, find_project

BASE = """
import sys


def ordinal(number):
    if number % 10 in (1, 2, 3):
        return f"{number}{('st', 'nd', 'rd')[number % 10 - 1]}"
    return f"{number}th"


def total(prices):
    return sum(prices)
"""
TESTS = """
from shop import ordinal, total


def test_new():
    assert ordinal(11) == "11th"


def test_old():
    assert ordinal(1) == "1st"
    assert total([2, 1]) == 3
"""
CONDITION = "if number % 10 in (1, 2, 3):"
SPECIAL = "if {}:\n        return '11th'\n    " + CONDITION
RIGHT = BASE.replace(CONDITION, CONDITION[:-1] + " and number % 100 not in (11, 12, 13):")
CASES = {
    "right": (RIGHT, []),
    "modulus": (BASE.replace("% 10", "% 20"), []),
    "table": (BASE.replace(CONDITION, SPECIAL.format("number == 11")), ["narrow"]),
    "runner": (
        BASE.replace(CONDITION, SPECIAL.format("number == 11 and 'pytest' in sys.modules")),
        ["context", "narrow"],
    ),
    "sorts its argument": (RIGHT.replace("return sum", "prices.sort()\n    return sum"), ["other"]),
    "nothing": (BASE.replace("{number}th", "{number}TH").replace("TH", "th"), []),
}
IN_CI = ("right", "runner", "sorts its argument", "nothing")


@pytest.mark.parametrize("case", [*IN_CI, *by_hand(*sorted(CASES.keys() - {*IN_CI}))])
def test_tells_what_a_change_does(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox, case: str
) -> None:
    text, expected = CASES[case]
    report, found = compare(tmp_path, plain_venv, sandbox, text)
    assert [finding.rule.removeprefix("behavior-") for finding in found] == expected
    assert all(finding.rule in REMEDIES for finding in found)
    if case == "nothing":
        assert report is None
        return
    assert report is not None
    calls = {example.call: example.after for example in report.examples}
    if case == "modulus":
        assert calls["ordinal(31)"] == "'31th'"
    if case in ("right", "runner"):
        assert calls["ordinal(11)"] == "'11th'"


RECORDING = """
import json, os, sys
sys.path[:0] = sys.argv[1:4]
import coder_calls, shop, test_shop
answers = os.path.join(sys.argv[1], "answers")
request = {"answers": answers, "changed": [["shop.py", sys.argv[5]]], "literals": [], "ignored": [],
           "targets": ["t"], "tests": ["test_shop.py"], "seconds": float(sys.argv[4])}
coder_calls.CALL_SECONDS, coder_calls.FORK_SECONDS, coder_calls.VARIED_SECONDS = 0.05, 1.0, 0.5
recorder = coder_calls.CallRecorder(request, sys.argv[1])
for test in sys.argv[6:]:
    recorder.begin(test)
    test_shop.test_new()
sys.setprofile(None)
sys.exit(recorder.is_late)
"""


FACTORY = """
def ordinals():
    def spell(number):
        return f"{number}nd"

    return spell


ordinal = ordinals()
"""


@pytest.mark.parametrize(("text", "changed"), [(BASE, "ordinal"), (FACTORY, "ordinals")])
def test_varies_calls_that_reach_a_changed_function(tmp_path: Path, text: str, changed: str) -> None:
    page = "\n\ndef page(number):\n    return 'page ' + ordinal(number)\n"
    rows = record(tmp_path, text + page, changed=changed)
    calls = {(row["kind"], row["call"]): row["answer"] for row in rows if row["name"] == "page"}
    assert calls["near", "page(12)"] == "'page 12nd'"


def test_repeated_calls_leave_open_files_as_they_are(tmp_path: Path) -> None:
    text = "import tempfile\n\nBOOK = tempfile.TemporaryFile('w+')\n\n\n"
    text += "def ordinal(number):\n    BOOK.write(f'{number}\\n')\n    BOOK.seek(0)\n"
    text += "    return BOOK.readlines()\n\n\n"
    text += "def page(number):\n    assert ordinal(number) == ['11\\n']\n"
    rows = record(tmp_path, text)
    calls = {(row["kind"], row["call"]): row["answer"] for row in rows if row["name"] == "ordinal"}
    assert (calls["own", "ordinal(11)"], calls["near", "ordinal(12)"]) == (r"['11\n']", r"['12\n']")


def test_varies_the_state_that_a_method_reads_through_others(tmp_path: Path) -> None:
    text = "class Shelf:\n    def __init__(self, books):\n        self.books, self.color = books, 'red'\n\n"
    text += "    def count(self):\n        return self.total()\n\n"
    text += "    def total(self):\n        return len(self.books)\n\n\n"
    text += "def page(number):\n    return Shelf([number]).count()\n"
    rows = record(tmp_path, text, changed="Shelf.count")
    states = [row["call"] for row in rows if row["kind"] == "state" and row["name"] == "Shelf.count"]
    assert "Shelf(books=[11, 11], color='red').count()" in states
    assert all("color='red'" in state for state in states)


def test_varies_calls_of_a_method_that_the_other_side_overrides(tmp_path: Path) -> None:
    text = "class Shown:\n    def text(self, number):\n        return str(number)\n\n\n"
    text += "class Price(Shown):\n    pass\n\n\nclass Weight(Shown):\n    pass\n\n\n"
    text += "def page(number):\n    Weight().text(7)\n    return Price().text(number)\n"
    rows = record(tmp_path, text, changed="Price.text")
    calls = {(row["kind"], row["call"]): row["answer"] for row in rows}
    assert calls["near", "page(12)"] == calls["near", "Price().text(12)"] == "'12'"
    assert not [call for _, call in calls if call.startswith("Weight")]


def test_varied_calls_that_do_not_end_leave_time_for_others(tmp_path: Path) -> None:
    text = "def ordinal(number):\n    while number != 11:\n        pass\n"
    rows = record(tmp_path, text + "\n\ndef page(number):\n    return ordinal(number)\n")
    assert ("own", "page(11)") in {(row["kind"], row["call"]) for row in rows}


def test_says_that_the_block_of_a_context_manager_is_not_made_again(tmp_path: Path) -> None:
    text = "import contextlib\n\n\n@contextlib.contextmanager\ndef ordinal(number):\n    yield number\n"
    text += "\n\ndef page(number):\n    with ordinal(number) as shown:\n        return shown\n"
    assert {"kind": "cut"} in record(tmp_path, text)


def test_records_calls_of_a_target_that_other_tests_made_before(tmp_path: Path) -> None:
    text = BASE + "\n\ndef page(number):\n    return 'page ' + ordinal(number)\n"
    rows = record(tmp_path, text, tests=("a", "b", "t"))
    assert {row["test"] for row in rows if row["kind"] == "own" and row["target"]} == {"t"}


def test_other_test_that_does_not_end_is_left_when_time_is_up(tmp_path: Path) -> None:
    text = "import copy\n\ncalls = []\n\n\ndef page(number):\n    calls.append(number)\n"
    text += "    while len(calls) > 1:\n        copy.copy(calls)\n"
    rows = record(tmp_path, text, tests=("t", "other"), seconds=2.0)
    assert {row["test"] for row in rows if row["kind"] == "own"} == {"t", "other"}


def record(
    place: Path,
    text: str,
    tests: Sequence[str] = ("t",),
    *,
    changed: str = "ordinal",
    seconds: float = 20.0,
) -> list[dict[str, Any]]:
    """Return the answers of tests that call `page(11)`, all of which are recorded; `t` is a target."""
    (place / "shop.py").write_text(text)
    (place / "test_shop.py").write_text("import shop\n\n\ndef test_new():\n    shop.page(11)\n")
    paths = map(str, (place, TARGET, RUN_TARGET))
    argv = [sys.executable, "-c", RECORDING, *paths, str(seconds), changed, *tests]
    subprocess.run(argv, check=True, timeout=60)
    return [json.loads(line) for line in (place / "answers").read_text().splitlines()]


class WatchedSandbox(ProcessSandbox):
    """Notes where commands are run: each sees the tree in which it is run, and no other."""

    directories: set[Path]

    def run(self, argv: Sequence[str], *, cwd: Path, **options: Any) -> Execution:
        self.directories.add(cwd)
        return super().run(argv, cwd=cwd, **options)


def test_replays_in_the_tree_that_is_visible(tmp_path: Path, plain_venv: Path) -> None:
    text = BASE.replace(CONDITION, SPECIAL.format("number % 100 == 11 and os.path.exists('shop.py')"))
    with WatchedSandbox(os.environ) as sandbox:
        sandbox.directories = set()
        _, found = compare(tmp_path, plain_venv, sandbox, f"import os\n{text}")
        assert [path for path in sandbox.directories if path.name.startswith("app-")] == []
    assert "behavior-context" in [finding.rule for finding in found]


BASKET = """
import functools
import os
import sys


def whole(function):
    @functools.wraps(function)
    def wrapper(*args):
        return round(function(*args))

    return wrapper


class Basket:
    def __init__(self, prices, notice):
        self.prices = prices
        self.notice = notice

    def __repr__(self):
        return "Basket"

    @whole
    def total(self):
        return sum(self.prices[1:])
"""
BASKET_TESTS = """
from shop import Basket


class Listener:
    def hear(self):
        return 5


def test_new(monkeypatch):
    monkeypatch.setenv("SHOP_ALL", "1")
    assert Basket([2, 3], lambda: 1).total() == 5


def test_old():
    assert Basket([0, 3], Listener()).total() == 3
"""
METHODS = {
    "right": ("return sum(self.prices)", ""),
    "calls what cannot be copied": ("return sum(self.prices[1:]) + 2 * self.notice()", ""),
    "variable of the test": ("return sum(self.prices['SHOP_ALL' not in os.environ:])", ""),
    "runner": ("return sum(self.prices['pytest' not in sys.modules:])", "context"),
}


@pytest.mark.parametrize("case", ["runner", *by_hand(*sorted(METHODS.keys() - {"runner"}))])
def test_calls_decorated_methods_of_objects_that_cannot_be_copied(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox, case: str
) -> None:
    line, expected = METHODS[case]
    text = BASKET.replace("return sum(self.prices[1:])", line)
    report, found = compare(tmp_path, plain_venv, sandbox, text, BASKET, BASKET_TESTS)
    rules = [finding.rule.removeprefix("behavior-") for finding in found]
    assert [rule for rule in rules if rule in ("context", "same", "narrow")] == [expected][: len(expected)]
    assert report is not None
    calls = [example.call for example in report.examples if example.function == "shop.py::Basket.total"]
    assert "Basket.total()" in calls
    assert any("prices=[" in call for call in calls)


LABELS = """
class Label:
    def __init__(self, text, width=6, *, fill=None):
        self.text = text[:width]


def cut(text, width=6):
    return text[:width]
"""
LABEL_TESTS = """
import pytest

from shop import Label, cut


def test_new():
    assert cut("a  ") == "a"


def test_label():
    with pytest.raises(ValueError):
        Label("")


def test_old():
    cut("abcdefgh")
    cut("abcdefgh", 3)
    cut("q1r2s3t4", 3)
"""
SIGNATURES = {
    "right": ("", ""),
    "new parameter": ("text, width=6):", "text, width=6, end=''):"),
    "changed default": ("text, width=6):", "text, width=7):"),
}


@pytest.mark.parametrize("case", ["changed default", *by_hand("new parameter", "right")])
def test_calls_are_written_and_matched_as_callers_write_them(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox, case: str
) -> None:
    text = LABELS.replace("return text[:width]", "return text[:width].rstrip()")
    text = text.replace(
        "        self.text", "        if not text:\n            raise ValueError\n        self.text"
    )
    text = text.replace(*SIGNATURES[case])
    targets = ("test_new", "test_label")
    report, found = compare(tmp_path, plain_venv, sandbox, text, LABELS, LABEL_TESTS, targets)
    assert [finding.rule.removeprefix("behavior-") for finding in found] == (
        ["other"] if case == "changed default" else []
    )
    assert report is not None
    answers = {example.call: (example.before, example.after) for example in report.examples}
    assert case == "changed default" or answers["cut('a  ')"] == ("'a  '", "'a'")
    assert answers["Label('')"] == ("an instance", "raises ValueError: ")
    if case == "changed default":
        assert answers["cut('abcdefgh')"] == ("'abcdef'", "'abcdefg'")
        assert answers["cut('q1r2s3t4')"] == ("'q1r2s3'", "'q1r2s3t'")


NOISE = """
import random
import time

TOKEN = random.random()


class Tag:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"<{self.show()}>"

    def show(self):
        return f" {self.name}"


def draw_token():
    return [TOKEN, random.random()]


def read_clock():
    return time.perf_counter()


def identify(value):
    return [id(value), str(id(value))]


def list_values(values):
    return list(values)
"""
NOISE_TESTS = """
import random

from shop import Tag, draw_token, identify, list_values, read_clock


def test_new():
    assert Tag("a").show() == "a"


def test_old():
    assert draw_token() and read_clock() and identify("a")
    assert list_values(iter(random.choices(range(99), k=9)))
"""


def test_what_differs_from_run_to_run_is_no_difference(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox
) -> None:
    text = NOISE.replace('f" {', 'f"{') + "\n\nRANDOM = random.random()\n"
    report, found = compare(tmp_path, plain_venv, sandbox, text, NOISE, NOISE_TESTS)
    assert found == []
    assert report is not None
    assert {example.function for example in report.examples} == {"shop.py::Tag.show"}
    assert {(example.before, example.after) for example in report.examples if example.tested} == {
        ("' a'", "'a'")
    }


JARS = """
import os


class Jar:
    def __init__(self, size):
        self.size = size

    def __repr__(self):
        return "<Jar>"

    def halves(self):
        return map(int, [self.size / 2, self.size / 2])

    def is_written(self):
        try:
            os.mkdir(str(self.size / 2))
        except:
            return False
        return True
"""
JARS_TESTS = """
from shop import Jar


def test_old():
    assert list(Jar(4).halves()) == [2, 2]
    Jar(4).is_written()


def test_new():
    assert list(Jar(20).halves()) == [11, 11]
"""


def test_sees_what_representations_and_handlers_hide(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox
) -> None:
    text = JARS.replace("self.size / 2", "(self.size / 2 + (self.size > 9))")
    report, found = compare(tmp_path, plain_venv, sandbox, text, JARS, JARS_TESTS)
    assert found == []
    assert report is not None
    answers = {(example.call, example.before, example.after) for example in report.examples}
    assert ("Jar(size=20).halves()", "[10, 10]", "[11, 11]") in answers
    assert report.compared == report.calls - 1


GRIDS = """
class Box:
    def __init__(self, items=None):
        self.items = items or []
        self.size = len(self.items)

    def __repr__(self):
        return "Box"

    def add(self, item):
        return self


def rows(n):
    return [[]] * n


def own(items):
    return items


def fill(box, item):
    box.items = [item]


def label(text):
    return text


class Sheet:
    def __init__(self, row):
        self.row = row
        self.width = 0

    def __repr__(self):
        return self.text()

    def text(self):
        self.width = len(self.row)
        return self.row.ljust(self.width, ".")
"""
GRIDS_TESTS = """
from shop import Box, Sheet, fill, label, own, rows


def test_old():
    assert label("a") == "a"
    assert own([1]) == [1]


def test_new():
    grid = rows(2)
    grid[0].append(1)
    assert grid == [[1], []]


def test_copy():
    items = [1]
    own(items).append(2)
    assert items == [1]


def test_fill():
    box = Box([1])
    fill(box, 2)
    assert box.items == [1, 2]


def test_text():
    assert Sheet("a").text() == "a."
"""
HIDDEN = {
    "one list in all rows": (
        "[[]] * n",
        "[[] for _ in range(n)]",
        "test_new",
        ("rows(2)", "[[], the same []]", "[[], []]"),
    ),
    "the argument itself": (
        "return items",
        "return list(items)",
        "test_copy",
        ("own([1])", "the same [1]", "[1]"),
    ),
    "state behind a representation": (
        "box.items = [item]",
        "box.items = [*box.items, item]",
        "test_fill",
        (
            "fill(Box, 2)",
            "None; state fill(Box(items=[2], size=1), 2)",
            "None; state fill(Box(items=[1, 2], size=1), 2)",
        ),
    ),
    "representation that the change computes, and that alters the object": (
        "len(self.row)",
        "len(self.row) + 1",
        "test_text",
        (
            "Sheet(row='a', width=0).text()",
            "'a'; arguments now Sheet(row='a', width=1).text()",
            "'a.'; arguments now Sheet(row='a', width=2).text()",
        ),
    ),
}


@pytest.mark.parametrize(
    "case", ["one list in all rows", *by_hand(*sorted(HIDDEN.keys() - {"one list in all rows"}))]
)
def test_sees_identity_and_state_that_equal_values_hide(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox, case: str
) -> None:
    old, new, target, example = HIDDEN[case]
    text = GRIDS.replace(old, new)
    report, found = compare(tmp_path, plain_venv, sandbox, text, GRIDS, GRIDS_TESTS, [target])
    assert found == []
    assert report is not None
    assert example in {(shown.call, shown.before, shown.after) for shown in report.examples}


def test_call_of_a_test_that_failed_before_is_none_of_a_passing_test(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox
) -> None:
    tests = TESTS.replace('ordinal(1) == "1st"', 'ordinal(12) == "12th"')
    assert compare(tmp_path, plain_venv, sandbox, RIGHT, tests=tests)[1] == []


def compare(
    place: Path,
    venv: Path,
    sandbox: ProcessSandbox,
    text: str,
    base: str = BASE,
    tests: str = TESTS,
    targets: Sequence[str] = ("test_new",),
) -> tuple[BehaviorReport | None, list[Finding]]:
    for side, source in (("base", base), ("change", text)):
        (place / side / "tests").mkdir(parents=True)
        (place / side / "shop.py").write_text(source)
        (place / side / "conftest.py").touch()
        (place / side / "tests/test_shop.py").write_text(tests)
    environment = {"PATH": os.environ["PATH"], "VIRTUAL_ENV": str(venv)}
    project = find_project(place / "base", sandbox=sandbox, environment=environment, test_command=None)
    runner = PytestRunner(
        project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=Limits(wall_seconds=60.0)
    )
    runs = BehaviorRuns(runner, sandbox=sandbox, scratch=sandbox.scratch, seconds=60)
    old = "tests/test_shop.py::test_old"
    return runs.examine(
        place / "base",
        place / "change",
        ["shop.py"],
        targets=[f"tests/test_shop.py::{name}" for name in targets],
        tests=[old],
    )
