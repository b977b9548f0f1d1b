"""Proposals from failing tests, with everything that executes code faked."""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from coder.core.ports import AnswerClasses, Edit, Progress, Trace, Traces, TrialResult
from coder.core.values import Proposals
from coder.core.verdict import Failure, Outcome, RunProblem, TestResult
from coder.python.source import PythonSource
from coder.repair.localization import FaultCase
from coder.repair.proposer import (
    EquivalenceNormalizer,
    SearchState,
    TemplateProposer,
    list_rivals,
    normalize_module,
    sort_by_plainness,
)
from tests.builders import write
from tests.repair.fakes import FakeRunner, FakeTrials, candidate

FILES = {
    "a.py": "def f(a):\n    return a < 1\n",
    "tests/test_a.py": "from a import f\n\n\ndef test_f():\n    assert f(1)\n",
}
TEST = "tests/test_a.py::test_f"


class FakeTracer:
    def __init__(self, outcome: Outcome = "failed", problem: RunProblem | None = None) -> None:
        failure = Failure(type="AssertionError", message="assert False") if outcome == "failed" else None
        red = Trace(result=TestResult(id=TEST, outcome=outcome, failure=failure), lines={"a.py": (2,)})
        guard = Trace(result=TestResult(id="tests/test_a.py::test_g", outcome="passed"), lines={"a.py": (2,)})
        self._found = Traces(problem=problem) if problem else Traces(tests=(red, guard))

    def trace(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> Traces:
        return self._found


def classify(
    tree: Path, edits: Sequence[Edit], targets: Sequence[str], tests: Sequence[str], seconds: float
) -> AnswerClasses:
    """Give `!=` and `>=` the same answers, and any other edit answers of its own."""
    groups: dict[str, list[int]] = {}
    for place, edit in enumerate(edits):
        text = edit.changes[0].text
        groups.setdefault("False" if text in ("!=", ">=") else "True", []).append(place)
    return AnswerClasses(
        classes=tuple(map(tuple, groups.values())),
        call="f(5)" if len(groups) > 1 else "",
        answers=tuple(groups),
    )


def propose(
    place: Path,
    tracer: FakeTracer | None = None,
    *,
    text: str = FILES["a.py"],
    trials: FakeTrials | None = None,
    right: str = "a <= 1",
    only: str = "a.py",
    seconds: float = 20.0,
    classify: Callable[..., AnswerClasses] = classify,
) -> Proposals:
    """Propose edits of `FILES`; `right` is what the confirming runs look for."""
    write(place, {**FILES, "a.py": text})
    proposer = TemplateProposer(
        tracer=tracer or FakeTracer(),
        trials=trials or FakeTrials("<="),
        runner=FakeRunner(place / "a.py", right=right),
        classify=classify,
    )
    issue = "f is wrong for 1: it should hold"
    return proposer.propose(
        place, (TEST,), issue, seconds=seconds, may_write=lambda path: path.startswith(only)
    )


def summaries(result: Proposals) -> list[str]:
    return [proposal.summary for proposal in result.proposals]


def test_tells_that_time_ended_the_search(tmp_path: Path) -> None:
    class EndedTrials(FakeTrials):
        def try_out(self, *arguments: Any, **options: Any) -> Generator[TrialResult]:
            for result in super().try_out(*arguments, **options):
                yield result
                if result.outcome == "passed":
                    return

    assert propose(tmp_path, trials=EndedTrials("<=")).is_cut
    assert not propose(tmp_path).is_cut


def test_long_tracing_is_taken_from_the_search(tmp_path: Path) -> None:
    class SlowTracer(FakeTracer):
        def trace(self, *arguments: Any, **options: Any) -> Traces:
            time.sleep(0.2)
            return super().trace(*arguments, **options)

    class TimedTrials(FakeTrials):
        seconds = 0.0

        def try_out(self, *arguments: Any, seconds: float, **options: Any) -> Generator[TrialResult]:
            self.seconds = seconds
            return super().try_out(*arguments, seconds=seconds, **options)

    trials = TimedTrials("<=")
    assert propose(tmp_path, SlowTracer(), trials=trials, seconds=0.4).proposals
    assert 0 < trials.seconds < 0.2


LESS, GREATER = "f: use `<=` instead of `<`", "f: use `>=` instead of `<`"


NO_RUNNER = RunProblem(kind="no_runner", text="pytest is not installed")


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"only": "b.py"}, "no edit fits the likeliest places"),
        ({"seconds": 0.0}, "time ran out before an edit was tried"),
        ({"tracer": FakeTracer("passed")}, "The tests that failed pass when they run by themselves."),
        ({"tracer": FakeTracer(problem=NO_RUNNER)}, "pytest is not installed"),
    ],
    ids=["nothing fits", "no time", "green", "no runner"],
)
def test_says_why_nothing_was_tried(tmp_path: Path, options: dict[str, Any], note: str) -> None:
    result = propose(tmp_path, **options)
    assert (result.proposals, result.tried, result.note) == ((), 0, note)


@pytest.mark.parametrize(
    ("trials", "right", "expected"),
    [
        (FakeTrials(">"), "a <= 1", []),
        (FakeTrials(slow=["<="]), "a <= 1", [LESS]),
        (FakeTrials("<=", ">="), "a >= 1", [GREATER]),
        (FakeTrials("!=", ">="), "a >= 1", [GREATER]),
    ],
    ids=[
        "not confirmed",
        "slow",
        "first is not confirmed",
        "plainest of its kind is not confirmed",
    ],
)
def test_proposes_what_is_confirmed(
    tmp_path: Path, trials: FakeTrials, right: str, expected: list[str]
) -> None:
    assert summaries(propose(tmp_path, trials=trials, right=right)) == expected


@dataclass
class FewTests:
    """The tests of a fault, as far as rivals depend on them."""

    impacted: int
    failing: tuple[str, ...] = (TEST,)

    def impacted_tests(self, _: object) -> list[str]:
        return [f"{TEST}[{number}]" for number in range(self.impacted)]


def test_edits_of_the_same_statement_are_tried_where_few_tests_run_it() -> None:
    text = "x = a < b\ny = a\n"
    edits = [candidate(text, "<", "<="), candidate(text, "y = a", "y = b"), candidate(text, "<", ">")]
    state = SearchState(survivors=edits[:1], tried=1)
    assert list_rivals(cast(FaultCase, FewTests(1)), edits, state) == edits[2:]
    assert list_rivals(cast(FaultCase, FewTests(9)), edits, state) == []
    assert list_rivals(cast(FaultCase, FewTests(1)), edits, SearchState(tried=1)) == []


def test_each_pass_tries_all_of_its_edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.repair.proposer.MAX_TRIED_AFTER_SURVIVOR", 3)
    trials = FakeTrials("<=")
    propose(tmp_path, trials=trials)
    first = [edit.changes[0].text for edit in trials.tried].index("<=") + 1
    assert len(trials.tried) == first + 3 + 3  # the next ones, then those of the same statement


def test_of_equal_edits_the_one_with_fewest_changes_is_proposed(tmp_path: Path) -> None:
    (proposal,) = propose(
        tmp_path,
        text="def f(a, b):\n    return (a, b) < (b, a)\n",
        trials=FakeTrials("b", "a"),
        right="",
        classify=lambda tree, edits, *_: AnswerClasses(classes=(tuple(range(len(edits))),)),
    ).proposals
    assert "swap" not in proposal.summary


@pytest.mark.parametrize(("says_little", "count"), [(False, 1), (True, 2)])
def test_one_kind_of_edit_is_decided_unless_by_a_single_call(
    tmp_path: Path, says_little: bool, count: int
) -> None:
    def classify_calls(*arguments: Any) -> AnswerClasses:
        return classify(*arguments).model_copy(update={"says_little": says_little})

    result = propose(tmp_path, trials=FakeTrials("!=", ">="), right="", classify=classify_calls)
    question = "the tests do not decide between 2 edits" if says_little else ""
    assert (len(result.proposals), result.open_question[: len(question) or None]) == (count, question)


def test_sorts_changed_operators_before_copied_and_longer_code() -> None:
    text = "def f(a, b):\n    return a < b\n"
    edits = [
        candidate(text, "a < b", "not a and a < b", family="condition", score=0.9),
        candidate(text, "a < b", "not a < b", score=0.1),
        candidate(text, "a < b", "a", score=0.9),
        candidate(text, "a < b", "b", family="value_elsewhere", score=0.9),
        candidate(text, "<", "<=", score=0.1),
        candidate(text, "a < b", "(a) <= b", score=0.2),
    ]
    ordered = sort_by_plainness(edits, {"a.py": PythonSource("a.py", text)})
    assert [found.edit.changes[0].text for found in ordered] == [
        "<=",
        "not a < b",
        "a",
        "not a and a < b",
        "b",
    ]


def test_normalizes_equivalent_code() -> None:
    assert normalize_module("not a in b") == normalize_module("(a not in b)")
    assert normalize_module("f(x=1, y=2)") == normalize_module("f(y=2, x=1)")
    assert normalize_module("a <") == "a <"
    assert EquivalenceNormalizer.OPPOSITES
