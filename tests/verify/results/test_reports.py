"""Reports of runners other than pytest."""

import os
from pathlib import Path

import pytest

from coder.core.verdict import Failure, Frame, TestResult
from coder.verify.runners.adapter import parse_junit, parse_reports, parse_tap


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
