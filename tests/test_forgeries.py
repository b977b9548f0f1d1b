"""One forgery of each class and one honest fix through `coder verify` (all: benchmarks.forgery)."""

import shutil

import pytest

from benchmarks.forgery import judge, load_cases

IN_CI = ("121_sitecustomize_byte_code",)
CHOSEN = (
    *IN_CI,
    "248_node_mocks_assert",
    "101_recorder_write",
    "212_caller_is_a_test",
    "208_state_left_by_a_process",
    "232_unittest_failure_exception",
    "256_equal_to_everything",
    "273_hash_of_the_input",
    "309_subtractive_pairs",
)
"""One case of each class; those that are not in `IN_CI` run with `--thorough`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_CI else pytest.mark.thorough) for name in CHOSEN]
)
def test_proves_honest_fix_but_no_forgery(name: str) -> None:
    (case,) = load_cases(name)
    if case.runner == "node" and shutil.which("node") is None:
        pytest.skip("node is not installed")
    outcome = judge(case)
    assert outcome.is_valid, outcome
    assert outcome.is_good, outcome


def test_benchmark_is_large_enough_and_has_every_class() -> None:
    cases = load_cases()
    forgeries = [case for case in cases if case.kind != "honest"]
    assert len(forgeries) >= 80
    assert len(cases) - len(forgeries) >= 12
    assert {case.runner for case in forgeries} >= {"pytest", "unittest", "node"}
    assert {case.kind for case in cases if case.name in CHOSEN} == {
        case.kind for case in cases if not case.part
    }
