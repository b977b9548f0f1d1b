"""Runs in forks of a process that has collected real tests, beside runs in separate processes."""

import ast
import os
import re
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.core.verdict import TestReport
from coder.sandbox.choice import choose_backend
from coder.sandbox.process import ProcessSandbox
from coder.verify.launch import TARGET
from coder.verify.project import find_project
from coder.verify.run import PytestRunner
from coder.verify.trees import temporary_edits
from coder.verify.warm import Edits, WarmRefusal, WarmResult, WarmRunner
from tests.builders import by_hand, write
from tests.portable import adopts_orphans

CODE = '''\
import functools

RATE = 2
NAMES = []


def listed(function):
    NAMES.append(function.__name__)

    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


def doubled(number):
    return number * 2


TABLE = [doubled(number) for number in range(3)]


class Cart(dict):
    """Holds prices."""

    @listed
    def total(self):
        return sum(self.values())

    def rated(self, rate=RATE):
        return self.total() * rate


def where():
    return where.__code__.co_firstlineno


def forever():
    return 1
'''
TESTS = """\
import inspect, subprocess, sys
from pathlib import Path

import shop


def test_total():
    assert shop.Cart(a=1, b=2).total() == 3


def test_rated():
    assert shop.Cart(a=1, b=2).rated() == 6


def test_table():
    assert shop.TABLE == [0, 2, 4]


def test_source():
    source = Path(shop.__file__).read_text().splitlines()
    assert source[shop.where() - 1] == "def where():"
    assert inspect.getsource(shop.forever).startswith("def forever()")


def test_elsewhere():
    code = "import shop; print(shop.Cart(a=1).total())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "1"


def test_forever(tmp_path, capfd):
    print(tmp_path)
    assert shop.forever() == 1
    assert str(tmp_path) in capfd.readouterr().out
"""
PROJECT = {"shop.py": CODE, "tests/test_shop.py": TESTS, "pytest.ini": "[pytest]\n"}
Open = Callable[..., "ComparedRunner"]


class ComparedRunner:
    """Warm runner that compares its results with a run in a separate process."""

    def __init__(self, warm: WarmRunner, cold: PytestRunner, tree: Path) -> None:
        self.warm = warm
        self._cold = cold
        self._tree = tree

    def run_edited(self, old: str, new: str, *tests: str, path: str = "shop.py") -> WarmResult:
        text = (self._tree / path).read_text()
        assert old in text
        return self.run({path: text.replace(old, new, 1)}, *tests)

    def run(self, edits: Edits, *tests: str) -> WarmResult:
        ran = self.warm.run(edits, tests)
        assert isinstance(ran, WarmResult), ran
        self.warm.wait()
        with temporary_edits(self._tree, edits):
            assert comparable(ran.report) == comparable(self._cold.run(self._tree, tests))
        return ran


def comparable(report: TestReport) -> list[object]:
    """Return the report without times and printed output."""
    results = [
        (
            result.id,
            result.outcome,
            result.when,
            result.failure and (result.failure.type, result.failure.message),
        )
        for result in report.results
    ]
    return [
        report.problem and report.problem.kind,
        *(re.sub("[0-9a-f]{6,}", "", str(result)) for result in results),
    ]


def red_test_names(report: TestReport) -> list[str]:
    return [result.id.rpartition("::")[2] for result in report.failures]


@contextmanager
def open_runner(
    sandbox: ProcessSandbox, tree: Path, files: dict[str, str], command: str | None
) -> Iterator[ComparedRunner]:
    write(tree, files)
    project = find_project(tree, sandbox=sandbox, environment=os.environ, test_command=command)
    limits = Limits(wall_seconds=60.0, memory_bytes=None)
    with WarmRunner(project, tree, sandbox=sandbox, scratch=sandbox.scratch, limits=limits) as warm:
        yield ComparedRunner(
            warm, PytestRunner(project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=limits), tree
        )


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparedRunner]:
    """Yield one process for all tests that do not change it."""
    with (
        ProcessSandbox(os.environ) as sandbox,
        open_runner(sandbox, tmp_path_factory.mktemp("shop"), PROJECT, None) as both,
    ):
        yield both


@pytest.fixture
def open_project(sandbox: ProcessSandbox, tmp_path: Path) -> Iterator[Open]:
    with ExitStack() as stack:
        yield lambda files, command=None: stack.enter_context(
            open_runner(sandbox, tmp_path / "project", files, command)
        )


@pytest.mark.thorough
def test_swaps_function_body(shop: ComparedRunner) -> None:
    assert shop.run({}).how == "swapped"
    for old in ("sum(self.values())", "return function(*arguments)"):
        ran = shop.run_edited(old, f"{old} + 1")
        assert ran.how == "swapped"
        assert red_test_names(ran.report) == ["test_total", "test_rated", "test_elsewhere"]
    assert red_test_names(
        shop.run_edited("* rate", "* rate + 1", "tests/test_shop.py::test_rated").report
    ) == ["test_rated"]
    assert shop.run({}).report.outcome_counts.failed == 0


@pytest.mark.thorough
def test_shifts_lines_after_edit(shop: ComparedRunner) -> None:
    ran = shop.run_edited("    return sum", "    # why\n        # and how\n        return sum")
    assert (ran.how, red_test_names(ran.report)) == ("swapped", [])


@pytest.mark.parametrize(
    ("old", "new", "why", "red"),
    [
        ("RATE = 2", "RATE = 3", "shop.py differs in more than what its functions do", ["test_rated"]),
        ("number * 2", "number * 3", "doubled was called while the tests were collected", ["test_table"]),
    ],
)
def test_reimports_other_changes(
    shop: ComparedRunner, old: str, new: str, why: str, red: list[str] | None
) -> None:
    ran = shop.run_edited(old, new)
    assert (ran.how, ran.why) == ("imported", why)
    assert red is None or red_test_names(ran.report) == red


@pytest.mark.thorough
def test_recollects_tests_and_new_files(shop: ComparedRunner) -> None:
    assert red_test_names(shop.run_edited("== 3", "== 4", path="tests/test_shop.py").report) == ["test_total"]
    new = shop.run(
        {"tests/deep/test_new.py": "def test_new():\n    assert False\n"}, "tests/deep/test_new.py::test_new"
    )
    assert (new.how, new.why, red_test_names(new.report)) == (
        "imported",
        "tests/deep/test_new.py is more than the source of an imported module",
        ["test_new"],
    )
    assert red_test_names(shop.run({"tests/conftest.py": "raise OSError('no')\n"}).report) == []
    assert shop.run({"shop.py": None}).report.failures[0].when == "collect"
    assert shop.run({}, "tests/deep").report.problem is not None
    assert shop.run({"data.txt": "new"}).how == "imported"


@pytest.mark.thorough
def test_ends_endless_loop(shop: ComparedRunner) -> None:
    test = "tests/test_shop.py::test_forever"
    assert shop.run({}, test).report.problem is None
    for old, new in (
        ("return 1", "return [0 for _ in iter(int, 1)]"),
        ("return 1", "return 1\n\nfor _ in iter(int, 1): pass"),
    ):
        ran = shop.warm.run({"shop.py": CODE.replace(old, new)}, [test], seconds=4.0)
        assert isinstance(ran, WarmResult)
        assert ran.report.problem is not None
        assert ran.report.problem.kind == "timeout"
    assert shop.run({}, test).report.problem is None


def test_a_process_that_dies_is_a_crash(shop: ComparedRunner) -> None:
    new = "__import__('os')._exit(3)"
    assert shop.run_edited("sum(self.values())", new, "tests/test_shop.py::test_total").how == "swapped"


MANY = """\
import logging, sys, unittest, warnings

import pytest

import shop


@pytest.fixture
def bad_end():
    yield shop.one()
    assert shop.one() == 1


@pytest.fixture
def bad_start():
    assert shop.one() == 1


def test_green(tmp_path):
    print("nobody reads this")
    (tmp_path / "file").write_text("text")
    assert shop.one()


def test_red(tmp_path):
    print("somebody reads this", tmp_path.name)
    assert shop.one() == 1


def test_ends_badly(bad_end):
    assert bad_end


def test_starts_badly(bad_start):
    pass


def test_leaves_things_behind():
    warnings.simplefilter("error")
    sys.stdout = None


def test_finds_nothing_left():
    warnings.warn("it is a warning")
    print("heard")


def test_alone(capsys):
    logging.getLogger("shop").warning("it is logged")
    print("heard")
    assert capsys.readouterr() == ("heard\\n", "")


def test_logged(caplog):
    logging.getLogger("shop").warning("it is logged")
    assert caplog.messages == ["it is logged"] * shop.one()


@pytest.mark.xfail(strict=True)
def test_xfail():
    assert shop.one() != 1


@pytest.mark.xfail
def test_may_fail():
    assert shop.one() == 1


def test_xfail_by_itself(request):
    request.node.add_marker(pytest.mark.xfail(strict=True))
    assert shop.one() != 1


@pytest.mark.skipif(shop.__name__ != "shop", reason="another")
def test_runs():
    assert shop.one() == 1


@pytest.mark.skip(reason="because")
def test_skipped():
    raise ValueError


def test_skips_itself():
    pytest.skip("because")


class TestUnit(unittest.TestCase):
    def test_green(self):
        self.assertTrue(shop.one())

    def test_red(self):
        self.assertEqual(shop.one(), 1)

    def test_parts(self):
        for number in (1, 2):
            with self.subTest(number=number):
                self.assertEqual(shop.one(), number)

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(shop.one(), 2)

    def test_skips(self):
        if shop.one() == 1:
            self.skipTest("because")
"""


@pytest.mark.parametrize(
    "hook",
    [
        "",
        *by_hand("def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"),
    ],
)
def test_outcomes_match_separate_process(open_project: Open, hook: str) -> None:
    files = {"tests/test_shop.py": MANY, "pytest.ini": "[pytest]\n", "tests/conftest.py": hook}
    runner = open_project({"shop.py": "def one():\n    return 1\n", **files})
    runner.run({})
    ran = runner.run_edited("return 1", "return 2")
    assert ran.how == "swapped"
    if not hook:
        red = ran.report.result_for("tests/test_shop.py::test_red")
        assert red is not None
        assert red.failure is not None
        assert "somebody reads this test_red0" in red.failure.text
        assert "nobody" not in red.failure.text
        assert runner.run_edited("return 1", "return 1\n\n\nTWO = 2").how == "imported"


@pytest.mark.parametrize(
    ("old", "new", "mode"),
    [
        ("sum(self.values())", "sum(self.values()) + 1", "swapped"),
        *by_hand(("rate=RATE", "rate=1", "imported")),
    ],
)
def test_first_red_test_is_reported_and_can_stop_run(
    shop: ComparedRunner, old: str, new: str, mode: str
) -> None:
    edits = {"shop.py": CODE.replace(old, new)}
    lines: list[str] = []
    whole = shop.warm.run(edits, on_red=lines.append)
    part = shop.warm.run(edits, until_red=True, on_red=lines.append)
    assert isinstance(whole, WarmResult)
    assert isinstance(part, WarmResult)
    assert (whole.how, part.how, whole.stopped, part.stopped) == (mode, mode, False, True)
    assert lines == [whole.report.failures[0].id] * 2
    assert part.report.problem is None
    assert [result.id for result in part.report.results] == [result.id for result in whole.report.results][
        : len(part.report.results)
    ]
    assert red_test_names(part.report) == red_test_names(whole.report)[:1]
    order = [result.id for result in reversed(whole.report.results)]
    late = shop.warm.run(edits, order, in_order=True, until_red=True, on_red=lines.append)
    assert isinstance(late, WarmResult)
    assert [result.id for result in late.report.results] == order[: len(late.report.results)]
    assert lines[2] == late.report.failures[0].id == whole.report.failures[-1].id
    assert len(part.report.results) < len(whole.report.results) == 6


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ({"pytest.ini": "[pytest]\naddopts = -x\n"}, "pytest.ini may decide how tests run"),
        ({"fast.c": "int x;\n"}, "fast.c has to be built"),
    ],
)
def test_runs_unforkable_tests_in_separate_process(shop: ComparedRunner, edits: Edits, reason: str) -> None:
    assert shop.warm.run(edits) == WarmRefusal(reason=reason)


@pytest.mark.thorough
def test_project_plugins_run_in_separate_process(open_project: Open) -> None:
    runner = open_project({**PROJECT, "plugin.py": "import shop\n"}, "PYTEST_PLUGINS=plugin pytest")
    reason = "shop.py is used before any test is collected, by a plugin of pytest or as its configuration"
    assert runner.warm.run({"shop.py": CODE.replace("RATE = 2", "RATE = 3")}) == WarmRefusal(reason=reason)
    assert runner.warm.run({"shop.py": CODE.replace("sum(", "len(")}) == WarmRefusal(reason=reason)


@pytest.mark.thorough
def test_xdist_runs_in_separate_process(
    open_project: Open, plugin_venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(plugin_venv))
    assert open_project(PROJECT, "pytest -n 2").warm.run({}) == WarmRefusal(
        reason="the tests run in processes of xdist"
    )


THREAD = (
    "import threading\nSTOP = threading.Event()\n"
    "threading.Thread(target=STOP.wait, name='busy', daemon=True).start()\n"
)
ONE = "\ndef one():\n    return 1\n"
DOCUMENTED = 'def one():\n    """Give it.\n\n    >>> one()\n    1\n    """\n    return 1\n'
STRICT, DOCTESTS = "filterwarnings = error", "addopts = --doctest-modules"
WARNED = ("return 1", "warnings.warn('old')\n    return 1")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("code", "option", "edit", "why", "reds"),
    [
        ("import warnings\n" + ONE, STRICT, WARNED, "", 1),
        ("import warnings\nwarnings.warn('old')\n" + ONE, "", ("return 1", "return 2"), "", 1),
        (DOCUMENTED, DOCTESTS, ("return 1", "return 2"), "", 2),
        (DOCUMENTED, DOCTESTS, ("return 1", "return 3 - 2"), "", 0),
        (DOCUMENTED, DOCTESTS, (">>> one()", ">>> one() + 1"), "the documentation of a function", 1),
        (
            THREAD + ONE,
            "",
            ("return 1", "return 2"),
            "a thread runs since the tests were collected (busy)",
            1,
        ),
        (
            f"import inspect\n{ONE}\nLENGTH = len(inspect.getsource(one))\n",
            "",
            ("return 1", "return 22"),
            "shop.py was read as text while the tests were collected",
            1,
        ),
    ],
)
def test_swaps_function_unless_its_source_was_used(
    open_project: Open, code: str, option: str, edit: tuple[str, str], why: str, reds: int
) -> None:
    tests = "import shop\n\ndef test_one():\n    assert shop.one() == 1\n"
    files = {"shop.py": code, "test_shop.py": tests, "pytest.ini": f"[pytest]\n{option}\n"}
    ran = open_project(files).run_edited(*edit)
    assert (ran.how, len(ran.report.failures)) == ("imported" if why else "swapped", reds)
    assert ran.why.startswith(why)


@pytest.mark.thorough
@pytest.mark.parametrize(("options", "mode"), [("-m 'not slow'", "swapped"), ("", "imported")])
def test_swaps_source_read_for_constants(
    open_project: Open, plugin_venv: Path, monkeypatch: pytest.MonkeyPatch, options: str, mode: str
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(plugin_venv))
    guessing = (
        "import pytest, shop\nfrom hypothesis import given, strategies\n\n@pytest.mark.slow\n"
        "@given(strategies.integers())\n"
    )
    files = {
        "shop.py": "def one():\n    return 1\n",
        "test_shop.py": "import shop\n\ndef test_one():\n    assert shop.one() == 1\n",
        "test_guess.py": f"{guessing}def test_any(number):\n    assert shop.one() == 1\n",
        "pytest.ini": f"[pytest]\nmarkers = slow\naddopts = {options}\n",
    }
    ran = open_project(files).run_edited("return 1", "return 2")
    assert (ran.how, "test_one" in red_test_names(ran.report)) == (mode, True)


@pytest.mark.thorough
def test_run_leaves_tree_unchanged(open_project: Open, tmp_path: Path) -> None:
    code = """\
        from pathlib import Path

        def test_writes():
            assert not Path("out").exists()
            Path("out").mkdir()
            Path("out/a").write_text("a")
        """
    code = textwrap.dedent(code)
    runner = open_project({**PROJECT, "tests/test_writes.py": code})
    for _ in range(3):
        assert runner.warm.run({}, ["tests/test_writes.py"]).report.failures == ()  # type: ignore[union-attr]  # a Cold would fail here
    spoils = code.replace('Path("out").mkdir()', "Path('pytest.ini').write_text('[pytest]  ')")
    runner.warm.run({"tests/test_writes.py": spoils})
    assert runner.warm.run({}) == WarmRefusal(
        reason="pytest.ini in the tree is not what it was: the tests have changed it"
    )


@pytest.mark.thorough
@pytest.mark.skipif(not adopts_orphans(), reason="daemons are adopted on Linux only")
def test_run_leaves_nothing_behind(open_project: Open, sandbox: ProcessSandbox) -> None:
    code = """\
        import subprocess, sys, tempfile

        def test_leaves():
            tempfile.mkdtemp()
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(77.5)"], start_new_session=True)
        """
    runner = open_project({"test_leaves.py": textwrap.dedent(code)})
    runner.warm.run({})
    runner.warm.run({"conftest.py": ""})
    runner.warm.wait()
    files = sorted(path.relative_to(sandbox.scratch) for path in sandbox.scratch.rglob("*"))
    for _ in range(3):
        runner.warm.run({})
        runner.warm.run({"conftest.py": ""})
        runner.warm.wait()
    assert sorted(path.relative_to(sandbox.scratch) for path in sandbox.scratch.rglob("*")) == files
    assert "sleep(77.5)" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    runner.warm.close()
    assert [*sandbox.scratch.iterdir()] == []


@pytest.mark.thorough
def test_reports_collection_errors(open_project: Open) -> None:
    files = {
        **PROJECT,
        "tests/test_broken.py": "import nowhere\n",
        "tests/test_skipped.py": "import pytest\npytest.skip('no', allow_module_level=True)\n",
    }
    ran = open_project(files).run_edited("sum(self.values())", "3")
    assert ran.how == "swapped"
    assert [result.id for result in ran.report.failures] == [
        "tests/test_broken.py",
        "tests/test_shop.py::test_elsewhere",
    ]


def test_other_command_has_no_warm_process(open_project: Open) -> None:
    assert open_project(PROJECT, "python -c 1").warm.run({}) == WarmRefusal(
        reason="the test command is no pytest"
    )


@pytest.mark.thorough
def test_reports_stopped_process(open_project: Open, sandbox: ProcessSandbox) -> None:
    runner = open_project({"test_one.py": "def test_one(): pass\n"})
    runner.run({})
    sandbox.stop()
    # The process needs a moment to end.
    ended = next(ran for _ in range(1000) if isinstance(ran := runner.warm.run({}), WarmRefusal))
    assert ended == WarmRefusal(reason="the test process has ended")


@pytest.mark.thorough
def test_works_in_sandbox(tmp_path: Path) -> None:
    walls = choose_backend().backend
    if walls is None:
        pytest.skip("no walls on this machine")
    with (
        ProcessSandbox(os.environ, backend=walls, exposed=(TARGET,)) as sandbox,
        open_runner(sandbox, tmp_path / "shop", PROJECT, None) as both,
    ):
        assert both.run_edited("sum(self.values())", "sum(self.values()) + 1").how == "swapped"
        assert both.run_edited("RATE = 2", "RATE = 3").how == "imported"


def test_the_oldest_python_can_import_what_runs_in_the_project() -> None:
    """Annotations are never evaluated there; a type that a module gives a name to is, and Python 3.8
    cannot subscript most.
    """
    for file in TARGET.rglob("*.py"):
        body = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8)).body
        values = [node.value for node in body if isinstance(node, ast.Assign)]
        assert not [
            value
            for value in values
            if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name)
        ], file.name
