"""Proposals from failing tests, with everything that executes code faked."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.ports import CallComparison, Progress, Trace, Traces
from coder.core.values import Proposals
from coder.core.verdict import Failure, Outcome, RunProblem, TestResult
from coder.patching import apply
from coder.repair.candidates import RepairCandidate
from coder.repair.fault import FaultCase, trace_fault
from coder.repair.proposer import TemplateProposer
from coder.repair.search import SearchState, SelectionResult, SurvivorSelector, guard_factor
from tests.builders import write
from tests.repair.fakes import FakeRunner, FakeTrials
from tests.repair.places import candidate

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
    tracer: FakeTracer | None = None,
    *,
    trials: FakeTrials | None = None,
    tests: Sequence[str] = (TEST,),
    right: str = "a <= 1",
    only: str = "a.py",
    seconds: float = 20.0,
) -> Proposals:
    """Propose edits of `FILES`; `right` is what the confirming runs look for."""
    write(place, FILES)
    proposer = TemplateProposer(
        tracer=tracer or FakeTracer(),
        trials=trials or FakeTrials("<="),
        runner=FakeRunner(place / "a.py", right=right),
    )
    issue = "f is wrong for 1: it should hold"
    return proposer.propose(
        place, tests, issue, seconds=seconds, may_write=lambda path: path.startswith(only)
    )


def summaries(result: Proposals) -> list[str]:
    return [proposal.summary for proposal in result.proposals]


LESS, GREATER = "f: use `<=` instead of `<`", "f: use `>=` instead of `<`"


def test_proposes_diff_that_applies(tmp_path: Path) -> None:
    result = propose(tmp_path)
    (proposal,) = result.proposals
    assert (proposal.place, proposal.summary) == ("a.py::f", LESS)
    apply(proposal.diff, tmp_path)
    assert (tmp_path / "a.py").read_text() == "def f(a):\n    return a <= 1\n"
    assert result.suspects[0].place == "a.py::f"
    assert result.tried > 10


SAME = CallComparison(calls=("f(1)", "f(5)"), before=("False", "False"), after=(("True", "True"),) * 2)


@pytest.mark.parametrize(
    ("trials", "right", "seconds", "expected"),
    [
        (FakeTrials(">"), "a <= 1", 20.0, []),
        (FakeTrials("<="), "a <= 1", 0.0, [LESS]),
        (FakeTrials(slow=["<="]), "a <= 1", 20.0, [LESS]),
        (FakeTrials("<=", ">=", compared=SAME), "a >= 1", 20.0, [GREATER]),
    ],
    ids=["not confirmed", "time is over", "with more time", "likeliest is not confirmed"],
)
def test_proposes_what_is_confirmed(
    tmp_path: Path, trials: FakeTrials, right: str, seconds: float, expected: list[str]
) -> None:
    assert summaries(propose(tmp_path, trials=trials, right=right, seconds=seconds)) == expected


def test_continues_search_after_failed_confirmation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.repair.search.MAX_TRIED_AFTER_SURVIVOR", 0)
    assert summaries(propose(tmp_path, trials=FakeTrials("<=", ">="), right="a >= 1")) == [GREATER]


def test_continues_search_after_implausible_survivor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.repair.search.MAX_TRIED_AFTER_SURVIVOR", 0)
    monkeypatch.setattr(
        "coder.repair.proposer.rate_credibility",
        lambda candidate, _: 0.01 if "<=" in candidate.edit.summary else 1.0,
    )
    result = propose(tmp_path, trials=FakeTrials("<=", ">="), right="= 1", seconds=30.0)
    assert summaries(result) == [GREATER, LESS]


def test_skips_paths_that_may_not_be_written(tmp_path: Path) -> None:
    result = propose(tmp_path, only="lib/")
    assert (result.proposals, result.tried) == ((), 0)
    assert result.suspects[0].place == "a.py::f"


def test_suspects_places_from_issue_without_failing_test(tmp_path: Path) -> None:
    cart = "class Cart:\n    def total_price(self): return 1\n\n    def clear(self): return 2\n"
    write(tmp_path, {"shop/cart.py": cart})
    proposer = TemplateProposer(
        tracer=FakeTracer(), trials=FakeTrials(), runner=FakeRunner(tmp_path / "a.py")
    )
    result = proposer.propose(tmp_path, (), "The total price of the cart is wrong", seconds=1.0)
    assert "shop/cart.py::Cart.total_price" in [suspect.place for suspect in result.suspects[:2]]
    assert (result.proposals, result.note) == ((), "There is no failing test to search with.")


NOT_INSTALLED = "pytest is not installed"
APART = CallComparison(
    calls=("f(1)", "f(5)"), before=("False", "False"), after=(("1", "2"), ("1", "3"), ("1", "4"))
)


@pytest.mark.parametrize(
    ("tracer", "compared", "note"),
    [
        (FakeTracer("passed"), None, "The tests that failed pass when they run by themselves."),
        (FakeTracer(problem=RunProblem(kind="no_runner", text=NOT_INSTALLED)), None, NOT_INSTALLED),
        (FakeTracer(), APART, "3 edits pass your tests; they differ in what other calls give"),
        (FakeTracer(), None, "3 edits pass your tests; where they differ could not be tried"),
    ],
    ids=["green", "no runner", "apart", "no answers"],
)
def test_says_why_nothing_is_proposed(
    tmp_path: Path, tracer: FakeTracer, compared: CallComparison | None, note: str
) -> None:
    trials = FakeTrials("<=", "!=", ">=", compared=compared)
    result = propose(tmp_path, tracer, trials=trials, right="")
    assert result.proposals == ()
    assert result.note.endswith(note)
    apart = ["f(5) gives 2, elsewhere 3", "f(5) gives 3, elsewhere 2"] if compared else []
    assert [alternative.apart for alternative in result.alternatives[:2] if alternative.apart] == apart


def choose(
    place: Path, edits: Sequence[RepairCandidate], *, type_: str = "AssertionError", trials: FakeTrials
) -> SelectionResult:
    """Choose among edits that all pass in fresh processes."""
    write(place, FILES)
    case = trace_fault(FakeTracer(type_=type_), place, [TEST], seconds=1.0)
    assert isinstance(case, FaultCase)
    runner = FakeRunner(place / "a.py", right="")
    selector = SurvivorSelector(case, trials=trials, runner=runner, deadline=time.monotonic() + 20.0)
    return selector.select_survivors(SearchState(survivors=[*edits]), dict.fromkeys(edits, 1.0))


ANSWERS = CallComparison(calls=("f(1)", "f(5)"), before=("False", "True"), after=(("True", "True"),))


@pytest.mark.parametrize(
    ("type_", "score", "compared", "offered"),
    [
        ("AssertionError", 0.3, None, False),
        ("TooLong", 0.3, None, True),
        ("AssertionError", 0.4, ANSWERS, True),
        ("AssertionError", 0.4, None, False),
    ],
)
def test_unlikely_edit_needs_answers_unless_it_ends_a_loop(
    tmp_path: Path, type_: str, score: float, compared: CallComparison | None, *, offered: bool
) -> None:
    edit = candidate(FILES["a.py"], "<", "<=", score=score)
    choice = choose(tmp_path, [edit], type_=type_, trials=FakeTrials(compared=compared))
    assert (choice.abstention_reason == "") is offered


def test_weighs_guarded_edits_higher() -> None:
    def guarded(*guards: str) -> float:
        edit = candidate(FILES["a.py"], "<", "<=")
        return guard_factor(replace(edit, edit=edit.edit.model_copy(update={"guards": guards})))

    assert guarded() < guarded("a") < guarded(*"abcd") == guarded(*"abcde") == 1.0


@pytest.mark.parametrize(("rivals", "offered"), [(3, True), (9, False)])
def test_many_unlikely_rivals_outweigh_likely_edit(tmp_path: Path, rivals: int, *, offered: bool) -> None:
    edits = [
        candidate(FILES["a.py"], "1", str(number), score=1.5 if number == 2 else 0.45)
        for number in range(2, 3 + rivals)
    ]
    choice = choose(tmp_path, edits, trials=FakeTrials())
    assert len(choice.confirmed_clusters) == 4
    assert (choice.abstention_reason == "") is offered
