"""Comparison of the behavior of real changes, in place and outside of the tests."""

import json
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
BOOK = """
import tempfile

BOOK = tempfile.TemporaryFile("w+")


def ordinal(number):
    BOOK.write(f"{number}\\n")
    BOOK.seek(0)
    return BOOK.readlines()


def page(number):
    assert ordinal(number) == ["11\\n"]
"""
SHELF = """
class Shelf:
    def __init__(self, books):
        self.books, self.color = books, "red"

    def count(self):
        return self.total()

    def total(self):
        return len(self.books)


def page(number):
    return Shelf([number]).count()
"""
PRICES = """
class Shown:
    def text(self, number):
        return str(number)


class Price(Shown):
    pass


class Weight(Shown):
    pass


def page(number):
    Weight().text(7)
    return Price().text(number)
"""
MANAGED = """
import contextlib


@contextlib.contextmanager
def ordinal(number):
    yield number


def page(number):
    with ordinal(number) as shown:
        return shown
"""
LOOP = """
def ordinal(number):
    while number != 11:
        pass


def page(number):
    return ordinal(number)
"""
PAGE = "\n\ndef page(number):\n    return 'page ' + ordinal(number)\n"


@pytest.mark.parametrize(
    ("text", "changed", "answers", "absent"),
    [
        (BASE + PAGE, "ordinal", {"near page(12)": "'page 12nd'"}, "?"),
        (FACTORY + PAGE, "ordinals", {"near page(12)": "'page 12nd'"}, "?"),
        (BOOK, "ordinal", {"own ordinal(11)": r"['11\n']", "near ordinal(12)": r"['12\n']"}, "?"),
        (SHELF, "Shelf.count", {"state Shelf(books=[11, 11], color='red').count()": "2"}, "color='r*'"),
        (PRICES, "Price.text", {"near page(12)": "'12'", "near Price().text(12)": "'12'"}, "Weight"),
        (LOOP, "ordinal", {"own page(11)": "None"}, "?"),
        (MANAGED, "ordinal", {"cut ": ""}, "?"),
    ],
    ids=[
        *("caller", "made by the change", "open file left as it is", "state that others read"),
        *("method that the other side overrides", "endless", "block that is not made again"),
    ],
)
def test_varies_calls_that_reach_the_change(
    tmp_path: Path, text: str, changed: str, answers: dict[str, str], absent: str
) -> None:
    rows = record(tmp_path, text, changed=changed)
    found = {f"{row['kind']} {row.get('call', '')}": row.get("answer", "") for row in rows}
    assert answers.items() <= found.items(), found
    assert not [call for call in found if absent in call]


def test_records_calls_of_a_target_that_other_tests_made_before(tmp_path: Path) -> None:
    rows = record(tmp_path, BASE + PAGE, tests=("a", "b", "t"))
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

ERRORS = """
class Again(Exception):
    pass


def reason(error):
    return str(error)
"""
ERRORS_TESTS = """
from shop import Again, reason


def test_new():
    try:
        try:
            raise KeyError(3)
        except KeyError:
            raise Again("once more")
    except Again as error:
        assert reason(error) == "3"
"""


class Change(NamedTuple):
    """Edits of a module with tests, the findings about them, and calls with both answers."""

    base: str
    tests: str
    edits: dict[str, str]
    rules: Sequence[str] = ()
    shown: Collection[tuple[str, str, str]] = ()
    targets: Sequence[str] = ("test_new",)


ELEVENTH = {CONDITION: CONDITION[:-1] + " and number % 100 not in (11, 12, 13):"}
SOLD = "return sum(self.prices[1:])"
STRIPPED = {
    "return text[:width]": "return text[:width].rstrip()",
    "        self.text": "        if not text:\n            raise ValueError\n        self.text",
}
REFUSED = ("Label('')", "an instance", "raises ValueError: ")
CUT = ("cut('a  ')", "'a  '", "'a'")
FILLED = "None; state fill(Box(items="
FIXED = ("ordinal(11)", "'11st'", "'11th'")
CHANGES = {
    "right": Change(BASE, TESTS, ELEVENTH, shown=[FIXED]),
    "table": Change(BASE, TESTS, {CONDITION: SPECIAL.format("number == 11")}, ["narrow"], [FIXED]),
    "runner": Change(
        *(BASE, TESTS, {CONDITION: SPECIAL.format("number == 11 and 'pytest' in sys.modules")}),
        ["context", "narrow"],
        [FIXED],
    ),
    "sorts its argument": Change(
        BASE, TESTS, {**ELEVENTH, "return sum": "prices.sort()\n    return sum"}, ["other"]
    ),
    "red before in another test": Change(
        BASE, TESTS.replace('ordinal(1) == "1st"', 'ordinal(12) == "12th"'), ELEVENTH
    ),
    "what cannot be copied": Change(
        BASKET, BASKET_TESTS, {SOLD: "return sum(self.prices[1:]) + 2 * self.notice()"}, ["other"]
    ),
    "variable of the test": Change(
        BASKET, BASKET_TESTS, {SOLD: "return sum(self.prices['SHOP_ALL' not in os.environ:])"}
    ),
    "runner in a method": Change(
        *(BASKET, BASKET_TESTS, {SOLD: "return sum(self.prices['pytest' not in sys.modules:])"}),
        ["context"],
        [("Basket.total()", "3", "5")],
    ),
    "new parameter": Change(
        *(LABELS, LABEL_TESTS, {**STRIPPED, "text, width=6):": "text, width=6, end=''):"}),
        *([], [CUT, REFUSED], ("test_new", "test_label")),
    ),
    "changed default": Change(
        *(LABELS, LABEL_TESTS, {**STRIPPED, "text, width=6):": "text, width=7):"}, ["other"]),
        [
            *(REFUSED, ("cut('abcdefgh')", "'abcdef'", "'abcdefg'")),
            ("cut('q1r2s3t4')", "'q1r2s3'", "'q1r2s3t'"),
        ],
        ("test_new", "test_label"),
    ),
    "differs from run to run": Change(
        *(NOISE, NOISE_TESTS, {'f" {': 'f"{', "TOKEN = ": "RANDOM = random.random()\nTOKEN = "}),
        shown=[("Tag(name='a').show()", "' a'", "'a'")],
    ),
    "behind representations and handlers": Change(
        *(JARS, JARS_TESTS, {"self.size / 2": "(self.size / 2 + (self.size > 9))"}),
        shown=[("Jar(size=20).halves()", "[10, 10]", "[11, 11]")],
    ),
    "what led to an exception": Change(
        *(ERRORS, ERRORS_TESTS, {"str(error)": "str(error.__cause__ or error.__context__ or error)"}),
        shown=[("reason(Again('once more'))", "'once more'", "'3'")],
    ),
    "state behind a representation": Change(
        *(GRIDS, GRIDS_TESTS, {"box.items = [item]": "box.items = [*box.items, item]"}, []),
        [("fill(Box, 2)", f"{FILLED}[2], size=1), 2)", f"{FILLED}[1, 2], size=1), 2)")],
        ["test_fill"],
    ),
    "identity and state": Change(
        *(GRIDS, GRIDS_TESTS),
        {
            "[[]] * n": "[[] for _ in range(n)]",
            "return items": "return list(items)",
            "len(self.row)": "len(self.row) + 1",
        },
        shown=[
            ("rows(2)", "[[], the same []]", "[[], []]"),
            ("own([1])", "the same [1]", "[1]"),
            (
                "Sheet(row='a', width=0).text()",
                "'a'; arguments now Sheet(row='a', width=1).text()",
                "'a.'; arguments now Sheet(row='a', width=2).text()",
            ),
        ],
        targets=("test_new", "test_copy", "test_text"),
    ),
}
BY_HAND = (
    "right",
    "table",
    "runner",
    "what cannot be copied",
    "variable of the test",
    "new parameter",
    "state behind a representation",
)


@pytest.mark.parametrize("case", [*(case for case in CHANGES if case not in BY_HAND), *by_hand(*BY_HAND)])
def test_tells_what_a_change_does(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox, case: str
) -> None:
    change = CHANGES[case]
    text = change.base
    for old, new in change.edits.items():
        text = text.replace(old, new)
    report, found = compare(tmp_path, plain_venv, sandbox, text, change.base, change.tests, change.targets)
    assert [finding.rule.removeprefix("behavior-") for finding in found] == [*change.rules]
    assert all(finding.rule in REMEDIES for finding in found)
    assert report is not None
    shown = {(example.call, example.before, example.after) for example in report.examples}
    assert {*change.shown} <= shown
    if change.base is NOISE:
        assert {example.function for example in report.examples} == {"shop.py::Tag.show"}
    if change.base is JARS:
        assert report.compared == report.calls - 1


def test_tells_nothing_of_a_change_without_an_effect(
    tmp_path: Path, plain_venv: Path, sandbox: ProcessSandbox
) -> None:
    assert compare(tmp_path, plain_venv, sandbox, f"# Ordinals.\n{BASE}") == (None, [])


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
    runs = BehaviorRuns(sides=(runner, runner), sandbox=sandbox, scratch=sandbox.scratch, seconds=60)
    old = "tests/test_shop.py::test_old"
    return runs.examine(
        place / "base",
        place / "change",
        ["shop.py"],
        targets=[f"tests/test_shop.py::{name}" for name in targets],
        tests=[old],
    )
