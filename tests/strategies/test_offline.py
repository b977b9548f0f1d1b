"""Repair without a model, from the failing tests to a verdict."""

import asyncio
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from coder.core.errors import IdentityError
from coder.core.events import Budget, FilesChanged, NoteMade, PhaseEntered, SessionFinished, Stop, Verified
from coder.core.notes import Done, GiveUp, Note, Offers, Reproduction, Sites
from coder.core.ports import Progress, ReproducedExample
from coder.core.state import candidate_notes
from coder.core.values import Delivery, Patch, Proposal, Proposals, Suspect
from coder.core.verdict import ReproductionResult, TestReport, Verdict, VerdictKind
from coder.core.verdict_summary import describe_open
from coder.session.approval import Approval
from coder.session.context import SessionContext
from coder.session.log import EventLog
from coder.session.session import Session
from coder.strategies.offline import SEARCH_SECONDS, search_repair, undecided_findings
from tests.builders import write
from tests.session.fakes import (
    PROVEN,
    RED,
    STILL_RED,
    UNTESTED,
    FakeVerifier,
    ForkingRepository,
    kit,
    run_session,
    run_strategy,
)

SUSPECTS = (Suspect(place="a.py::value", line=1, score=0.9), Suspect(place="b.py::other", line=7, score=0.4))
REDS = TestReport(
    command="pytest", results=(RED, RED.model_copy(update={"id": "tests/test_a.py::test_other"}))
)
BOTH = (RED.id, "tests/test_a.py::test_other")
PLACES = ("a.py::value", "b.py::other")
DOUBTFUL = Verdict(kind=VerdictKind.NOT_TESTED, reason="The wrong code was loaded.")
EXAMPLE = ReproducedExample(
    call="value()",
    wrong="1",
    right="2",
    path="tests/test_a.py",
    text="def test_value_example():\n    assert value() == 2\n",
    test="tests/test_a.py::test_value_example",
)


def proposal(value: int, answer: str = "") -> Proposal:
    diff = f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = {value}\n"
    return Proposal(diff=diff, summary=f"value: use {value} instead of 1", place="a.py::value", answer=answer)


@dataclass
class ScriptedProposer:
    """Proposer that gives each answer in turn, and the last one repeatedly."""

    answers: list[Proposals]
    calls: list[tuple[str, ...]] = field(default_factory=list)
    guards: list[tuple[str, ...]] = field(default_factory=list)
    seconds: float = 0.0
    may_write: Callable[[str], bool] | None = None

    def propose(
        self,
        tree: Path,
        tests: Sequence[str],
        issue: str,
        *,
        seconds: float,
        progress: Progress | None = None,
        may_write: Callable[[str], bool] | None = None,
        guards: Sequence[str] = (),
    ) -> Proposals:
        self.calls.append(tuple(tests))
        self.guards.append(tuple(guards))
        self.seconds, self.may_write = seconds, may_write
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def proposals(*values: int, call: str = "") -> Proposals:
    return Proposals(
        proposals=tuple(proposal(value, str(value)) for value in values),
        call=call,
        suspects=SUSPECTS,
        tried=40,
        note="tried 40 candidates",
    )


def offline_context(
    root: Path,
    proposed: Proposals | ScriptedProposer,
    *verdicts: Verdict,
    verifier: FakeVerifier | None = None,
    issue: str = "the suite fails",
    **options: Any,
) -> SessionContext:
    """Return a context in which this is proposed and judged so, on a base with two red tests."""
    proposer = proposed if isinstance(proposed, ScriptedProposer) else ScriptedProposer([proposed])
    judging = verifier or FakeVerifier(verdicts=[*(verdicts or (PROVEN,))], report=REDS)
    return replace(kit(root, verifier=judging, issue=issue, **options), make_proposer=lambda: proposer)


def run_offline(
    root: Path, proposed: Proposals | ScriptedProposer, *verdicts: Verdict, **options: Any
) -> list[object]:
    """Return the log's entries after the strategy has ended: phases, notes, changed paths, kinds of
    verdicts.
    """
    context = offline_context(root, proposed, *verdicts, **options)
    run_strategy(search_repair(), context)
    entries: list[object] = []
    for record in context.log.records:
        match record.event:
            case PhaseEntered(phase=phase):
                entries.append(phase)
            case NoteMade(note=note):
                entries.append(note)
            case FilesChanged(paths=paths):
                entries.append(paths)
            case Verified(verdict=verdict):
                entries.append(verdict.kind)
            case _:
                pass
    return entries


def notes(entries: list[object], kind: type[Note]) -> list[Any]:
    return [entry for entry in entries if isinstance(entry, kind)]


def test_keeps_the_one_kind_of_edit_that_passes(tmp_path: Path) -> None:
    assert run_offline(tmp_path, proposals(2)) == [
        "locate",
        Sites(summary="tried 40 candidates", places=PLACES, tests=(RED.id,)),
        *("edit", ("a.py",), Done(summary="value: use 2 instead of 1")),
        *("verify", VerdictKind.PROVEN),
    ]
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"


def test_tests_that_never_end_leave_time_for_the_search(tmp_path: Path) -> None:
    verifier = FakeVerifier(verdicts=[PROVEN], report=REDS)
    run_offline(tmp_path, proposals(2), verifier=verifier)
    assert verifier.reproduction_seconds == SEARCH_SECONDS / 2


def test_search_that_time_ended_is_passing_at_most() -> None:
    cut = proposals(2).model_copy(update={"is_cut": True})
    (finding,) = undecided_findings(cut)
    assert (finding.effect, finding.text) == (
        "cap",
        "time ended the search after 40 edits: others may pass as well",
    )
    assert undecided_findings(proposals(2)) == ()


@pytest.mark.parametrize(("kept", "names_another"), [((2, 3), True), ((2,), False)])
def test_names_another_edit_only_where_one_is_kept(kept: tuple[int, ...], names_another: bool) -> None:
    found = proposals(*kept, call="value()").model_copy(update={"more": 1})
    verdict = Verdict(kind=VerdictKind.PASSING, reason="", findings=undecided_findings(found))
    (line,) = describe_open(verdict)
    assert line.startswith("the tests do not decide between")
    assert ("--candidate 2" in line) == names_another


@pytest.mark.parametrize(
    ("example", "decides"),
    [
        (
            EXAMPLE.model_copy(
                update={
                    "text": "def test_value_example():\n    from a import value\n\n    assert value() == 2\n"
                }
            ),
            [
                "this test decides, with the value that is right, in tests/test_a.py:",
                "    def test_value_example():",
                "        from a import value",
                "    ",
                "        assert value() == 2",
            ],
        ),
        ("`value` is not defined", ["a test of value() decides"]),
    ],
    ids=["test to paste", "no test can be written"],
)
def test_several_kinds_of_edits_are_passing_and_offered(
    tmp_path: Path, example: ReproducedExample | str, decides: list[str]
) -> None:
    verifier = FakeVerifier(verdicts=[PROVEN], report=REDS)
    verifier.write_example = lambda *_: example  # type: ignore[method-assign]
    entries = run_offline(tmp_path, proposals(2, 3, call="value()"), verifier=verifier)
    question = "the tests do not decide between 2 edits; they differ in `value()`: 2 or 3"
    (offers,) = notes(entries, Offers)
    assert (offers.summary, len(offers.diffs)) == (question, 2)
    assert offers.rows == (
        "1. value: use 2 instead of 1: 2",
        "2. value: use 3 instead of 1: 3",
        *decides,
    )
    assert entries[-1] == VerdictKind.PASSING
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"


def test_offers_no_test_with_a_call_that_is_shown_in_part(tmp_path: Path) -> None:
    verifier = FakeVerifier(verdicts=[PROVEN], report=REDS)
    (offers,) = notes(run_offline(tmp_path, proposals(2, 3, call="value(…)"), verifier=verifier), Offers)
    assert offers.rows == ("1. value: use 2 instead of 1: 2", "2. value: use 3 instead of 1: 3")


class AnsweringApproval(Approval):
    """Approval whose user gives these answers."""

    def __init__(self, log: EventLog, *answers: str) -> None:
        super().__init__(log, attended=True)
        self._answers = [*answers]
        self.questions: list[str] = []

    async def ask(
        self, text: str, *, options: tuple[str, ...], default: str, takes_text: bool = False
    ) -> str:
        self.questions.append(text)
        return self._answers.pop(0)


ANSWER = EXAMPLE.model_copy(update={"test": "tests/test_a.py::test_answer"})


@pytest.mark.parametrize(
    ("red", "answer", "found", "tests", "guards"),
    [
        (True, "2", [proposals(2, 3, call="value()")], [BOTH], [()]),
        (True, "7", [proposals(2, 3, call="value()"), proposals(7)], [BOTH, (*BOTH, ANSWER.test)], [(), ()]),
        (False, "7", [proposals(2, 3, call="value()"), proposals(7)], [BOTH, BOTH], [(), (ANSWER.test,)]),
    ],
    ids=["one edit gives it", "red test", "test that must stay green"],
)
def test_answer_becomes_a_test_and_the_search_goes_on(
    tmp_path: Path,
    red: bool,
    answer: str,
    found: list[Proposals],
    tests: list[tuple[str, ...]],
    guards: list[tuple[str, ...]],
) -> None:
    proposer = ScriptedProposer(found)
    reproduced = [ReproductionResult(tests=BOTH), ReproductionResult(tests=(ANSWER.test,) if red else ())]
    verifier = FakeVerifier(example=ANSWER, reproduced=reproduced, report=REDS)
    context = offline_context(tmp_path, proposer, verifier=verifier)
    approval = AnsweringApproval(context.log, answer)
    run_strategy(search_repair(), replace(context, approval=approval))
    assert (proposer.calls, proposer.guards, len(approval.questions)) == (tests, guards, 1)
    assert (tmp_path / ANSWER.path).read_text() == ANSWER.text


@pytest.mark.parametrize(
    ("verdict", "attempts", "tries"),
    [(STILL_RED, 3, 3), (STILL_RED, 1, 1), (DOUBTFUL, 3, 1)],
    ids=["three tries", "attempts of the budget", "not tested"],
)
def test_tries_until_one_holds(tmp_path: Path, verdict: Verdict, attempts: int, tries: int) -> None:
    entries = run_offline(tmp_path, proposals(2, 6, 7), verdict, budget=Budget(attempts=attempts))
    assert entries.count("verify") == tries
    assert (tmp_path / "a.py").read_text() == "VALUE = 1\n"
    assert bool(notes(entries, GiveUp)) is (verdict is STILL_RED)


def test_tests_broken_by_proposal_guard_next_search(tmp_path: Path) -> None:
    other = RED.model_copy(update={"id": "tests/test_b.py::test_other"})
    broke = Verdict(kind=VerdictKind.BROKEN, reason="A test broke.", broken=(other,))
    proposing = ScriptedProposer([proposals(5), proposals(2)])
    entries = run_offline(tmp_path, proposing, broke, PROVEN)
    assert proposing.guards == [(), (other.id,)]
    kinds = [entry for entry in entries if isinstance(entry, VerdictKind)]
    assert kinds == [VerdictKind.BROKEN, VerdictKind.PROVEN]


def test_without_failing_test_says_why_and_names_places(tmp_path: Path) -> None:
    proposer = ScriptedProposer([Proposals(suspects=SUSPECTS)])
    entries = run_offline(tmp_path, proposer, verifier=FakeVerifier())
    (gave_up,) = notes(entries, GiveUp)
    assert gave_up.places == PLACES
    assert gave_up.summary == (
        "No test fails because of the issue, and the issue has no example in a form that is read here, "
        "such as `f(x)` returns 1 instead of 2. "
        "Likeliest places, by the issue's words: value (a.py:1), other (b.py:7). Name a failing test with "
        "--test, or use a model: coder fix --model MODEL."
    )


@pytest.mark.parametrize("has_test", [True, False])
def test_says_that_other_languages_are_not_repaired(tmp_path: Path, has_test: bool) -> None:
    red = RED.model_copy(update={"id": "cart.test.js::adds prices"})
    report = TestReport(command="node --test", results=(red,) if has_test else (), indirect=True)
    proposer = ScriptedProposer([Proposals(suspects=SUSPECTS)])
    verifier = FakeVerifier(
        report=report, reproduced=[ReproductionResult(tests=(red.id,))], tied={red.id: "example"}
    )
    context = offline_context(tmp_path, proposer, verifier=verifier, issue="total([1, 2]) gives 4")
    for path in tmp_path.rglob("*.py"):
        path.unlink()
    run_strategy(search_repair(), context)
    (note,) = [note for note in candidate_notes(context.log.records, "c1") if isinstance(note, GiveUp)]
    fails = f"{red.id} fails here" if has_test else "no test fails because of the issue"
    assert note.summary == (
        f"The built-in engine repairs Python only, and {fails}. Likeliest places, by the issue's words: "
        "value (a.py:1), other (b.py:7). Use a model: coder fix --model MODEL."
    )
    assert proposer.calls == [()]


@pytest.mark.parametrize(("is_cut", "end"), [(True, "; time ended the search)."), (False, ").")])
def test_giving_up_tells_that_time_ended_the_search(tmp_path: Path, is_cut: bool, end: str) -> None:
    entries = run_offline(tmp_path, proposals().model_copy(update={"is_cut": is_cut}))
    (gave_up,) = notes(entries, GiveUp)
    assert f"breaks nothing (tried 40 candidates{end}" in gave_up.summary


def test_every_red_test_tied_to_the_issue_must_pass(tmp_path: Path) -> None:
    doctest = RED.model_copy(update={"id": "b.py::b.first_price"})
    report = TestReport(command="pytest", results=(doctest, *REDS.results))
    verifier = FakeVerifier(report=report, tied={doctest.id: "identifier", RED.id: "message"})
    run_offline(tmp_path, proposals(2), verifier=verifier, issue="`first_price` is off by one")
    assert verifier.calls[0] == ("reproduces", (doctest.id, RED.id))


def test_uses_test_named_in_issue(tmp_path: Path) -> None:
    verifier = FakeVerifier(report=REDS)
    run_offline(tmp_path, proposals(2), verifier=verifier, issue="tests/test_a.py::test_a fails")
    assert verifier.calls[0] == ("reproduces", (RED.id,))


def test_example_of_issue_becomes_its_test(tmp_path: Path) -> None:
    verifier = FakeVerifier(
        example=EXAMPLE,
        reproduced=[ReproductionResult(tests=(EXAMPLE.test,))],
        verdicts=[PROVEN],
        report=TestReport(command=""),
    )
    proposer = ScriptedProposer([proposals(2)])
    entries = run_offline(tmp_path, proposer, verifier=verifier, issue="value() returns 1 instead of 2")
    (reproduction,) = notes(entries, Reproduction)
    assert reproduction.summary == "The issue's example fails here: value() gives 1."
    assert proposer.calls == [(EXAMPLE.test,)]
    assert (tmp_path / EXAMPLE.path).read_text() == EXAMPLE.text


def test_red_tests_that_do_not_call_what_the_example_calls_are_left_out(tmp_path: Path) -> None:
    verifier = FakeVerifier(
        example=EXAMPLE, reproduced=[ReproductionResult(tests=(EXAMPLE.test,))], report=REDS
    )
    proposer = ScriptedProposer([proposals(2)])
    run_offline(tmp_path, proposer, verifier=verifier, issue="test_other: value() returns 1 instead of 2")
    assert proposer.calls == [(EXAMPLE.test,)]


def test_searches_for_the_example_alone_if_red_tests_lead_to_nothing(tmp_path: Path) -> None:
    other = "tests/test_c.py::test_other"
    write(tmp_path, {"tests/test_c.py": "def test_other():\n    assert value() == 3\n"})
    red = RED.model_copy(update={"id": other})
    both = [ReproductionResult(tests=(test,)) for test in (other, EXAMPLE.test)]
    report = TestReport(command="pytest", results=(red,))
    verifier = FakeVerifier(example=EXAMPLE, reproduced=both, report=report, tied={other: "identifier"})
    proposer = ScriptedProposer([proposals(), proposals(2)])
    issue = "The basket is wrong: `value()` returns 1 instead of 2"
    run_offline(tmp_path, proposer, verifier=verifier, issue=issue)
    assert proposer.calls == [(other,), (EXAMPLE.test,)]


FIXED = PROVEN.model_copy(update={"kind": VerdictKind.FIXED})


class EndingVerifier(FakeVerifier):
    """Verifier during whose verdict the session is ended; its searches find the issue's example."""

    def __init__(self, end: Callable[[], None], verdict: Verdict | None = None) -> None:
        reproduced = [ReproductionResult(tests=(EXAMPLE.test,))]
        super().__init__(example=EXAMPLE, reproduced=reproduced, report=TestReport(command=""))
        self._end, self._verdict = end, verdict

    def decide(self, patch: Patch) -> Verdict:
        if self._verdict is None:
            self._end()
        return (self._verdict or PROVEN).model_copy(update={"is_examined": False})

    def examine(self, verdict: Verdict, progress: Progress | None = None) -> Verdict:
        self._end()
        return verdict


def run_to_early_end(root: Path, *found: int, interrupts: bool, verdict: Verdict | None = None) -> Any:
    """Run a session whose time is over, or that is interrupted, in its first verdict or examination.

    Without an edit in `found` it ends in the search. Return its end and its repository.
    """
    repository = ForkingRepository(root=root)
    ended, loops = threading.Event(), list[asyncio.AbstractEventLoop]()

    def end() -> None:
        if interrupts:
            loops[0].call_soon_threadsafe(session.send, Stop())
        ended.wait(1.0)

    class EndingProposer(ScriptedProposer):
        def propose(self, *arguments: Any, **options: Any) -> Proposals:
            if not found:
                end()
            return super().propose(*arguments, **options)

    budget = None if interrupts else Budget(seconds=0.3)
    context = offline_context(
        root,
        EndingProposer([proposals(*found)]),
        verifier=EndingVerifier(end, verdict),
        issue="value() returns 1 instead of 2",
        repository=repository,
        budget=budget,
    )
    session = Session(context, search_repair(), id="s1", version="0")

    async def run() -> SessionFinished:
        loops.append(asyncio.get_running_loop())
        try:
            return await session.run()
        finally:
            ended.set()

    return asyncio.run(run()), repository


@pytest.mark.parametrize("interrupts", [False, True], ids=["limit", "interrupted"])
@pytest.mark.parametrize(
    ("found", "verdict", "text", "paths"),
    [
        ((), None, f"holds a failing test for the issue: {EXAMPLE.test}.", (EXAMPLE.path,)),
        (
            (2,),
            None,
            "holds an edit that passes the failing tests in the search and was not judged: "
            "value: use 2 instead of 1. Judge it: coder verify coder/value-use-2-instead-of-1-1",
            ("a.py", EXAMPLE.path),
        ),
        ((2,), UNTESTED, "", ("a.py", EXAMPLE.path)),
        ((2,), FIXED, "", ("a.py", EXAMPLE.path)),
    ],
    ids=["failing test", "edit", "passing change", "fix"],
)
def test_no_early_end_loses_what_was_found(
    tmp_path: Path,
    interrupts: bool,
    found: tuple[int, ...],
    verdict: Verdict | None,
    text: str,
    paths: tuple[str, ...],
) -> None:
    root = tmp_path / "root"
    finished, repository = run_to_early_end(root, *found, interrupts=interrupts, verdict=verdict)
    assert finished.delivery is not None
    assert tuple(sorted(re.findall(r"(?m)^diff --git a/(\S+)", finished.delivery.diff))) == paths
    assert len(repository.deliveries) == 1
    assert text in finished.summary
    is_fix_kept = verdict is FIXED and interrupts  # the examination alone is ended
    early = None if interrupts else VerdictKind.LIMIT
    assert finished.kind is (verdict.kind if verdict and (not interrupts or is_fix_kept) else early)
    if verdict is FIXED and not interrupts:
        assert finished.verdict is not None
        assert [found.rule for found in finished.verdict.findings] == ["unexamined"]


class NamelessRepository(ForkingRepository):
    def deliver(self, patch: Patch, **_: object) -> Delivery:
        raise IdentityError("git knows no name.")


@pytest.mark.parametrize("make_repository", [ForkingRepository, NamelessRepository])
def test_gives_up_with_the_example_as_failing_test(
    tmp_path: Path, make_repository: type[ForkingRepository]
) -> None:
    verifier = FakeVerifier(
        example=EXAMPLE, reproduced=[ReproductionResult(tests=(EXAMPLE.test,))], report=TestReport(command="")
    )
    repository = make_repository(root=tmp_path / "root")
    context = offline_context(
        tmp_path / "root",
        proposals(),
        verifier=verifier,
        issue="value() returns 1 instead of 2",
        repository=repository,
    )
    finished = run_session(context, search_repair())
    assert finished.kind is VerdictKind.GAVE_UP
    assert finished.delivery is not None and EXAMPLE.path in finished.delivery.diff
    assert bool(finished.delivery.branch) is (make_repository is ForkingRepository)
    assert finished.summary.endswith(f"holds a failing test for the issue: {EXAMPLE.test}.")
    assert "coder fix --continue --model MODEL 'go on'. The " in finished.summary


def test_passes_on_only_paths_and_remaining_time(tmp_path: Path) -> None:
    proposer = ScriptedProposer([proposals()])
    run_offline(tmp_path, proposer, budget=Budget(seconds=50.0), only=("lib",))
    assert proposer.may_write is not None
    may_write = [proposer.may_write(path) for path in ("lib/a.py", "a.py")]
    assert (may_write, proposer.seconds) == ([True, False], 25.0)


@pytest.mark.parametrize(
    ("issue", "named"), [("It prints blank pages", ()), ("`first_price()` is 1", BOTH[:1])]
)
def test_names_no_tests_to_the_verdict_for_an_issue_without_code(
    tmp_path: Path, issue: str, named: tuple[str, ...]
) -> None:
    verifier = FakeVerifier(report=REDS, tied={RED.id: "identifier"})
    run_offline(tmp_path, proposals(2), verifier=verifier, issue=issue)
    assert [tests for call, tests in verifier.calls if call == "verify"] == [named]


class AskedVerifier(FakeVerifier):
    """Verifier that notes what it is asked to run on the base."""

    def baseline(
        self, progress: Progress | None = None, *, whole: bool = False, near: Sequence[str] = ()
    ) -> TestReport:
        self.calls.append(("whole suite" if whole else "near", tuple(near)))
        return self.report


@pytest.mark.parametrize(
    ("example", "report", "runs"),
    [
        (EXAMPLE, TestReport(command=""), ["near"]),
        ("no example", REDS, ["near"]),
        ("no example", TestReport(command=""), ["near", "whole suite"]),
    ],
    ids=["example", "red test nearby", "nothing else"],
)
def test_whole_suite_runs_only_if_nothing_else_is_red(
    tmp_path: Path, example: ReproducedExample | str, report: TestReport, runs: list[str]
) -> None:
    reproduced = [ReproductionResult(tests=(RED.id,))]
    verifier = AskedVerifier(
        example=example, report=report, reproduced=reproduced, tied={RED.id: "identifier"}
    )
    context = offline_context(tmp_path, proposals(2), verifier=verifier, issue="first_price() gives 1")
    test = "from b import first_price\n\n\ndef test_a():\n    assert first_price() == 2\n"
    write(tmp_path, {"b.py": "def first_price():\n    return 1\n", "tests/test_a.py": test})
    run_strategy(search_repair(), context)
    calls = [call for call in verifier.calls if call[0] in ("near", "whole suite")]
    assert [name for name, _ in calls] == runs
    assert calls[0] == ("near", (RED.id,))


async def test_skips_slow_suite_when_failing_test_is_named(tmp_path: Path) -> None:
    has_searched = threading.Event()

    class Slow(FakeVerifier):
        def baseline(
            self, progress: Progress | None = None, *, whole: bool = False, near: Sequence[str] = ()
        ) -> TestReport:
            assert has_searched.wait(10)
            return REDS

        def decide(self, patch: Patch) -> Verdict:
            has_searched.set()
            return super().decide(patch)

    context = offline_context(tmp_path, proposals(2), verifier=Slow(), issue=f"{RED.id} fails")
    await search_repair()(context.on(context.repository.create_candidate("c1")))
    assert has_searched.is_set()
