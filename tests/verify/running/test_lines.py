"""Changed lines that tests run, in real processes."""

from pathlib import Path

import pytest

from coder.core.verdict import LineCoverage, TestReport, TestResult, VerdictKind
from coder.verify.base import join_lines
from coder.verify.change import find_changed_lines
from coder.verify.verdict import Facts, decide
from tests.builders import by_hand, write_tree
from tests.verify.conftest import Run

SOURCE = '''\
import functools
import threading

LIMIT = 3


def plain(number):
    """Return a number."""
    if number > LIMIT:
        return "many"
    return [part for part in range(number)]


@functools.lru_cache
def return_number(
    number,
):
    return number


def produce():
    yield 1
    yield 2


def in_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(
        plain(1)
    ))
    thread.start()
    thread.join()
    return found


class Thing:
    size = 1

    def grow(self):
        self.size += 1
'''
PYTEST = """\
import calc

def test_calls():
    assert calc.plain(2) == [0, 1]
    assert next(calc.produce()) == 1
    assert calc.in_thread() == [[0]]
"""
UNITTEST = """\
import unittest
import calc

class Calls(unittest.TestCase):
    def test_calls(self):
        self.assertEqual(calc.plain(2), [0, 1])
        self.assertEqual(next(calc.produce()), 1)
        self.assertEqual(calc.in_thread(), [[0]])
"""
ALL = [*range(1, SOURCE.count("\n") + 1)]


@pytest.mark.parametrize(
    ("command", "test"), [("pytest", PYTEST), ("python -m unittest", UNITTEST)], ids=["pytest", "unittest"]
)
def test_lines_of_functions_that_do_not_run_are_told(
    tmp_path: Path, make_runner: Run, command: str, test: str
) -> None:
    root = write_tree(tmp_path, {"calc.py": SOURCE, "test_calc.py": test})
    report = make_runner(root, command=command).run(root, ["test_calc.py"], lines={"calc.py": ALL})
    assert report.lines is not None
    assert [*join_lines("calc.py", report.lines["calc.py"][1])] == [
        "calc.py:10",
        "calc.py:18",
        "calc.py:23",
        "calc.py:40",
    ]
    assert not {4, 36, 37} & {*report.lines["calc.py"][0]}, "they run with the import"


@pytest.mark.parametrize(
    "call",
    [
        *("subprocess.run(['true'])", "os.waitpid(os.fork() or os._exit(0), 0)"),
        *by_hand("os.system('true')"),
    ],
)
def test_lines_are_unknown_where_a_test_starts_a_process(tmp_path: Path, make_runner: Run, call: str) -> None:
    test = f"import os, subprocess\n\nimport calc\n\n\ndef test_it():\n    {call}\n    calc.plain(1)\n"
    root = write_tree(tmp_path, {"calc.py": SOURCE, "test_calc.py": test})
    runner = make_runner(root)
    assert runner.run(root, lines={"calc.py": ALL}).lines is None
    report = runner.run(root, lines={"calc.py": [11]})
    assert report.lines == {"calc.py": ((11,), ())}, "all of them have run here"


@pytest.mark.parametrize(("link", "to"), [("link", "real"), ("link/calc.py", "../real/body.py")])
def test_lines_are_unknown_where_the_file_has_another_path(
    tmp_path: Path, make_runner: Run, link: str, to: str
) -> None:
    test = (
        "import os, sys\nsys.path.insert(0, os.path.dirname(__file__) + '/link')\n"
        "import calc\n\ndef test_it():\n    calc.plain(1)\n"
    )
    file = "real/body.py" if "body" in to else "real/calc.py"
    root = write_tree(tmp_path, {file: SOURCE, "test_calc.py": test})
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(to)
    assert make_runner(root).run(root, lines={file: ALL}).lines is None


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", [2]),
        ("a\nb\n", "a\nb\n", []),
        ("a\nb\n", "a\n", []),
        ("", "a\nb\n", [1, 2]),
        ("a\na\n", "a\na\na\n", [3]),
        ("x\na\ny\nb\nz\n", "x\nA\ny\nB\nz\n", [2, 4]),
        ("a\n\x0c\n'\u2028'\r\nb\n", "a\n\x0c\n'\u2028'\r\nB\n", [4]),
    ],
)
def test_changed_lines(old: str, new: str, lines: list[int]) -> None:
    assert find_changed_lines(old, new) == lines


@pytest.mark.parametrize(
    ("executed", "says"), [(0, "No test runs the change (calc.py:10)"), (1, "Nothing that")]
)
def test_verdict_says_that_no_test_runs_the_change(executed: int, says: str) -> None:
    coverage = LineCoverage(lines=2, executed=executed, tests=3, missing=("calc.py:10",))
    report = TestReport(command="pytest", results=(TestResult(id="a", outcome="passed"),))
    verdict = decide(Facts(before=report, after=report, coverage=coverage))
    assert (verdict.kind, verdict.reason[: len(says)]) == (VerdictKind.PASSING, says)
