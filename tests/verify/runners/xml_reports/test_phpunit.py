"""The adapter of PHPUnit, with PHPUnit itself."""

import shutil
from pathlib import Path

import pytest

from coder.verify.runners.adapter import Run
from coder.verify.runners.rows import PHPUNIT
from tests.builders import write_tree
from tests.verify.runners.running import run_adapter

needs_phpunit = pytest.mark.skipif(shutil.which("phpunit") is None, reason="phpunit is not installed")
TESTS = """\
<?php
require_once __DIR__ . '/../src/half.php';

final class HalfTest extends PHPUnit\\Framework\\TestCase
{
    public function testEven(): void { $this->assertSame(2, half(4)); }
    public function testOdd(): void { $this->assertSame(2, half(3)); }
    public function testNegative(): void { half(-2); }
    public function testLater(): void { $this->markTestSkipped('later'); }
    /** @dataProvider sizes */
    public function testSizes($n): void { $this->assertSame(1, half($n)); }
    public static function sizes() { return ['two' => [2], 'three' => [3]]; }
}
"""
FILES = {
    "phpunit.xml": '<phpunit><testsuites><testsuite name="all"><directory>tests</directory></testsuite>'
    "</testsuites></phpunit>\n",
    "src/half.php": "<?php\nfunction half(int $n): int\n{\n"
    "    if ($n < 0) { throw new InvalidArgumentException('negative'); }\n    return intdiv($n, 2);\n}\n",
    "tests/HalfTest.php": TESTS,
}


@needs_phpunit
def test_reports_each_test_with_its_file(tmp_path: Path) -> None:
    results = {result.id: result for result in run_adapter(PHPUNIT, tmp_path, FILES)}
    assert {test: result.outcome for test, result in results.items()} == {
        "tests/HalfTest.php::testEven": "passed",
        "tests/HalfTest.php::testOdd": "failed",
        "tests/HalfTest.php::testNegative": "error",
        "tests/HalfTest.php::testLater": "skipped",
        'tests/HalfTest.php::testSizes with data set "two"': "passed",
        'tests/HalfTest.php::testSizes with data set "three"': "passed",
    }
    odd = results["tests/HalfTest.php::testOdd"].failure
    negative = results["tests/HalfTest.php::testNegative"].failure
    assert odd is not None and negative is not None
    assert (odd.type, odd.message) == ("AssertionError", "Failed asserting that 1 is identical to 2.")
    assert (negative.type, negative.message) == ("InvalidArgumentException", "negative")
    assert [(frame.path, frame.line) for frame in negative.frames] == [
        ("tests/HalfTest.php", 8),
        ("src/half.php", 4),
    ]


@needs_phpunit
def test_runs_selected_tests(tmp_path: Path) -> None:
    tests = ['tests/HalfTest.php::testSizes with data set "three"', "tests/HalfTest.php::testEven"]
    results = run_adapter(PHPUNIT, tmp_path, FILES, tests=tests)
    assert {result.id for result in results} == {*tests}


@needs_phpunit
def test_file_that_cannot_be_parsed_is_named(tmp_path: Path) -> None:
    (result,) = run_adapter(PHPUNIT, tmp_path, {**FILES, "tests/BadTest.php": "<?php\nclass BadTest {\n"})
    assert (result.id, result.when) == ("tests/BadTest.php", "collect")


def test_reads_report(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", FILES)
    case = f'class="HalfTest" classname="HalfTest" file="{tree}/tests/HalfTest.php"'
    heading = "PHPUnit\\Framework\\"
    report = f"""\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="HalfTest">
  <testcase name="testEven" {case} line="6" time="0.5"/>
  <testcase name="testOdd" {case} line="7">
    <failure type="{heading}ExpectationFailedException">HalfTest::testOdd
Failed asserting that 1 is identical to 2.

{tree}/tests/HalfTest.php:7
</failure></testcase>
  <testcase name="testNegative" {case} line="8">
    <error type="InvalidArgumentException">HalfTest::testNegative
InvalidArgumentException: negative

{tree}/src/half.php:4
{tree}/tests/HalfTest.php:8
</error></testcase>
  <testcase name="testNothing" {case} line="9">
    <error type="{heading}RiskyTestError">HalfTest::testNothing
This test did not perform any assertions</error></testcase>
  <testcase name="testLater" {case} line="9"><skipped/></testcase>
</testsuite></testsuites>
"""
    write_tree(tmp_path / "place", {"report.xml": report})
    run = Run(argv=("phpunit",), tree=tree, place=tmp_path / "place")
    results = {result.id.partition("::")[2]: result for result in PHPUNIT.read_results(run)}
    assert all(result.id.startswith("tests/HalfTest.php::") for result in results.values())
    assert {name: result.outcome for name, result in results.items()} == {
        "testEven": "passed",
        "testOdd": "failed",
        "testNegative": "error",
        "testNothing": "passed",
        "testLater": "skipped",
    }
    odd, negative = results["testOdd"].failure, results["testNegative"].failure
    assert odd is not None and negative is not None
    assert (odd.type, odd.message) == ("AssertionError", "Failed asserting that 1 is identical to 2.")
    assert (negative.type, negative.message) == ("InvalidArgumentException", "negative")
    assert [(frame.path, frame.line) for frame in negative.frames] == [
        ("tests/HalfTest.php", 8),
        ("src/half.php", 4),
    ]


def test_selects_methods_with_their_data_sets(tmp_path: Path) -> None:
    tests = ('tests/HalfTest.php::testSizes with data set "three"', "tests/HalfTest.php::testEven")
    argv = ("php", "vendor/bin/phpunit", "--filter", "x", "--testsuite", "unit")
    run = Run(argv=argv, tree=tmp_path, place=tmp_path, files=("tests/HalfTest.php",), tests=tests)
    assert PHPUNIT.recognizes(argv)
    words = PHPUNIT.prepare(run).argv
    assert words[:2] == ("php", "vendor/bin/phpunit") and "x" not in words
    assert words[-2:] == (
        "--filter",
        r"/(?:^|\\)(?:HalfTest::(?:testEven|testSizes))(?:$| with data set |#)/",
    )
