"""The adapter of PHPUnit, with PHPUnit itself."""

import shutil
from pathlib import Path

import pytest

from coder.verify.runners.others import PHPUnit
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
    results = {result.id: result for result in run_adapter(PHPUnit(), tmp_path, FILES)}
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
    results = run_adapter(PHPUnit(), tmp_path, FILES, tests=tests)
    assert {result.id for result in results} == {*tests}


@needs_phpunit
def test_file_that_cannot_be_parsed_is_named(tmp_path: Path) -> None:
    (result,) = run_adapter(PHPUnit(), tmp_path, {**FILES, "tests/BadTest.php": "<?php\nclass BadTest {\n"})
    assert (result.id, result.when) == ("tests/BadTest.php", "collect")
