"""Two faults, each detected by its own test."""

from collections.abc import Generator, Sequence
from pathlib import Path

from coder.core.ports import CallComparison, Edit, TrialResult
from coder.repair.search import partial_fixes, search_candidates, search_pairs
from tests.repair.places import candidate

TEXT = "def f(a):\n    return a < 1\n\n\ndef g(a):\n    return a > 2\n"
FIRST = candidate(TEXT, "a < 1", "a <= 1", score=0.6)
SECOND = candidate(TEXT, "a > 2", "a >= 2", score=0.4, place="a.py::g")
OTHER = candidate(TEXT, "a < 1", "a == 1", score=0.5)


PARTS = {"one": ("a <= 1",), "two": ("a >= 2",), "both": ("a <= 1", "a >= 2")}


class PartialTrials:
    """Each test passes if its own line is right."""

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[TrialResult]:
        for edit in edits:
            text = edit.apply(TEXT)
            red = [test for test in tests if not all(part in text for part in PARTS[test])]
            yield TrialResult(edit=edit, outcome="failed" if red else "passed", test=red[0] if red else "")

    def compare_calls(
        self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float
    ) -> CallComparison:
        return CallComparison()


def test_combines_fixes_of_two_tests(tmp_path: Path) -> None:
    candidates = [FIRST, OTHER, SECOND]
    alone = search_candidates(
        PartialTrials(), tmp_path, ["one", "two"], candidates, seconds=5.0, progress=None
    )
    assert partial_fixes(alone.failed_by_test) == {"two": [FIRST]}
    result = search_pairs(
        PartialTrials(),
        tmp_path,
        ["one", "two"],
        candidates,
        alone.failed_by_test,
        seconds=5.0,
        progress=None,
    )
    (pair,) = result.survivors
    assert pair.edit.apply(TEXT) == TEXT.replace("a < 1", "a <= 1").replace("a > 2", "a >= 2")
    assert (pair.score, pair.place, pair.edit.summary) == (
        0.4,
        "a.py::f",
        f"{FIRST.edit.summary}; {SECOND.edit.summary}",
    )


def test_ignores_fixes_that_leave_most_common_test_red(tmp_path: Path) -> None:
    assert (
        partial_fixes(
            search_candidates(
                PartialTrials(), tmp_path, ["one"], [OTHER, SECOND], seconds=5.0, progress=None
            ).failed_by_test
        )
        == {}
    )


def test_searches_other_tests_if_first_needs_both(tmp_path: Path) -> None:
    tests, candidates = ["both", "one", "two"], [FIRST, OTHER, SECOND]
    alone = search_candidates(PartialTrials(), tmp_path, tests, candidates, seconds=5.0, progress=None)
    assert partial_fixes(alone.failed_by_test) == {}
    (pair,) = search_pairs(
        PartialTrials(), tmp_path, tests, candidates, alone.failed_by_test, seconds=5.0, progress=None
    ).survivors
    assert pair.edit.summary == f"{FIRST.edit.summary}; {SECOND.edit.summary}"
