"""Judgement of changes in other languages, with a scripted runner whose ids are not paths."""

import re
import threading
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Unpack

import pytest

from coder.core.paths import match_test_ids
from coder.core.ports import Progress, RunOptions
from coder.core.verdict import TestReport, TestResult, Verdict
from coder.verify.issue import Purpose
from coder.verify.runners.adapter import collection_failure
from coder.verify.verifier import WorktreeVerifier
from tests.verify.fakes import FakeTrees, Files, failed_result, passed_result

INLINE = """pub fn double(n: u8) -> u8 {{ n {} }}
#[cfg(test)]
mod tests {{
    #[test]
    fn doubles() {{ assert_eq!(double(2), {}); }}
}}
"""
WITHOUT_TEST = "pub fn double(n: u8) -> u8 { n + 1 }\n"


class TapRunner:
    """Runner that always runs everything: a test is green if the source fulfils what the tests expect."""

    command = "make test"
    is_recorded = is_selective = collects_file_by_file = False

    def __init__(self, source: str, tests: str, title: str) -> None:
        self._source, self._tests, self._title = source, tests, title

    def run(self, tree: Path, tests: Sequence[str] = (), **_options: Unpack[RunOptions]) -> TestReport:
        source = (tree / self._source).read_text(encoding="utf-8")
        expected = (tree / self._tests).read_text(encoding="utf-8") if (tree / self._tests).is_file() else ""
        results = tuple(self._results(source, expected))
        return TestReport(command=self.command, results=results, indirect=True, whole_only=True)

    run_parallel = run

    def run_plainly(
        self, tree: Path, tests: Sequence[str], *, timeout_seconds: float | None, cut: Event | None = None
    ) -> None:
        return None

    def collect(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> TestReport:
        raise AssertionError("only recorded tests are collected")

    def _results(self, source: str, expected: str) -> list[TestResult]:
        value = "4" if "n * 2" in source else "3"
        results = [passed_result("other")]
        if "doubles" in expected or f"{self._title} 4" in expected:
            is_green = f"double(2), {value})" in expected or f"{self._title} {value}" in expected
            results.append(passed_result(self._title) if is_green else failed_result(self._title, frames=()))
        return results


def verifier(
    tmp_path: Path, base: Files, change: Files, runner: TapRunner
) -> tuple[WorktreeVerifier, FakeTrees]:
    trees = FakeTrees(tmp_path, base, change)
    return WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose()), trees


def judge(tmp_path: Path, base: Files, change: Files, runner: TapRunner) -> Verdict:
    judge_of_change, trees = verifier(tmp_path, base, change, runner)
    return judge_of_change.judge(trees.patch, ())


RUST = TapRunner("src/lib.rs", "src/lib.rs", "tests::doubles")
DATA = TapRunner("double.c", "expected.dat", "case")


def test_fix_and_new_test_in_one_rust_file_are_proven(tmp_path: Path) -> None:
    change = {"src/lib.rs": INLINE.format("* 2", 4)}
    verdict = judge(tmp_path, {"src/lib.rs": WITHOUT_TEST}, change, RUST)
    assert (verdict.label, verdict.targets, verdict.hashes) == ("FIXED", ("tests::doubles",), {})


def test_expectation_edited_in_rust_file_proves_nothing(tmp_path: Path) -> None:
    base, change = ({"src/lib.rs": INLINE.format("+ 1", value)} for value in (4, 3))
    verdict = judge(tmp_path, base, change, RUST)
    assert (verdict.label, verdict.targets) == ("PASSING", ())


def test_broken_test_edited_in_rust_file_is_not_proven(tmp_path: Path) -> None:
    base, change = ({"src/lib.rs": INLINE.format(*pair)} for pair in (("* 2", 4), ("+ 1", 3)))
    verdict = judge(tmp_path, base, change, RUST)
    assert "the change and 1 test were edited to agree" in verdict.reason


def test_data_that_may_hold_expectation_keeps_verdict_from_proven(tmp_path: Path) -> None:
    base = {"double.c": "n + 1", "expected.dat": "case 4"}
    verdict = judge(tmp_path, base, {"double.c": "n * 2"}, DATA)
    assert (verdict.label, verdict.targets) == ("FIXED", ("case",))
    edited = judge(tmp_path, base, {"expected.dat": "case 3 # not case 4"}, DATA)
    assert edited.label == "PASSING"
    assert "the file that defines case cannot be found, and the change edits expected.dat" in edited.reason


def test_data_that_only_tests_read_keeps_verdict_from_proven(tmp_path: Path) -> None:
    base = {
        "double.c": "n + 1",
        "expected.dat": "case 4",
        "run.test.js": 'test("case", read("expected.dat"))',
    }
    verdict = judge(tmp_path, base, {"expected.dat": "case 3 # not case 4"}, DATA)
    assert verdict.label == "PASSING"
    assert "the change edits expected.dat, which only tests read (run.test.js)" in verdict.reason


def test_program_without_suffix_is_code_that_a_fix_may_edit(tmp_path: Path) -> None:
    base = {
        "bin/double": "#!/bin/sh\nn + 1",
        "expected.dat": "case 4",
        "run.test.js": 'test("case", run("bin/double"), read("expected.dat"))',
    }
    runner = TapRunner("bin/double", "expected.dat", "case")
    verdict = judge(tmp_path, base, {"bin/double": "#!/bin/sh\nn * 2"}, runner)
    assert (verdict.label, verdict.targets) == ("FIXED", ("case",))
    both = {"bin/double": "#!/bin/sh\nn + 3", "expected.dat": "case 3 # not case 4"}
    edited = judge(tmp_path, base, both, runner)
    assert [finding.text for finding in edited.findings if finding.effect == "open"] == [
        "the change edits expected.dat, which only tests read (run.test.js)"
    ]


def test_hashes_name_existing_files_that_are_equal_on_both_sides(tmp_path: Path) -> None:
    script = 'test("case", 4)'
    base = {"double.c": "n + 1", "expected.dat": "case 4", "run.test.js": script}
    verdict = judge(tmp_path, base, {"double.c": "n * 2"}, DATA)
    assert verdict.hashes == {"run.test.js": sha256(script.encode()).hexdigest()}


def test_new_test_of_whole_suite_is_reproduction(tmp_path: Path) -> None:
    base = {"double.c": "n + 1", "run.test.js": ""}
    change = {"double.c": "n * 2", "run.test.js": 'test("case 4", () => {})'}
    judge_of_change, trees = verifier(tmp_path, base, change, TapRunner("double.c", "run.test.js", "case"))
    assert judge_of_change.reproduce(trees.patch, ()).tests == ("case",)


class CompilingRunner(TapRunner):
    """Runner of test files that cannot be compiled where the source has an error."""

    command = "go test ./..."

    def run(self, tree: Path, tests: Sequence[str] = (), **_options: Unpack[RunOptions]) -> TestReport:
        files = [path for path in ("new_test.go", "old_test.go") if (tree / path).is_file()]
        is_broken = "error" in (tree / "half.go").read_text(encoding="utf-8")
        results = tuple(
            collection_failure(path, "half.go:1:1: error")
            if is_broken
            else passed_result(f"{path}::TestHalf")
            for path in files
            if not tests or path in [test.partition("::")[0] for test in tests]
        )
        return TestReport(command=self.command, results=results, indirect=True)

    run_parallel = run


def test_change_that_cannot_be_compiled_breaks_other_tests(tmp_path: Path) -> None:
    base = {"half.go": "half", "old_test.go": "tested"}
    change = {"half.go": "error", "new_test.go": "tested"}
    verdict = judge(tmp_path, base, change, CompilingRunner("", "", ""))
    assert verdict.label == "BROKEN"
    assert [result.id for result in verdict.broken] == ["old_test.go::TestHalf"]


GO = (
    "package stats\n\nfunc Median(n int) int {{\n\treturn {}\n}}\nfunc Clamp(n int) int {{\n\treturn {}\n}}\n"
)
GO_TEST = "package stats\n\nfunc Test{0}(t *testing.T) {{\n\tif {0}(2) != 4 {{\n\t\tt.Fail()\n\t}}\n}}\n"


def judge_go(tmp_path: Path, base: Files, change: Files, title: str, issue: str) -> Verdict:
    trees = FakeTrees(tmp_path, base, change)
    runner = TapRunner("stats.go", "stats_test.go", title)
    judge_of_change = WorktreeVerifier(
        trees=trees, runner=runner, purpose=Purpose(issue=issue, needs_ties=True)
    )
    return judge_of_change.judge(trees.patch, ())


def test_new_test_of_another_function_than_the_issue_names_is_not_tied(tmp_path: Path) -> None:
    base = {"stats.go": GO.format("n + 1", "n + 1"), "stats_test.go": "package stats\n"}
    tested = f"// doubles\n{GO_TEST.format('Clamp')}// TestClamp 4\n"
    change = {"stats.go": GO.format("n + 1", "n * 2"), "stats_test.go": tested}
    off_topic = judge_go(tmp_path, base, change, "TestClamp", "Median of even counts is wrong")
    assert (off_topic.label, "not mention anything from the issue" in off_topic.reason) == ("PASSING", True)
    alternative = judge_go(tmp_path, base, change, "TestClamp", "Median is wrong instead of Clamp of it")
    assert alternative.label == "PASSING"
    for issue in ("Clamp returns too little", "TestClamp is missing", "Clamping is wrong"):
        assert judge_go(tmp_path, base, change, "TestClamp", issue).label == "FIXED"


class ListingRunner(TapRunner):
    """Runner whose tests are those that the files name, all green where the source is right."""

    command = "rspec"

    def run(self, tree: Path, tests: Sequence[str] = (), **_options: Unpack[RunOptions]) -> TestReport:
        is_right = "* 2" in (tree / self._source).read_text(encoding="utf-8")
        results = [
            passed_result(test) if is_right or "doubles" not in test else failed_result(test, frames=())
            for file in sorted(tree.rglob(self._tests))
            for test in self._names(file.relative_to(tree).as_posix(), file.read_text(encoding="utf-8"))
        ]
        is_asked = match_test_ids(tests)
        chosen = tuple(result for result in results if not tests or is_asked(result.id))
        return TestReport(command=self.command, results=chosen, indirect=True)

    run_parallel = run

    def _names(self, path: str, text: str) -> list[str]:
        titles = re.findall(r'it "(.+)" do|function (test\w+)', text)
        return [f"{path}::{self._title}{spec or method}" for spec, method in titles]


SPEC = """RSpec.describe Text do
  it "joins" do
    expect(join("a", "b")).to eq("a b")
  end
"""
NEW_SPEC = """  it "doubles" do
    expect(double(2)).to eq(4)
  end
"""
UNIT = """<?php
final class TextTest extends TestCase {
    public function testJoins(): void { $this->assertSame('a b', join_words('a', 'b')); }
"""
NEW_UNIT = "    public function test_doubles(): void { $this->assertSame(4, double(2)); }\n"


@pytest.mark.parametrize(
    ("source", "path", "new_path", "text", "more", "title", "other"),
    [
        (
            "text.rb",
            "spec/text_spec.rb",
            "spec/lib/text_spec.rb",
            SPEC,
            NEW_SPEC,
            "Text ",
            ('"joins"', '"adds"'),
        ),
        (
            "text.php",
            "tests/TextTest.php",
            "tests/Unit/TextTest.php",
            UNIT,
            NEW_UNIT,
            "",
            ("testJoins", "testAdds"),
        ),
    ],
)
@pytest.mark.parametrize("is_renamed", [False, True])
def test_moved_and_renamed_tests_are_followed(
    tmp_path: Path,
    source: str,
    path: str,
    new_path: str,
    text: str,
    more: str,
    title: str,
    other: tuple[str, str],
    is_renamed: bool,
) -> None:
    place = path if is_renamed else new_path
    new = (text.replace(*other) if is_renamed else text) + more
    change = {source: "n * 2", **({} if is_renamed else {path: ""}), place: new}
    runner = ListingRunner(source, path.rpartition("/")[2], title)
    verdict = judge(tmp_path, {source: "n + 1", path: text}, change, runner)
    assert (verdict.label, len(verdict.targets)) == ("FIXED", 1)


class ProgramRunner(ListingRunner):
    """Runner with one test for each program, which is green where its checks hold."""

    command = "ctest"

    def _names(self, path: str, text: str) -> list[str]:
        return [f"{path}::{Path(path).stem}{' doubles' if 'double' in text else ''}"]


PROGRAM = 'int main(void) {\n    CHECK(strcmp(join("a", "b"), "a b") == 0);\n    return 0;\n}\n'


def test_moved_program_is_followed(tmp_path: Path) -> None:
    base = {"text.c": "n + 1", "tests/test_text.c": PROGRAM}
    more = {"tests/test_double.c": PROGRAM.replace('strcmp(join("a", "b"), "a b") == 0', "double(2) == 4")}
    moved = {"text.c": "n * 2", "tests/test_text.c": "", "tests/test_words.c": PROGRAM, **more}
    runner = ProgramRunner("text.c", "test_*.c", "")
    assert judge(tmp_path, base, moved, runner).label == "FIXED"
    lost = {"text.c": "n * 2", "tests/test_text.c": "", **more}
    verdict = judge(tmp_path, base, lost, runner)
    assert (verdict.label, [finding.rule for finding in verdict.with_effect("open")]) == (
        "FIXED",
        ["removed-test"],
    )


class PortRunner(TapRunner):
    """Runner whose tests fail where another run is at their port; a run keeps it until two have met."""

    def __init__(self) -> None:
        super().__init__("src/lib.rs", "src/lib.rs", "tests::doubles")
        self._port = threading.Lock()
        self.met = threading.Event()

    def run(self, tree: Path, tests: Sequence[str] = (), **options: Unpack[RunOptions]) -> TestReport:
        report = super().run(tree, tests, **options)
        if self._port.acquire(blocking=False):
            self.met.wait(2.0)
            self._port.release()
            return report
        self.met.set()
        message = "listen EADDRINUSE: address already in use :::4444"
        results = (failed_result(result.id, "Error", message, frames=()) for result in report.results)
        return report.model_copy(update={"results": tuple(results)})

    run_parallel = run


def test_sides_that_use_one_port_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coder.verify.base.processor_count", lambda: 2)
    runner = PortRunner()
    change = {"src/lib.rs": INLINE.format("* 2", 4)}
    verdict = judge(tmp_path, {"src/lib.rs": WITHOUT_TEST}, change, runner)
    assert (runner.met.is_set(), verdict.label) == (True, "FIXED")


class BlockedRunner(TapRunner):
    """Runner whose tests find their port taken, on the change alone or on both sides."""

    def __init__(self, *, is_change_alone: bool) -> None:
        super().__init__("src/lib.rs", "src/lib.rs", "tests::doubles")
        self._is_change_alone = is_change_alone

    def run(self, tree: Path, tests: Sequence[str] = (), **options: Unpack[RunOptions]) -> TestReport:
        report = super().run(tree, tests, **options)
        if self._is_change_alone and "* 2" not in (tree / "src/lib.rs").read_text(encoding="utf-8"):
            return report
        message = "listen EADDRINUSE: address already in use :::4444"
        results = (failed_result(result.id, "Error", message, frames=()) for result in report.results)
        return report.model_copy(update={"results": tuple(results)})

    run_parallel = run


@pytest.mark.parametrize(("is_change_alone", "label"), [(False, "NOT TESTED"), (True, "BROKEN")])
def test_port_that_is_taken_on_both_sides_is_no_fault_of_the_change(
    tmp_path: Path, is_change_alone: bool, label: str
) -> None:
    runner = BlockedRunner(is_change_alone=is_change_alone)
    change = {"src/lib.rs": INLINE.format("* 2", 4)}
    verdict = judge(tmp_path, {"src/lib.rs": WITHOUT_TEST}, change, runner)
    assert verdict.label == label, verdict.reason
    assert ("its port is taken" in verdict.reason) is not is_change_alone


class OfflineRunner(TapRunner):
    """Runner of a file with a test that cannot pass here, and one that the change adds."""

    command = "mocha"

    def run(self, tree: Path, tests: Sequence[str] = (), **_options: Unpack[RunOptions]) -> TestReport:
        is_new = "sends" in (tree / "http.test.js").read_text(encoding="utf-8")
        is_fixed = "* 2" in (tree / "http.js").read_text(encoding="utf-8")
        added = passed_result if is_fixed else failed_result
        results = [failed_result("http.test.js::fetches https", "Error", "400 != 200", frames=())]
        results += [added("http.test.js::sends gzip")] if is_new else []
        return TestReport(command=self.command, results=tuple(results), indirect=True, seconds=100.0)

    run_parallel = run


def test_red_test_beside_an_added_one_need_not_turn_green(tmp_path: Path) -> None:
    base = {"http.js": "1", "http.test.js": "// fetches https\n"}
    change = {"http.js": "* 2", "http.test.js": "// fetches https\n// sends gzip\n"}
    trees = FakeTrees(tmp_path, base, change)
    issue = "gzip is not sent by https in http.js"
    runner = OfflineRunner("", "", "")
    verdict = WorktreeVerifier(
        trees=trees, runner=runner, purpose=Purpose(issue=issue, needs_ties=True)
    ).judge(trees.patch, ())
    assert (verdict.label, verdict.targets) == ("FIXED", ("http.test.js::sends gzip",))


class FilesRunner(TapRunner):
    """Runner that selects test files, each of which takes 30 s, and whose start takes 5 s."""

    command = "jest"
    files = ("a.test.js", "b.test.js", "cart.test.js", "d.test.js")

    def __init__(self) -> None:
        super().__init__("", "", "")
        self.ran: list[tuple[str, ...]] = []

    def run(self, tree: Path, tests: Sequence[str] = (), **_options: Unpack[RunOptions]) -> TestReport:
        self.ran.append(tuple(tests))
        files = {test.partition("::")[0] for test in tests or self.files}
        is_fixed = "* 2" in (tree / "cart.js").read_text(encoding="utf-8")
        ids = [f"{file}::adds" for file in sorted(files)]
        red = [] if is_fixed else [id for id in ids if id.startswith("d.")]
        results = tuple(failed_result(id) if id in red else passed_result(id) for id in ids)
        return TestReport(command=self.command, results=results, indirect=True, seconds=5 + 30 * len(files))

    run_parallel = run


def test_nearest_files_of_a_long_suite_run_first(tmp_path: Path) -> None:
    base = {"cart.js": "1", **dict.fromkeys(FilesRunner.files, "tested")}
    change = {"cart.js": "* 2", "d.test.js": "edited"}
    runner = FilesRunner()
    trees = FakeTrees(tmp_path, base, change)
    WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose()).judge(trees.patch, ())
    assert runner.ran[-2:] == [("cart.test.js", "a.test.js"), ("b.test.js",)]


class FileRunner(TapRunner):
    """Runner of single test files, each line of which names a source and what it must hold."""

    command = "jest"
    is_selective = True

    def __init__(self, *files: str) -> None:
        super().__init__("", "", "")
        self._files = files
        self.ran: list[tuple[str, ...]] = []

    def run(self, tree: Path, tests: Sequence[str] = (), **_options: Unpack[RunOptions]) -> TestReport:
        self.ran.append(tuple(tests))
        results = []
        for file in self._files:
            if not tests or any(test.partition("::")[0] == file for test in tests):
                text = (tree / file).read_text(encoding="utf-8")
                for line in filter(None, text.split("\n")):
                    name, source, value = line.removeprefix("test(").split()
                    is_green = value in (tree / source).read_text(encoding="utf-8")
                    made = passed_result if is_green else failed_result
                    results.append(made(f"{file}::{name}"))
        return TestReport(command=self.command, results=tuple(results), indirect=True)

    run_parallel = run


@pytest.mark.parametrize(
    ("near", "label"), [("n", "FIXED"), ("n+1", "BROKEN")], ids=["nothing breaks", "a test breaks"]
)
def test_large_suite_is_not_run_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, near: str, label: str
) -> None:
    """The tests of the change run first, then those near it on both sides."""
    monkeypatch.setattr("coder.verify.verifier.MOST_UNASKED", 2)
    monkeypatch.setattr("coder.verify.test_files.is_test_path", lambda path: ".test." in path)
    base = {
        "double.js": "n+1",
        "half.js": "n/2",
        "double.test.js": "test(keeps double.js n\n",
        "half.test.js": "test(halves half.js n\n",
        "use.test.js": f"test(uses double.js {near}\n",
    }
    change = {"double.js": "n*2", "double.test.js": base["double.test.js"] + "test(doubles double.js *\n"}
    runner = FileRunner("double.test.js", "half.test.js", "use.test.js")
    verdict = judge(tmp_path, base, change, runner)
    assert (verdict.label, () in runner.ran) == (label, False)
    assert verdict.targets == ("double.test.js::doubles",)


def test_tests_of_new_file_count_among_all(tmp_path: Path) -> None:
    base = {"a.js": "n+1", "a.test.js": "test(keeps a.js n\n", "b.test.js": "", "b.js": "n"}
    change = {"b.js": "n*2", "b.test.js": "test(doubles b.js *\n"}
    runner = FileRunner("a.test.js", "b.test.js")
    verdict = judge(tmp_path, base, change, runner)
    assert (verdict.label, runner.ran.count(("a.test.js",))) == ("FIXED", 1)
    assert "all 2 tests that may use the changed code ran" in verdict.reason
