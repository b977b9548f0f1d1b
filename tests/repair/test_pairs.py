"""Two faults, each detected by its own test."""

from collections.abc import Sequence
from pathlib import Path

from coder.core.ports import Edit
from coder.repair.candidates import RepairCandidate
from coder.repair.search import SearchState, partial_fixes, search_candidates, search_pairs
from tests.repair.fakes import FakeTrials
from tests.repair.places import candidate

TEXT = "def f(a):\n    return a < 1\n\n\ndef g(a):\n    return a > 2\n"
FIRST = candidate(TEXT, "a < 1", "a <= 1", score=0.6)
SECOND = candidate(TEXT, "a > 2", "a >= 2", score=0.4, place="a.py::g")
OTHER = candidate(TEXT, "a < 1", "a == 1", score=0.5)


PARTS = {"one": ("a <= 1",), "two": ("a >= 2",), "both": ("a <= 1", "a >= 2")}


def find_red(edit: Edit, tests: Sequence[str]) -> str:
    """Return the first test whose own line is not right."""
    text = edit.apply(TEXT)
    return next((test for test in tests if not all(part in text for part in PARTS[test])), "")


def search(tree: Path, tests: list[str], candidates: list[RepairCandidate]) -> SearchState:
    trials = FakeTrials(failing=find_red)
    return search_candidates(trials, tree, tests, candidates, seconds=5.0, progress=None)


def find_pair(tree: Path, tests: list[str], alone: SearchState) -> RepairCandidate:
    trials, candidates = FakeTrials(failing=find_red), [FIRST, OTHER, SECOND]
    (pair,) = search_pairs(
        trials, tree, tests, candidates, alone.failed_by_test, seconds=5.0, progress=None
    ).survivors
    return pair


def test_combines_fixes_of_two_tests(tmp_path: Path) -> None:
    alone = search(tmp_path, ["one", "two"], [FIRST, OTHER, SECOND])
    assert partial_fixes(alone.failed_by_test) == {"two": [FIRST]}
    pair = find_pair(tmp_path, ["one", "two"], alone)
    assert pair.edit.apply(TEXT) == TEXT.replace("a < 1", "a <= 1").replace("a > 2", "a >= 2")
    summary = f"{FIRST.edit.summary}; {SECOND.edit.summary}"
    assert (pair.score, pair.place, pair.edit.summary) == (0.4, "a.py::f", summary)


def test_ignores_fixes_that_leave_most_common_test_red(tmp_path: Path) -> None:
    assert partial_fixes(search(tmp_path, ["one"], [OTHER, SECOND]).failed_by_test) == {}


def test_searches_other_tests_if_first_needs_both(tmp_path: Path) -> None:
    tests = ["both", "one", "two"]
    alone = search(tmp_path, tests, [FIRST, OTHER, SECOND])
    assert partial_fixes(alone.failed_by_test) == {}
    summary = f"{FIRST.edit.summary}; {SECOND.edit.summary}"
    assert find_pair(tmp_path, tests, alone).edit.summary == summary
