"""Ten seconds of search before a model is asked."""

from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.events import NoteMade, Verified
from coder.core.notes import Done, Plan, Step
from coder.core.ports import Progress
from coder.core.values import Candidate, Proposals
from coder.core.verdict import IssueTie, MutationReport, TestReport, Verdict, VerdictKind
from coder.session.context import CandidateRun, SessionContext
from coder.session.phase import render_prompt
from coder.strategies.offline import FIRST_SECONDS, OFFLINE_NOTE, offline_first
from tests.session.fakes import BASELINE, PROVEN, RED, STILL_RED, UNTESTED, FakeVerifier, events, run_strategy
from tests.strategies.test_offline import REDS, ScriptedProposer, offline_context, proposal, proposals

ISSUE = "tests/test_a.py::test_a fails: a.py says 1"


def fallback_calls(context: SessionContext) -> list[SessionContext]:
    """Return the contexts with which the strategy behind the search was called."""
    kits: list[SessionContext] = []

    async def fallback(run: CandidateRun) -> Candidate:
        kits.append(run)
        return run.candidate

    run_strategy(offline_first(fallback), context)
    return kits


def test_proven_edit_needs_no_model(tmp_path: Path) -> None:
    proposer = ScriptedProposer([proposals(2)])
    context = offline_context(tmp_path, proposer, issue=ISSUE)
    assert fallback_calls(context) == []
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"
    assert proposer.seconds <= FIRST_SECONDS
    notes = [event.note for event in events(context.log, NoteMade)]
    assert [note.summary for note in notes if isinstance(note, Done)] == [proposal(2).summary]
    (verdict,) = [event.verdict for event in events(context.log, Verified)]
    assert (verdict.kind, verdict.notes) == (PROVEN.kind, (OFFLINE_NOTE,))


def test_undoes_unproven_edit_and_gives_hint(tmp_path: Path) -> None:
    context = offline_context(tmp_path, proposals(2), STILL_RED, issue=ISSUE)
    (kit,) = fallback_calls(context)
    assert kit.hints == proposals(2)
    assert (tmp_path / "a.py").read_text() == "VALUE = 1\n"
    assert events(context.log, Verified) == []


class DowngradingVerifier(FakeVerifier):
    """Verifier that examines a passing change again and lowers its verdict."""

    def examine(self, verdict: Verdict, progress: Progress | None = None) -> Verdict:
        self.calls.append(("guard", ()))
        mutation = MutationReport(tried=4)
        return verdict.model_copy(update={"kind": self.verdicts[-1].kind, "mutation": mutation})


def test_proven_edit_is_examined_again(tmp_path: Path) -> None:
    fixed = PROVEN.model_copy(update={"kind": VerdictKind.FIXED, "is_examined": False})
    holding = DowngradingVerifier(verdicts=[fixed], report=REDS)
    context = offline_context(tmp_path / "held", proposals(2), verifier=holding, issue=ISSUE)
    assert fallback_calls(context) == []
    mutations = [event.verdict.mutation for event in events(context.log, Verified)]
    assert mutations == [None, MutationReport(tried=4)]
    doubting = DowngradingVerifier(verdicts=[fixed, UNTESTED], report=REDS)
    context = offline_context(tmp_path / "doubted", proposals(2), verifier=doubting, issue=ISSUE)
    assert len(fallback_calls(context)) == 1
    assert [question for question, _ in doubting.calls] == ["reproduces", "verify", "guard"]


def test_ambiguous_edit_is_only_hint(tmp_path: Path) -> None:
    rivals = proposals(2, 3)
    verifier = FakeVerifier(report=REDS)
    (kit,) = fallback_calls(offline_context(tmp_path, rivals, verifier=verifier, issue=ISSUE))
    assert kit.hints == rivals
    assert [question for question, _ in verifier.calls] == ["reproduces"]


@pytest.mark.parametrize(
    ("report", "issue", "tied", "searches"),
    [
        (BASELINE, ISSUE, {}, 0),
        (REDS, "Parsing of dates is slow", {}, 0),
        (REDS, "Empty dates are wrong", {RED.id: "identifier"}, 1),
    ],
    ids=["no failing test", "none tied to the issue", "one tied to the issue"],
)
def test_searches_only_for_failing_tests_of_the_issue(
    tmp_path: Path, report: TestReport, issue: str, tied: dict[str, IssueTie], searches: int
) -> None:
    proposer = ScriptedProposer([proposals(2)])
    verifier = FakeVerifier(report=report, tied=tied)
    kits = fallback_calls(offline_context(tmp_path, proposer, verifier=verifier, issue=issue))
    assert len(proposer.calls) == searches
    assert searches or kits[0].hints is None


@pytest.mark.parametrize(
    "wish", [{"plan_only": True}, {"plan": Plan(summary="Two.", steps=(Step(intent="It is two."),))}]
)
def test_plan_strategy_skips_search(tmp_path: Path, wish: dict[str, object]) -> None:
    context = offline_context(tmp_path, proposals(2), issue=ISSUE)
    (kit,) = fallback_calls(replace(context, task=context.task.model_copy(update=wish)))
    assert (kit.hints, (tmp_path / "a.py").read_text()) == (None, "VALUE = 1\n")


def test_hints_are_shown_as_unproven(tmp_path: Path) -> None:
    context = offline_context(tmp_path, proposals(), issue=ISSUE)
    hints = Proposals(proposals=(proposal(2),), suspects=proposals(2).suspects)
    prompt, without = (
        render_prompt(
            "task",
            task=context.task,
            report=None,
            reds=(),
            examples=(),
            look="",
            instructions="",
            hints=shown,
        )
        for shown in (hints, None)
    )
    assert "unproven" in prompt
    assert "- a.py::value, line 1" in prompt
    assert "+VALUE = 2" in prompt
    assert "unproven" not in without
