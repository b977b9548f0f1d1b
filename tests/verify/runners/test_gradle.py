"""Which of the reports that Gradle leaves in a tree are read."""

from pathlib import Path

import pytest

from coder.verify.runners.adapter import Run
from coder.verify.runners.rows import GRADLE
from tests.builders import write, write_tree

TEST = "src/test/java/org/example/HalfTest.java"
TESTS = "package org.example;\n\nclass HalfTest {}\n"
GRADLE_REPORT = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="org.example.HalfTest" tests="3" skipped="1" failures="1" errors="0" time="0.03">
  <testcase name="even()" classname="org.example.HalfTest" time="0.01"/>
  <testcase name="odd()" classname="org.example.HalfTest" time="0.02">
    <failure message="org.opentest4j.AssertionFailedError: expected: &lt;2&gt; but was: &lt;1&gt;"
      type="org.opentest4j.AssertionFailedError">org.opentest4j.AssertionFailedError: expected: &lt;2&gt;
\tat app//org.junit.jupiter.api.Assertions.assertEquals(Assertions.java:1)
\tat app//org.example.HalfTest.odd(HalfTest.java:8)
\tat java.base@17.0.15/java.lang.reflect.Method.invoke(Method.java:569)
</failure>
  </testcase>
  <testcase name="later()" classname="org.example.HalfTest$Later" time="0.0"><skipped/></testcase>
</testsuite>
"""


def test_gradle_reads_reports_of_this_run_alone(tmp_path: Path) -> None:
    report = "core/build/test-results/test/TEST-org.example.HalfTest.xml"
    files = {"build.gradle": "", "core/build.gradle": "", f"core/{TEST}": TESTS, report: GRADLE_REPORT}
    tree = write_tree(tmp_path, files)
    run = Run(argv=("./gradlew", "check", "--info"), tree=tree, place=tmp_path, files=(f"core/{TEST}",))
    argv = GRADLE.prepare(run.model_copy(update={"tests": (f"core/{TEST}::odd",)})).argv
    assert argv[-4:] == ("--info", ":core:test", "--tests", "org.example.HalfTest*.odd*")
    assert argv[0] == "./gradlew" and "--offline" in argv and "check" not in argv
    assert list(GRADLE.read_results(run)) == []
    write(tree, {report: GRADLE_REPORT})
    results = {result.id: result for result in GRADLE.read_results(run)}
    assert {test: result.outcome for test, result in results.items()} == {
        f"core/{TEST}::even": "passed",
        f"core/{TEST}::odd": "failed",
        f"core/{TEST}::later": "skipped",
    }
    odd = results[f"core/{TEST}::odd"].failure
    assert odd is not None
    assert (odd.type, odd.message) == ("AssertionError", "expected: <2> but was: <1>")
    assert [(frame.path, frame.line) for frame in odd.frames] == [(f"core/{TEST}", 8)]


@pytest.mark.thorough
def test_classes_of_one_name_belong_to_their_modules(tmp_path: Path) -> None:
    report = "build/test-results/test/TEST-org.example.HalfTest.xml"
    files = {f"{module}/{name}": GRADLE_REPORT for module in ("a", "b") for name in (TEST, report)}
    tree = write_tree(tmp_path, files)
    results = GRADLE.read_results(Run(argv=("gradle", "test"), tree=tree, place=tmp_path))
    assert {result.id.partition("::")[0] for result in results} == {f"a/{TEST}", f"b/{TEST}"}
