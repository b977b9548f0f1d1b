"""The adapters of Maven and Gradle: Maven itself, and reports as Gradle writes them."""

import shutil
from pathlib import Path

import pytest

from coder.verify.runners.adapter import Run
from coder.verify.runners.rows import GRADLE, MAVEN
from tests.builders import write, write_tree
from tests.verify.runners.running import run_adapter

VERSIONS = {
    "maven-compiler-plugin": "3.13.0",
    "maven-surefire-plugin": "3.2.5",
    "maven-resources-plugin": "3.3.1",
}
REPOSITORY = Path.home() / ".m2" / "repository"
has_plugins = all(
    (REPOSITORY / "org/apache/maven/plugins" / name / version / f"{name}-{version}.jar").is_file()
    for name, version in VERSIONS.items()
)
PLUGINS = "".join(
    f"<plugin><artifactId>{name}</artifactId><version>{version}</version></plugin>"
    for name, version in VERSIONS.items()
)
POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>half</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies><dependency>
    <groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.10.2</version>
    <scope>test</scope>
  </dependency></dependencies>
  <build><plugins>{PLUGINS}</plugins></build>
</project>
"""
MAIN = """\
package org.example;

public class Half {
    static int half(int n) {
        if (n < 0) throw new IllegalStateException("negative");
        return n / 2;
    }
}
"""
TESTS = """\
package org.example;

import static org.junit.jupiter.api.Assertions.*;
import org.junit.jupiter.api.*;

class HalfTest {
    @Test void even() { assertEquals(2, Half.half(4)); }
    @Test void odd() { assertEquals(2, Half.half(3)); }
    @Test void negative() { Half.half(-2); }
    @Nested class Later { @Test @Disabled void later() { } }
}
"""
SOURCE, TEST = "src/main/java/org/example/Half.java", "src/test/java/org/example/HalfTest.java"
FILES = {"pom.xml": POM, SOURCE: MAIN, TEST: TESTS}
needs_maven = pytest.mark.skipif(
    shutil.which("mvn") is None or not has_plugins, reason="mvn or its plugins are not installed"
)
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


@pytest.mark.thorough
@needs_maven
def test_maven_reports_each_test_with_its_file(tmp_path: Path) -> None:
    results = {result.id: result for result in run_adapter(MAVEN, tmp_path, FILES)}
    assert {test: result.outcome for test, result in results.items()} == {
        f"{TEST}::even": "passed",
        f"{TEST}::odd": "failed",
        f"{TEST}::negative": "error",
        f"{TEST}::later": "skipped",
    }
    odd, negative = results[f"{TEST}::odd"].failure, results[f"{TEST}::negative"].failure
    assert odd is not None and negative is not None
    assert (odd.type, odd.message) == ("AssertionError", "expected: <2> but was: <1>")
    assert [(frame.path, frame.line) for frame in negative.frames] == [(TEST, 9), (SOURCE, 5)]


@needs_maven
@pytest.mark.thorough
def test_maven_reports_compile_errors_under_selected_files(tmp_path: Path) -> None:
    files = {**FILES, SOURCE: "package org.example;\n\npublic class Half {\n    nothing\n}\n"}
    (result,) = run_adapter(MAVEN, tmp_path, files, tests=[f"{TEST}::even"])
    assert (result.id, result.when) == (TEST, "collect")
    assert result.failure is not None
    assert [(frame.path, frame.line) for frame in result.failure.frames][:1] == [(SOURCE, 4)]
    assert str(tmp_path) not in result.failure.message


@pytest.mark.thorough
def test_maven_selects_methods_in_modules(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, {"pom.xml": POM, "core/pom.xml": POM, f"core/{TEST}": TESTS})
    file = f"core/{TEST}"
    run = Run(
        argv=("./mvnw", "verify", "-Pfast"),
        tree=tree,
        place=tmp_path,
        files=(file,),
        tests=(f"{file}::even", f"{file}::sizes(int)[2]"),
    )
    argv = MAVEN.prepare(run).argv
    assert argv[0] == "./mvnw" and {"verify", "-Pfast"} <= {*argv}
    assert {"-o", "-pl", "core", "-am", "-Dtest=org.example.HalfTest*#even*+sizes*"} <= {*argv}


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


@pytest.mark.thorough
def test_gradle_compile_error_stands_for_all_test_files(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, {"build.gradle": "", TEST: TESTS, SOURCE: MAIN})
    output = f"> Task :compileJava FAILED\n{tree}/{SOURCE}:4: error: ';' expected\n    nothing\n"
    run = Run(argv=("gradle", "test"), tree=tree, place=tmp_path, output=output)
    (result,) = GRADLE.read_results(run)
    assert (result.id, result.when) == (TEST, "collect")
