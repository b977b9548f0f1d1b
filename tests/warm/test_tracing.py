"""Line coverage of real tests."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from coder.core.ports import Limits, Traces
from coder.sandbox.process import ProcessSandbox
from coder.warm.trials import PytestTracer
from tests.builders import find_project, write

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
        tracer = PytestTracer(
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
