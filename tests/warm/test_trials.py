"""Trials of edits in forks of a process that has collected real tests, and line coverage of these."""

import ast
import os
import textwrap
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from coder.behavior.comparison import group_by_answers, read_answers
from coder.behavior.runs import TARGET as BEHAVIOR_TARGET
from coder.core.ports import Edit, Limits, TextChange, Traces
from coder.sandbox.process import ProcessSandbox
from coder.verify.launch import TARGET as RUN_TARGET
from coder.warm.trials import TARGET, PytestTrials, SwappableModule, first_line
from tests.builders import find_project, write

Outcomes = Callable[..., list[tuple[str, str]]]
SHOP = {
    "shop.py": """\
import functools

RATE = 2


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


class Cart(dict):
    @logged
    def total(self):
        return sum(self.values()) - 1

    def get(self, key):
        return super().get(key, 0)


@functools.lru_cache
def price(name):
    return len(name) + 1


def rated(number, rate=RATE):
    return number * rate
""",
    "tests/test_shop.py": """\
import pytest
from shop import Cart, price, rated

PRICES = [3, 1, 2]

def test_total():
    assert Cart(a=1, b=2).total() == 3

def test_get():
    assert Cart(a=1).get("b") == 0

def test_price():
    assert price("abc") == 3

def test_rated():
    assert rated(2) == 6

@pytest.mark.parametrize("given", [[]])
def test_leaves_something_behind(given):
    given.append(Cart().total())
    assert given == [-1]
""",
}


def make_trials(sandbox: ProcessSandbox, root: Path, files: dict[str, str]) -> PytestTrials:
    """Return the trials of a project that has these files."""
    write(root, files)
    project = find_project(root, sandbox=sandbox, environment=os.environ)
    return PytestTrials(
        project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=Limits(memory_bytes=None)
    )


@pytest.fixture
def try_edits(sandbox: ProcessSandbox, tmp_path: Path) -> Outcomes:
    """Return a function that tries (old, new) edits of one file and returns (outcome, the test that was
    not green) of each.
    """

    def make(
        files: dict[str, str],
        tests: list[str],
        edits: list[tuple[str, str]],
        *,
        path: str = "shop.py",
        guards: tuple[str, ...] = (),
        seconds: float = 30.0,
    ) -> list[tuple[str, str]]:
        root = tmp_path / "project"
        trials = make_trials(sandbox, root, files)
        edit_list = [replacement(files[path], path, old, new, guards) for old, new in edits]
        before = {name: name.read_bytes() for name in root.rglob("*") if name.is_file()}
        results: list[tuple[str, str]] = [
            (trial.outcome, trial.test.partition("::")[2])
            for trial in trials.try_out(root, tests, edit_list, seconds=seconds)
        ]
        assert {name: name.read_bytes() for name in root.rglob("*") if name.is_file()} == before
        return results

    return make


def replacement(text: str, path: str, old: str, new: str, guards: tuple[str, ...] = ()) -> Edit:
    start = text.index(old)
    changes = (TextChange(start=start, end=start + len(old), text=new),)
    return Edit(path=path, changes=changes, line=1, family="", summary="", guards=guards)


def test_tries_edits_of_modules_loaded_by_another_path_or_by_hand(try_edits: Outcomes) -> None:
    loaded = """\
import importlib.util
from pathlib import Path

spec = importlib.util.spec_from_file_location("hand", Path(__file__).parent / ".." / "shop.py")
hand = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hand)

def test_two():
    assert hand.two() == hand.TWO == 2
"""
    files = {"shop.py": "TWO = 1\n\n\ndef two():\n    return TWO\n", "tests/test_two.py": loaded}
    edits = [("TWO = 1", "TWO = 2"), ("return TWO", "return 2")]
    assert try_edits(files, ["tests/test_two.py::test_two"], edits) == [
        ("passed", ""),
        ("failed", "test_two"),
    ]


def test_quick_targets_are_tried_first(try_edits: Outcomes) -> None:
    tests = "from shop import f\n\ndef test_slow():\n    assert sum(range(3_000_000)) and f(1) == 2\n\n"
    files = {
        "shop.py": "def f(n):\n    return n - 1\n",
        "tests/test_shop.py": f"{tests}def test_quick():\n    assert f(1) == 2\n",
    }
    targets = [f"tests/test_shop.py::test_{name}" for name in ("slow", "quick")]
    assert try_edits(files, targets, [("n - 1", "n")]) == [("failed", "test_quick")]


def test_each_edit_is_tried_by_itself(try_edits: Outcomes) -> None:
    """Neither what one does to the process nor its results affect the others."""
    summed = {
        "0": "failed",
        "[0 for _ in iter(int, 1)]": "timeout",
        "__import__('threading').Event().wait() or 1": "timeout",
        "__import__('os')._exit(3)": "crashed",
        "sum(self.keys())": "failed",
        "sum(self.values()) - (": "invalid",
        "sum(self.values())": "passed",
    }
    edits = [("sum(self.values()) - 1", new) for new in summed]
    # a method with free variables: its module is executed again
    freed = [("super().get(key, 0)", new) for new in ("dict.get(self, key, 0)", "super().get(key, 0) or 0")]
    many = [*edits, *freed, *[("- 1", "- 2")] * 40, *edits]
    results = [outcome for outcome, _ in try_edits(SHOP, ["tests/test_shop.py::test_total"], many)]
    assert results == [*summed.values(), *["failed"] * 42, *summed.values()]


@pytest.mark.thorough
def test_reexecutes_import_time_code_with_edit(try_edits: Outcomes) -> None:
    edits = [("RATE = 2", f"RATE = {new}") for new in ("3", "4", "None.x")]
    edits += [("rate=RATE", "rate=3"), ("* rate", "* 3")]
    results = try_edits(SHOP, ["tests/test_shop.py::test_rated"], edits)
    assert results == [("passed", ""), ("failed", "test_rated"), ("failed", ""), *[("passed", "")] * 2]


@pytest.mark.thorough
def test_leaves_results_of_other_processes_to_confirmation(try_edits: Outcomes) -> None:
    tests = """\
        import subprocess, sys
        import shop

        def test_here():
            assert shop.price() == 2

        def test_there():
            assert subprocess.check_output(\
[sys.executable, "-c", "import shop; print(shop.price())"]).strip() == b"2"
        """
    files = {"shop.py": "def price():\n    return 3\n", "tests/test_shop.py": textwrap.dedent(tests)}
    here, there = "tests/test_shop.py::test_here", "tests/test_shop.py::test_there"
    assert try_edits(files, [here, there], [("3", "2"), ("3", "4")]) == [
        ("passed", ""),
        ("failed", "test_here"),
    ]
    assert try_edits(files, [there], [("3", "2")]) == [("failed", "test_there")]


@pytest.mark.thorough
def test_method_with_super_call_updates_existing_objects(try_edits: Outcomes) -> None:
    shop = """\
        class Base:
            def price(self):
                return 1

        class Dear(Base):
            def price(self, more=2):
                return more

            def double(self):
                return 2 * super().price()
        """
    tests = """\
        import shop

        HELD = shop.Dear()

        def test_price():
            assert HELD.price() == 3

        def test_double():
            assert HELD.double() == 4
        """
    files = {"shop.py": textwrap.dedent(shop), "tests/test_shop.py": textwrap.dedent(tests)}
    edits = [
        ("return more", new)
        for new in ("return more - super().price()", "return super().price() + more", "return more")
    ] * 20
    results = try_edits(files, ["tests/test_shop.py::test_price"], edits)
    assert [outcome for outcome, _ in results] == ["failed", "passed", "failed"] * 20
    results = try_edits(
        files, ["tests/test_shop.py::test_double"], [("super()", "self"), ("2 * super().price()", "4")]
    )
    assert [outcome for outcome, _ in results] == ["passed", "passed"]


@pytest.mark.thorough
def test_detects_state_left_by_batch(try_edits: Outcomes) -> None:
    tests = (
        "import shop\n\ndef test_it():\n    assert shop.fresh() == 5\n\ndef test_clean():\n"
        "    assert shop.SEEN == []\n"
    )
    files = {
        "shop.py": "SEEN = []\n\n\ndef fresh():\n    return len(SEEN) + 1\n",
        "tests/test_shop.py": tests,
    }
    spoiling = [("len(SEEN) + 1", f"SEEN.append({number}) or 0") for number in range(40)]
    results = try_edits(
        files,
        ["tests/test_shop.py::test_it"],
        [*spoiling, ("len(SEEN) + 1", "len(SEEN) + 5")],
        guards=("tests/test_shop.py::test_clean",),
    )
    assert results[-1] == ("passed", "")


@pytest.mark.thorough
def test_keeps_plugin_setup_and_rebuilds_project_setup(try_edits: Outcomes, tmp_path: Path) -> None:
    plugin = """\
        import pytest

        @pytest.fixture(scope="session", autouse=True)
        def {name}():
            print("begun", file=open({file!r}, "a"))
        """
    plugins, counts = tmp_path / "plugins", {name: tmp_path / name for name in ("theirs", "ours")}
    fixture = {
        name: textwrap.dedent(plugin.format(name=name, file=str(file))) for name, file in counts.items()
    }
    write(plugins, {"their_plugin.py": fixture["theirs"]})
    conftest = f'import sys\nsys.path.insert(0, {str(plugins)!r})\npytest_plugins = ["their_plugin"]\n'
    test = "import shop\n\ndef test_it():\n    assert shop.value() == 5\n"
    files = {"shop.py": "def value():\n    return 1\n", "conftest.py": conftest, "tests/test_shop.py": test}
    edits = [("return 1", f"return {100 + number}") for number in range(64)]
    try_edits(files, ["tests/test_shop.py::test_it"], edits)
    assert 0 < counts["theirs"].read_text().count("begun") < 64
    try_edits({**files, "conftest.py": conftest + fixture["ours"]}, ["tests/test_shop.py::test_it"], edits)
    assert counts["ours"].read_text().count("begun") > 64


@pytest.mark.thorough
def test_skipping_is_not_passing_and_subtests_count(try_edits: Outcomes) -> None:
    code = """\
        import unittest
        import shop

        class Case(unittest.TestCase):
            def test_parts(self):
                if shop.state() == "skip":
                    self.skipTest("no")
                for number in (1, 2):
                    with self.subTest(number=number):
                        self.assertIn(shop.state(), ("good", number))
        """
    files = {"shop.py": "def state():\n    return 'bad'\n", "tests/test_shop.py": textwrap.dedent(code)}
    edits = [("'bad'", new) for new in ("'skip'", "1", "'good'")]
    results = try_edits(files, ["tests/test_shop.py::Case::test_parts"], edits)
    assert [outcome for outcome, _ in results] == ["failed", "failed", "passed"]


@pytest.mark.thorough
def test_closing_iterator_ends_work_immediately(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    trials = make_trials(sandbox, tmp_path, SHOP)
    edit = replacement(SHOP["shop.py"], "shop.py", "- 1", "- __import__('time').sleep(0.05)")
    results = trials.try_out(tmp_path, ["tests/test_shop.py::test_total"], [edit] * 2000, seconds=60.0)
    assert len(list(islice(results, 3))) == 3
    start = time.monotonic()
    results.close()
    assert time.monotonic() - start < 5.0
    assert not any(sandbox.scratch.iterdir()) or all(
        not path.name.startswith("trials-") for path in sandbox.scratch.iterdir()
    )


ENDLESS = "def halved(number):\n    while number > 1:\n        number // 2\n    return number\n"


@pytest.mark.thorough
def test_endless_test_gets_time_of_other_tests(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    tests = (
        "from a import halved\n\ndef test_it():\n    assert halved(8) == 1\n\ndef test_none():\n"
        "    assert halved(1) == 1\n"
    )
    trials = make_trials(sandbox, tmp_path, {"a.py": ENDLESS, "tests/test_a.py": tests})
    news = ("number *", "number = number //", "number = number +")
    edits = [replacement(ENDLESS, "a.py", "number //", new) for new in news]
    targets = ["tests/test_a.py::test_it", "tests/test_a.py::test_none"]
    results = trials.try_out(tmp_path, targets, edits, seconds=30.0)
    assert [trial.outcome for trial in results] == ["timeout", "passed", "timeout"]


def test_the_oldest_python_can_import_what_runs_in_the_project() -> None:
    """Annotations are never evaluated there; a type that a module gives a name to is, and Python 3.8
    cannot subscript most.
    """
    for file in [*RUN_TARGET.rglob("*.py"), *BEHAVIOR_TARGET.rglob("*.py"), *TARGET.rglob("*.py")]:
        body = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8)).body
        values = [node.value for node in body if isinstance(node, ast.Assign)]
        assert not [
            value
            for value in values
            if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name)
        ], file.name


def test_records_what_calls_give_with_each_edit(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    root = tmp_path / "project"
    files = {
        "shop.py": "def limit():\n    return 3\n",
        "tests/test_shop.py": "from shop import limit\n\ndef test_limit():\n    assert limit() == 4\n",
    }
    trials = make_trials(sandbox, root, files)
    edits = [replacement(files["shop.py"], "shop.py", "3", new) for new in ("4", "2 + 2", "5", "(")]
    request = {
        "modules": str(BEHAVIOR_TARGET),
        "changed": [("shop.py", "limit")],
        "literals": [],
        "ignored": [],
        "targets": ["tests/test_shop.py::test_limit"],
        "tests": ["tests/test_shop.py"],
        "others": [],
        "seconds": 60.0,
    }
    records = trials.record_calls(root, edits, request, seconds=120.0)
    assert [{row["answer"] for row in rows} for rows in records] == [{"4"}, {"4"}, {"5"}, set()]
    assert group_by_answers([*map(read_answers, records)]).classes == ((0, 1), (2,), (3,))


TEXT = textwrap.dedent(
    '''\
    from __future__ import annotations

    LIMIT = 3

    if LIMIT:
        class Shop(Base):
            """Sells."""

            tax = 1

            @cached
            def total(self, extra=0):
                é = "ü" + super().total()
                return é + extra
    else:
        def total():
            return LIMIT
    '''
)


def test_compiles_only_the_statement_around_the_function() -> None:
    module = SwappableModule(TEXT)
    change = replacement(TEXT, "a.py", "é + extra", "é - extra")
    outer = module.function_of(change.changes)
    assert outer is not None
    assert (outer.name, first_line(outer), module.future) == ("total", 11, ("annotations",))
    wanted = TEXT.replace("é + extra", "é - extra").split("\n")
    assert module.isolate(outer, change.changes).split("\n") == ["", "", "", "", *wanted[4:]]
    assert "é + extra" in module.isolate(outer)
    assert module.function_of(replacement(TEXT, "a.py", "tax = 1", "tax = 2").changes) is None


FILES = {
    "shop.py": """\
class Cart:
    def __init__(self, prices):
        self.prices = prices

    def __repr__(self):
        return "cart"

    def total(self):
        if not self.prices:
            return 1
        return sum(self.prices)


def unused():
    return 0
""",
    "tests/test_far.py": "def test_far():\n    assert True\n",
    "tests/test_shop.py": """\
import threading
from shop import Cart

def test_full():
    assert Cart([1, 2]).total() == 3

def test_empty():
    assert Cart([]).total() == 0, Cart([])

def test_elsewhere():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(Cart([1]).total()))
    thread.start()
    thread.join()
    assert seen == [1]
""",
}
EMPTY = "tests/test_shop.py::test_empty"
Trace = Callable[..., Traces]


@pytest.fixture
def trace(sandbox: ProcessSandbox, tmp_path: Path) -> Trace:
    def make(
        files: dict[str, str], tests: list[str], seconds: float = 30.0, test_seconds: float = 10.0
    ) -> Traces:
        root = tmp_path / "project"
        write(root, files)
        project = find_project(root, sandbox=sandbox, environment={"PATH": os.environ["PATH"]})
        tracer = PytestTrials(
            project=project,
            sandbox=sandbox,
            scratch=sandbox.scratch,
            limits=Limits(memory_bytes=None),
            test_seconds=test_seconds,
        )
        return tracer.trace(root, tests, seconds=seconds)

    return make


def test_separates_lines_by_test_failing_first(trace: Trace) -> None:
    traces = trace(FILES, [EMPTY])
    assert traces.problem is None
    assert {
        test.result.id.partition("::")[2]: (test.result.outcome, dict(test.lines)) for test in traces.tests
    } == {
        "test_empty": ("failed", {"shop.py": (3, 9, 10)}),
        "test_full": ("passed", {"shop.py": (3, 9, 11)}),
        "test_elsewhere": ("passed", {"shop.py": (3, 9, 11)}),
        "test_far": ("passed", {}),
    }
    assert traces.tests[0].result.id == EMPTY
    assert traces.tests[-1].result.id == "tests/test_far.py::test_far"
    assert traces.tests[0].result.failure is not None


def test_follows_sources_imported_by_another_path(trace: Trace) -> None:
    files = {
        "src/shop.py": FILES["shop.py"],
        "conftest.py": "import sys\nfrom pathlib import Path\n"
        "sys.path.insert(0, str(Path(__file__).parent / 'tests' / '..' / 'src'))\n",
        "tests/test_shop.py": FILES["tests/test_shop.py"],
    }
    assert trace(files, [EMPTY]).tests[0].lines == {"src/shop.py": (3, 9, 10)}


def test_a_file_that_the_configuration_collects_is_no_source(trace: Trace) -> None:
    files = {
        "pytest.ini": "[pytest]\npython_files = check_*.py\npythonpath = .\n",
        "shop.py": FILES["shop.py"],
        "checks/check_shop.py": FILES["tests/test_shop.py"],
    }
    traces = trace(files, ["checks/check_shop.py::test_empty"])
    assert {path for test in traces.tests for path in test.lines} == {"shop.py"}


@pytest.mark.thorough
def test_time_limit_leaves_only_failing_tests_run(trace: Trace) -> None:
    assert [test.result.id for test in trace(FILES, [EMPTY], seconds=0.0).tests] == [EMPTY]


@pytest.mark.thorough
def test_a_test_that_hangs_is_a_failing_test(trace: Trace) -> None:
    files = {
        "loop.py": "def f():\n    while True:\n        pass\n",
        "test_loop.py": "from loop import f\n\ndef test_f():\n    f()\n",
    }
    (test,) = trace(files, ["test_loop.py::test_f"], test_seconds=0.3).tests
    assert test.result.failure is not None
    assert (test.result.outcome, test.result.failure.type, dict(test.lines)) == (
        "failed",
        "TooLong",
        {"loop.py": (2, 3)},
    )


@pytest.mark.thorough
def test_tracing_continues_after_long_running_code(trace: Trace) -> None:
    shop = (
        "def slow(times):\n    for _ in range(times):\n        pass\n    return rest(times)\n\n"
        "def rest(times):\n    return times\n"
    )
    tests = (
        "from shop import slow\n\ndef test_long():\n    assert slow(90_000) == 0\n\ndef test_short():\n"
        "    assert slow(2) == 2\n"
    )
    traces = trace({"shop.py": shop, "tests/test_shop.py": tests}, ["tests/test_shop.py::test_long"])
    long, short = ({*test.lines["shop.py"]} for test in traces.tests)
    assert {2, 3, 7} <= long
    assert short == {2, 3, 4, 7}


@pytest.mark.thorough
def test_calls_outside_project_keep_tracing(trace: Trace) -> None:
    tests = (
        "from shop import late\n\ndef test_late():\n    for _ in range(250_000):\n"
        "        (lambda: None)()\n    assert late()\n"
    )
    traces = trace(
        {"shop.py": "def late():\n    return 0\n", "tests/test_shop.py": tests},
        ["tests/test_shop.py::test_late"],
    )
    assert [dict(test.lines) for test in traces.tests] == [{"shop.py": (2,)}]


@pytest.mark.thorough
def test_keeps_traceback_of_collection_error(trace: Trace) -> None:
    shop = "def half(price):\n    return price / none\n\n\nHALF = half(2)\n"
    files = {
        "shop.py": shop,
        "tests/test_shop.py": "import shop\n\n\ndef test_half(): pass\n",
        "tests/test_far.py": "def test_far(): pass\n",
    }
    lost, other = trace(files, ["tests/test_shop.py"]).tests
    assert (lost.result.id, dict(lost.lines), other.result.outcome) == (
        "tests/test_shop.py",
        {"shop.py": (2, 5)},
        "passed",
    )
