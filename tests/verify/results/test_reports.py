"""Reports of runners other than pytest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coder.core.verdict import Failure, Frame, TestResult
from coder.verify.runners.reports import parse_junit, parse_reports, parse_tap, parse_unittest

SUITE = """import unittest


class Counting(unittest.TestCase):
    def test_error(self):
        {}["k"]

    def test_fail(self):
        self.assertEqual(1, 2)

    def test_noisy(self):
        "It has a sentence."
        print("FAIL is only said")

    @unittest.skip("later")
    def test_skipped(self): ...

    @unittest.expectedFailure
    def test_expected(self):
        self.fail()

    def test_sub(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(number, 0)


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError("no")

    def test_never(self): ...
"""


def brief(results: tuple[TestResult, ...]) -> list[tuple[str, str, str, str]]:
    return [
        (
            result.id,
            result.outcome,
            result.when,
            f"{result.failure.type}: {result.failure.message}" if result.failure else "",
        )
        for result in results
    ]


def test_reads_real_unittest_output(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    (tmp_path / "test_none.py").write_text("import nothing_of_this_name\n")
    result = subprocess.run(
        [sys.executable, "-m", "unittest", "-v"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    results = parse_unittest(result.stdout)
    loading = [result.id for result in results if result.when == "collect"]
    assert sorted(result for result in brief(results) if result[2] != "collect") == [
        ("test_it.Broken.setUpClass", "error", "setup", "ValueError: no"),
        ("test_it.Counting.test_error", "error", "call", "KeyError: 'k'"),
        ("test_it.Counting.test_expected", "xfailed", "call", ""),
        ("test_it.Counting.test_fail", "failed", "call", "AssertionError: 1 != 2"),
        ("test_it.Counting.test_noisy", "passed", "call", ""),
        ("test_it.Counting.test_skipped", "skipped", "call", ""),
        ("test_it.Counting.test_sub", "failed", "call", "AssertionError: 1 != 0"),
    ]
    assert len(loading) == 1
    frame = next(
        result.failure for result in results if result.failure and result.id.endswith("test_fail")
    ).frames[-1]
    assert (Path(frame.path).name, frame.line, frame.function) == ("test_it.py", 9, "test_fail")


def test_unfinished_unittest_run_is_inconclusive() -> None:
    assert parse_unittest("test_a (m.C.test_a) ... ok\n") == ()


def test_reads_unittest_output_before_python_3_11() -> None:
    text = f"test_a (m.C) ... ok\n\n{'-' * 70}\nRan 1 test in 0.1s\n\nOK\n"
    assert parse_unittest(text) == (TestResult(id="m.C.test_a", outcome="passed"),)


def test_reads_tap_with_directives() -> None:
    text = (
        "TAP version 13\n1..6\nok 1 - works\nnot ok 2 - fails\n  # got 3\nok 3 # SKIP later\n"
        "not ok 4 - hard # TODO\nok - works\nok 6\n"
    )
    assert [(result.id, result.outcome) for result in parse_tap(text)] == [
        ("works", "passed"),
        ("fails", "failed"),
        ("test without a name", "skipped"),
        ("hard", "xfailed"),
        ("works #2", "passed"),
        ("test without a name #2", "passed"),
    ]


def test_comments_of_tap_are_titles_unless_they_explain_a_failure() -> None:
    text = (
        "TAP version 13\n# random seed: 3\n# halves\nok 1 should be equal\n"
        "not ok 2 should be equal\n  ---\n  expected: 2\n  ...\n# doubles\nok 3 should be equal\n"
        "not ok 4 - odd\n#   Failed test\n# at line 3\nok 5\n# took 3 ms\nok 6 - last\n\n1..6\n# tests 6\n"
    )
    assert [result.id for result in parse_tap(text)] == [
        "halves > should be equal",
        "halves > should be equal #2",
        "doubles > should be equal",
        "doubles > odd",
        "doubles > test without a name",
        "doubles > last",
    ]


def test_rejects_tap_without_plan() -> None:
    assert parse_tap("ok 1 - works\n") == ()


XML = """<testsuites><testsuite name="s">
<testcase classname="pkg.test_a" name="test_ok" time="0.25"/>
<testcase classname="pkg.test_a" name="test_red">\
<failure type="builtins.KeyError" message="'k'">Traceback (most recent call last):
  File "pkg/a.py", line 7, in find
    return table[key]
KeyError: 'k'</failure></testcase>
<testcase classname="pkg.test_a" name="test_setup"><error message="ValueError: no"/></testcase>
<testcase name="test_later"><skipped/></testcase>
</testsuite></testsuites>"""


def test_reads_junit_report() -> None:
    ok, failed, error, skipped = parse_junit(XML)
    assert ok == TestResult(id="pkg.test_a::test_ok", outcome="passed", seconds=0.25)
    assert failed.failure is not None
    assert failed.failure.model_copy(update={"text": ""}) == Failure(
        type="KeyError", message="'k'", frames=(Frame(path="pkg/a.py", line=7, function="find"),)
    )
    assert (error.outcome, error.failure and error.failure.type, error.failure and error.failure.message) == (
        "error",
        "ValueError",
        "no",
    )
    assert (skipped.id, skipped.outcome) == ("test_later", "skipped")


@pytest.mark.parametrize("text", ["", "<a", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "<html/>"])
def test_ignores_other_xml(text: str) -> None:
    assert parse_junit(text) == ()


def test_a_report_counts_only_if_this_run_wrote_it(tmp_path: Path) -> None:
    report = tmp_path / "out" / "report.xml"
    report.parent.mkdir()
    report.write_text(XML)
    os.utime(report, (1000, 1000))
    argv = ("runner", "--xml=out/report.xml")
    assert len(parse_reports(argv, "", tmp_path, since=999.0)) == 4
    assert parse_reports(argv, "", tmp_path, since=1001.0) == ()
    assert len(parse_reports(("sh", "-c", "runner > 'out/report.xml'"), "", tmp_path, since=999.0)) == 4
    assert parse_reports(("make", "test"), "1..1\nok 1 - works\n", tmp_path, since=0.0) == (
        TestResult(id="works", outcome="passed"),
    )
