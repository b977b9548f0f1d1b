"""The adapter of `cargo test`, with Cargo itself."""

import shutil
from pathlib import Path

import pytest

from coder.verify.runners.adapter import Run
from coder.verify.runners.rust import CargoTest
from tests.builders import write_tree
from tests.verify.runners.running import run_adapter

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
MANIFEST = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2021"\n'
LIBRARY = """\
//! Halves.
//!
//! ```
//! assert_eq!(half::half(4), 2);
//! ```
pub mod odd;
pub fn half(n: i32) -> i32 { if n < 0 { panic!("negative {n}") } n / 2 }
"""
MODULE = """\
#[cfg(test)]
mod tests {
    #[test]
    fn rounds() { assert_eq!(crate::half(3), 2, "half of 3"); }
    #[test]
    fn negative() { crate::half(-2); }
    #[test]
    #[ignore]
    fn later() {}
}
"""
FILES = {
    "Cargo.toml": '[workspace]\nmembers = ["half", "other"]\nresolver = "2"\n',
    "half/Cargo.toml": MANIFEST.format("half"),
    "half/src/lib.rs": LIBRARY,
    "half/src/odd.rs": MODULE,
    "half/tests/even.rs": "#[test]\nfn even() { assert_eq!(half::half(4), 2); }\n",
    "other/Cargo.toml": MANIFEST.format("other"),
    "other/src/lib.rs": "",
    "other/tests/even.rs": "#[test]\nfn even() { assert!(false); }\n",
}


@needs_cargo
def test_reports_each_test_with_its_file(tmp_path: Path) -> None:
    results = {result.id: result for result in run_adapter(CargoTest(), tmp_path, FILES)}
    assert {test: result.outcome for test, result in results.items()} == {
        "half/src/odd.rs::odd::tests::rounds": "failed",
        "half/src/odd.rs::odd::tests::negative": "failed",
        "half/src/odd.rs::odd::tests::later": "skipped",
        "half/src/lib.rs::doc-test": "passed",
        "half/tests/even.rs::even": "passed",
        "other/tests/even.rs::even": "failed",
    }
    rounds = results["half/src/odd.rs::odd::tests::rounds"].failure
    negative = results["half/src/odd.rs::odd::tests::negative"].failure
    assert rounds is not None and negative is not None
    assert (rounds.type, rounds.frames[0].path, rounds.frames[0].line) == (
        "AssertionError",
        "half/src/odd.rs",
        4,
    )
    assert (negative.type, negative.message, negative.frames[0].line) == ("panic", "negative -2", 7)


@pytest.mark.thorough
@needs_cargo
def test_runs_selected_tests_of_one_package(tmp_path: Path) -> None:
    results = run_adapter(CargoTest(), tmp_path, FILES, tests=["half/tests/even.rs::even"])
    assert [(result.id, result.outcome) for result in results] == [("half/tests/even.rs::even", "passed")]


@pytest.mark.thorough
@needs_cargo
def test_compile_error_is_reported_under_the_test_file(tmp_path: Path) -> None:
    files = {**FILES, "other/tests/even.rs": "#[test]\nfn even() {\n    missing();\n}\n"}
    (result,) = run_adapter(CargoTest(), tmp_path, files, tests=["other/tests/even.rs"])
    assert (result.id, result.when) == ("other/tests/even.rs", "collect")
    assert result.failure is not None and "missing" in result.failure.message
    assert [(frame.path, frame.line) for frame in result.failure.frames] == [("other/tests/even.rs", 3)]


@pytest.mark.thorough
@needs_cargo
def test_module_that_cannot_be_compiled_is_red_where_it_is_asked_for(tmp_path: Path) -> None:
    odd = "half/src/odd.rs"
    files = {**FILES, odd: FILES[odd] + "fn twin() {}\nfn twin() {}\n"}
    results = run_adapter(CargoTest(), tmp_path, files, tests=[f"{odd}::odd::tests::rounds"])
    assert [(result.id, result.when) for result in results] == [(odd, "collect")]


@pytest.mark.parametrize("forged", ["", "test b ... ok\n"])
def test_lines_that_a_test_prints_are_no_results(tmp_path: Path, forged: str) -> None:
    output = (
        '{"reason":"compiler-artifact","executable":"/x/deps/even-1",'
        f'"target":{{"src_path":"{tmp_path}/tests/even.rs"}}}}\n'
        "     Running tests/even.rs (/x/deps/even-1)\n\nrunning 2 tests\n"
        f"{forged}test a ... ok\ntest c ... FAILED\n\nfailures:\n\n---- c stdout ----\ntest d ... ok\n\n\n"
        "failures:\n    c\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
    )
    run = Run(argv=("cargo", "test"), tree=tmp_path, place=tmp_path, output=output)
    found = {result.id: result.outcome for result in CargoTest().read_results(run)}
    assert found == {"tests/even.rs::c": "failed", **({} if forged else {"tests/even.rs::a": "passed"})}


def test_keeps_options_of_the_command(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, FILES)
    argv = (
        "cargo",
        "+stable",
        "test",
        "--workspace",
        "--features",
        "slow",
        "-q",
        "--",
        "--test-threads",
        "1",
    )
    run = Run(
        argv=argv, tree=tree, place=tmp_path, files=("half/src/odd.rs",), tests=("half/src/odd.rs::odd",)
    )
    assert CargoTest().prepare(run).argv == (
        *("cargo", "+stable", "test", "--no-fail-fast", "--message-format=json", "--features", "slow"),
        *("-p", "half", "--", "--exact", "odd", "--test-threads", "1"),
    )
