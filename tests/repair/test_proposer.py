"""Proposals from failing tests, with everything that executes code faked."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.ports import CallComparison, Progress, Trace, Traces
from coder.core.values import Proposals
from coder.core.verdict import Failure, Outcome, RunProblem, TestReport, TestResult
from coder.patching import apply
from coder.repair.fault import FaultCase, trace_fault
from coder.repair.proposer import TemplateProposer
from coder.repair.search import SearchState, SurvivorSelector, guard_factor
from tests.builders import write
from tests.repair.places import candidate
from tests.repair.test_search import FakeRunner, FakeTrials

FILES = {
    "a.py": "def f(a):\n    return a < 1\n",
    "tests/test_a.py": "from a import f\n\n\ndef test_f():\n    assert f(1)\n",
}
TEST = "tests/test_a.py::test_f"


class FakeTracer:
    def __init__(
        self, outcome: Outcome = "failed", problem: RunProblem | None = None, type_: str = "AssertionError"
    ) -> None:
        failure = Failure(type=type_, message="assert False") if outcome == "failed" else None
        red = Trace(result=TestResult(id=TEST, outcome=outcome, failure=failure), lines={"a.py": (2,)})
        guard = Trace(result=TestResult(id="tests/test_a.py::test_g", outcome="passed"), lines={"a.py": (2,)})
        self._found = Traces(problem=problem) if problem else Traces(tests=(red, guard))

    def trace(
        self, tree: Path, tests: Sequence[str], *, seconds: float, progress: Progress | None = None
    ) -> Traces:
        return self._found


def propose(
    place: Path,
    tracer: FakeTracer,
    *,
    tests: Sequence[str] = (TEST,),
    only: str = "a.py",
    right: str = "<=",
    seconds: float = 20.0,
) -> Proposals:
    write(place, FILES)
    proposer = TemplateProposer(tracer=tracer, trials=FakeTrials(right), runner=FakeRunner(place / "a.py"))
    issue = "f is wrong for 1: it should hold"
    return proposer.propose(
        place, tests, issue, seconds=seconds, may_write=lambda path: path.startswith(only)
    )


def test_proposes_diff_that_applies(tmp_path: Path) -> None:
    result = propose(tmp_path, FakeTracer())
    (proposal,) = result.proposals
    assert (proposal.place, proposal.summary) == ("a.py::f", "f: use `<=` instead of `<`")
    apply(proposal.diff, tmp_path)
    assert (tmp_path / "a.py").read_text() == "def f(a):\n    return a <= 1\n"
    assert result.suspects[0].place == "a.py::f"
    assert result.tried > 10


def test_omits_edit_that_fails_in_fresh_process(tmp_path: Path) -> None:
    assert propose(tmp_path, FakeTracer(), right=">").proposals == ()


def test_proposes_survivor_when_time_runs_out(tmp_path: Path) -> None:
    assert [proposal.summary for proposal in propose(tmp_path, FakeTracer(), seconds=0.0).proposals] == [
        "f: use `<=` instead of `<`"
    ]


def test_retries_timed_out_edit_with_more_time(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    proposer = TemplateProposer(
        tracer=FakeTracer(), trials=FakeTrials(slow=["<="]), runner=FakeRunner(tmp_path / "a.py")
    )
    result = proposer.propose(tmp_path, [TEST], "", seconds=20.0)
    assert [proposal.summary for proposal in result.proposals] == ["f: use `<=` instead of `<`"]


def test_continues_search_after_failed_confirmation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.repair.search.MAX_TRIED_AFTER_SURVIVOR", 0)
    write(tmp_path, FILES)
    runner = FakeRunner(tmp_path / "a.py", right="a >= 1")
    result = TemplateProposer(tracer=FakeTracer(), trials=FakeTrials("<=", ">="), runner=runner).propose(
        tmp_path, [TEST], "", seconds=30.0
    )
    assert [proposal.summary for proposal in result.proposals] == ["f: use `>=` instead of `<`"]


def test_continues_search_after_implausible_survivor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.repair.search.MAX_TRIED_AFTER_SURVIVOR", 0)
    monkeypatch.setattr(
        "coder.repair.proposer.rate_credibility",
        lambda candidate, _: 0.01 if "<=" in candidate.edit.summary else 1.0,
    )
    write(tmp_path, FILES)
    runner = FakeRunner(tmp_path / "a.py", right="= 1")
    result = TemplateProposer(tracer=FakeTracer(), trials=FakeTrials("<=", ">="), runner=runner).propose(
        tmp_path, [TEST], "", seconds=30.0
    )
    assert [proposal.summary for proposal in result.proposals] == [
        "f: use `>=` instead of `<`",
        "f: use `<=` instead of `<`",
    ]


def test_skips_paths_that_may_not_be_written(tmp_path: Path) -> None:
    result = propose(tmp_path, FakeTracer(), only="lib/")
    assert (result.proposals, result.tried) == ((), 0)
    assert result.suspects[0].place == "a.py::f"


def test_suspects_places_from_issue_without_failing_test(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "shop/cart.py": (
                "class Cart:\n    def total_price(self):\n        return 1\n\n    def clear(self):\n"
                "        return 2\n"
            )
        },
    )
    proposer = TemplateProposer(
        tracer=FakeTracer(), trials=FakeTrials(), runner=FakeRunner(tmp_path / "a.py")
    )
    result = proposer.propose(tmp_path, (), "The total price of the cart is wrong", seconds=1.0)
    assert "shop/cart.py::Cart.total_price" in [suspect.place for suspect in result.suspects[:2]]
    assert (result.proposals, result.note) == ((), "There is no failing test to search with.")


def test_reports_test_that_passes_when_traced(tmp_path: Path) -> None:
    assert (
        propose(tmp_path, FakeTracer("passed")).note
        == "The tests that failed pass when they run by themselves."
    )


def test_reports_problem_of_tracer(tmp_path: Path) -> None:
    problem = RunProblem(kind="no_runner", text="pytest is not installed")
    assert propose(tmp_path, FakeTracer(problem=problem)).note == "pytest is not installed"


def test_shows_but_does_not_propose_disagreeing_survivors(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    trials = FakeTrials("<=", "!=", ">=")
    trials.compared = CallComparison(
        calls=("f(1)", "f(5)"), before=("False", "False"), after=(("1", "2"), ("1", "3"), ("1", "4"))
    )
    proposer = TemplateProposer(tracer=FakeTracer(), trials=trials, runner=AllGreen(tmp_path / "a.py"))
    result = proposer.propose(tmp_path, [TEST], "", seconds=20.0)
    assert result.proposals == ()
    assert [alternative.apart for alternative in result.alternatives[:2]] == [
        "f(5) gives 2, elsewhere 3",
        "f(5) gives 3, elsewhere 2",
    ]
    assert result.note.endswith("what holds disagrees on other calls, and nothing decides")


def test_does_not_propose_survivors_without_answers(
    tmp_path: Path,
) -> None:
    write(tmp_path, FILES)
    proposer = TemplateProposer(
        tracer=FakeTracer(), trials=FakeTrials("<=", "!=", ">="), runner=AllGreen(tmp_path / "a.py")
    )
    result = proposer.propose(tmp_path, [TEST], "", seconds=20.0)
    assert result.proposals == ()
    assert result.note.endswith("what holds could not be asked where it differs, and nothing decides")


class AllGreen(FakeRunner):
    def run(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        expect_loaded: Sequence[str] = (),
        progress: Progress | None = None,
        is_base: bool = False,
    ) -> TestReport:
        return TestReport(
            command="pytest", results=tuple(TestResult(id=test, outcome="passed") for test in tests)
        )


def test_proposes_equivalent_edit_if_likeliest_fails(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    trials = FakeTrials("<=", ">=")
    trials.compared = CallComparison(
        calls=("f(1)", "f(5)"), before=("False", "False"), after=(("True", "True"),) * 2
    )
    proposer = TemplateProposer(
        tracer=FakeTracer(), trials=trials, runner=FakeRunner(tmp_path / "a.py", right="a >= 1")
    )
    assert [
        proposal.summary for proposal in proposer.propose(tmp_path, [TEST], "", seconds=20.0).proposals
    ] == ["f: use `>=` instead of `<`"]


@pytest.mark.parametrize(("type_", "offered"), [("AssertionError", False), ("TooLong", True)])
def test_needs_no_answers_after_timeout(tmp_path: Path, type_: str, *, offered: bool) -> None:
    write(tmp_path, FILES)
    case = trace_fault(FakeTracer(type_=type_), tmp_path, [TEST], seconds=1.0)
    assert isinstance(case, FaultCase)
    edit = candidate(FILES["a.py"], "<", "<=", score=0.3)
    chooser = SurvivorSelector(
        case, trials=FakeTrials(), runner=AllGreen(tmp_path / "a.py"), deadline=time.monotonic() + 5.0
    )
    assert (
        chooser.select_survivors(SearchState(survivors=[edit]), {edit: 1.0}).abstention_reason == ""
    ) is offered


def test_weighs_guarded_edits_higher() -> None:
    def guarded(*guards: str) -> float:
        edit = candidate(FILES["a.py"], "<", "<=")
        return guard_factor(replace(edit, edit=edit.edit.model_copy(update={"guards": guards})))

    assert guarded() < guarded("a") < guarded(*"abcd") == guarded(*"abcde") == 1.0


@pytest.mark.parametrize(("rivals", "offered"), [(3, True), (9, False)])
def test_many_unlikely_rivals_outweigh_likely_edit(tmp_path: Path, rivals: int, *, offered: bool) -> None:
    write(tmp_path, FILES)
    case = trace_fault(FakeTracer(), tmp_path, [TEST], seconds=1.0)
    assert isinstance(case, FaultCase)
    edits = [
        candidate(FILES["a.py"], "1", str(number), score=1.5 if number == 2 else 0.45)
        for number in range(2, 3 + rivals)
    ]
    chooser = SurvivorSelector(
        case, trials=FakeTrials(), runner=AllGreen(tmp_path / "a.py"), deadline=time.monotonic() + 5.0
    )
    choice = chooser.select_survivors(SearchState(survivors=edits), dict.fromkeys(edits, 1.0))
    assert len(choice.confirmed_clusters) == 4
    assert (choice.abstention_reason == "") is offered


@pytest.mark.parametrize("has_answers", [True, False])
def test_requires_more_weight_without_distinguishing_answers(tmp_path: Path, *, has_answers: bool) -> None:
    write(tmp_path, FILES)
    case = trace_fault(FakeTracer(), tmp_path, [TEST], seconds=1.0)
    assert isinstance(case, FaultCase)
    edit, trials = candidate(FILES["a.py"], "<", "<=", score=0.4), FakeTrials()
    trials.compared = (
        CallComparison(calls=("f(1)", "f(5)"), before=("False", "True"), after=(("True", "True"),))
        if has_answers
        else CallComparison()
    )
    choice = SurvivorSelector(
        case, trials=trials, runner=AllGreen(tmp_path / "a.py"), deadline=time.monotonic() + 20.0
    )
    assert (
        choice.select_survivors(SearchState(survivors=[edit]), {edit: 1.0}).abstention_reason == ""
    ) is has_answers
