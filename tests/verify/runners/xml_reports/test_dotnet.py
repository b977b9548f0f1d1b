"""The adapter of `dotnet test`, with a report as VSTest writes it."""

from pathlib import Path

from coder.verify.runners.adapter import Run
from coder.verify.runners.rows import DOTNET
from tests.builders import write_tree

TEST = "tests/HalfTests.cs"
FILES = {
    "half.sln": "",
    "src/Half.cs": "namespace Example;\npublic static class Half { }\n",
    TEST: "using Xunit;\n\nnamespace Example.Tests;\n\npublic class HalfTests\n{\n}\n",
}
REPORT = """\
<?xml version="1.0" encoding="utf-8"?>
<TestRun id="1" xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">
  <Results>
    <UnitTestResult testId="a" testName="Example.Tests.HalfTests.Even" outcome="Passed"
      duration="00:00:01.5000000" />
    <UnitTestResult testId="b" testName="Example.Tests.HalfTests.Odd(n: 3)" outcome="Failed">
      <Output><ErrorInfo>
        <Message>Assert.Equal() Failure: Values differ
Expected: 2
Actual:   1</Message>
        <StackTrace>   at Example.Tests.HalfTests.Odd(Int32 n) in {tree}/tests/HalfTests.cs:line 9
   at System.RuntimeMethodHandle.InvokeMethod(Object target)</StackTrace>
      </ErrorInfo></Output>
    </UnitTestResult>
    <UnitTestResult testId="c" testName="Example.Tests.HalfTests.Negative" outcome="Failed">
      <Output><ErrorInfo>
        <Message>System.ArgumentException : negative</Message>
        <StackTrace>   at Example.Half.Of(Int32 n) in {tree}/src/Half.cs:line 2
   at Example.Tests.HalfTests.Negative() in {tree}/tests/HalfTests.cs:line 12</StackTrace>
      </ErrorInfo></Output>
    </UnitTestResult>
    <UnitTestResult testId="d" testName="Example.Tests.HalfTests.Later" outcome="NotExecuted" />
  </Results>
  <TestDefinitions>
    <UnitTest id="a"><TestMethod className="Example.Tests.HalfTests" name="Even" /></UnitTest>
    <UnitTest id="b"><TestMethod className="Example.Tests.HalfTests" name="Odd" /></UnitTest>
    <UnitTest id="c"><TestMethod className="Example.Tests.HalfTests" name="Negative" /></UnitTest>
    <UnitTest id="d"><TestMethod className="Example.Tests.HalfTests" name="Later" /></UnitTest>
  </TestDefinitions>
</TestRun>
"""


def test_reads_report(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", FILES)
    write_tree(tmp_path / "place", {"results/report_net8.trx": REPORT.replace("{tree}", str(tree))})
    run = Run(argv=("dotnet", "test"), tree=tree, place=tmp_path / "place")
    results = {result.id: result for result in DOTNET.read_results(run)}
    assert {test: result.outcome for test, result in results.items()} == {
        f"{TEST}::Even": "passed",
        f"{TEST}::Odd(n: 3)": "failed",
        f"{TEST}::Negative": "failed",
        f"{TEST}::Later": "skipped",
    }
    assert results[f"{TEST}::Even"].seconds == 1.5
    odd, negative = results[f"{TEST}::Odd(n: 3)"].failure, results[f"{TEST}::Negative"].failure
    assert odd is not None and negative is not None
    assert odd.type == "AssertionError" and odd.frames[0].line == 9
    assert (negative.type, negative.message) == ("ArgumentException", "negative")
    assert [(frame.path, frame.line) for frame in negative.frames] == [(TEST, 12), ("src/Half.cs", 2)]


def test_reads_compile_errors(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, FILES)
    output = f"{tree}/{TEST}(7,2): error CS1513: }} expected [{tree}/tests/tests.csproj]\n" * 2
    run = Run(argv=("dotnet", "test"), tree=tree, place=tmp_path, output=output)
    (result,) = DOTNET.read_results(run)
    assert (result.id, result.when) == (TEST, "collect")
    assert result.failure is not None and len(result.failure.frames) == 1


def test_selects_methods_and_keeps_options(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, FILES)
    argv = ("dotnet", "test", "-c", "Release", "--logger", "console", "--filter", "x")
    tests = (f"{TEST}::Odd(n: 3)", f"{TEST}::Even")
    run = Run(argv=argv, tree=tree, place=tmp_path, files=(TEST,), tests=tests)
    assert [*DOTNET.find_commands(tree)] == ["dotnet test"]
    assert DOTNET.prepare(run).argv == (
        *(
            "dotnet",
            "test",
            "--logger",
            "trx;LogFilePrefix=report",
            "--results-directory",
            f"{tmp_path}/results",
        ),
        "--filter",
        "FullyQualifiedName=Example.Tests.HalfTests.Odd|FullyQualifiedName=Example.Tests.HalfTests.Even",
        *("-c", "Release"),
    )
