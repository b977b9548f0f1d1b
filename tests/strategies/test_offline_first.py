"""Ten seconds of search before a model is asked."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.events import NoteMade, Verified
from coder.core.notes import Done, Plan, Step
from coder.core.ports import Progress
from coder.core.values import Candidate, Proposals
from coder.core.verdict import MutationReport, Verdict
from coder.session.context import SessionContext
from coder.strategies.offline import FIRST_SECONDS, OFFLINE_NOTE, offline_first
from tests.session.fakes import BASELINE, PROVEN, RED, STILL_RED, UNTESTED, FakeVerifier
from tests.strategies.test_offline import REDS, ScriptedProposer, offline_context, proposal, proposals

ISSUE = "tests/test_a.py::test_a fails: a.py says 1"


def fallback_calls(context: SessionContext) -> list[SessionContext]:
    """Return the contexts with which the strategy behind the search was called."""
    kits: list[SessionContext] = []

    async def fallback(kit: SessionContext, candidate: Candidate) -> Candidate:
        kits.append(kit)
        return candidate

    async def run_strategy() -> None:
        await offline_first(fallback)(context, context.repository.create_candidate("c1"))

    asyncio.run(run_strategy())
    return kits


def test_proven_edit_needs_no_model(tmp_path: Path) -> None:
    proposer = ScriptedProposer([proposals(2)])
    context = offline_context(tmp_path, proposer, FakeVerifier(verdicts=[PROVEN], report=REDS), issue=ISSUE)
    assert fallback_calls(context) == []
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"
    assert proposer.seconds <= FIRST_SECONDS
    events = [record.event for record in context.log.records]
    assert [
        event.note.summary for event in events if isinstance(event, NoteMade) and isinstance(event.note, Done)
    ] == [proposal(2).summary]
    (verdict,) = [event.verdict for event in events if isinstance(event, Verified)]
    assert (verdict.kind, verdict.notes) == (PROVEN.kind, (OFFLINE_NOTE,))


def test_undoes_unproven_edit_and_gives_hint(tmp_path: Path) -> None:
    context = offline_context(
        tmp_path,
        ScriptedProposer([proposals(2)]),
        FakeVerifier(verdicts=[STILL_RED], report=REDS),
        issue=ISSUE,
    )
    (kit,) = fallback_calls(context)
    assert kit.hints == proposals(2)
    assert (tmp_path / "a.py").read_text() == "VALUE = 1\n"
    assert not [record for record in context.log.records if isinstance(record.event, Verified)]


class DowngradingVerifier(FakeVerifier):
    """Verifier that examines a passing change again and lowers its verdict."""

    def assess_coverage(self, verdict: Verdict, progress: Progress | None = None) -> Verdict:
        self.calls.append(("guard", ()))
        mutation = MutationReport(tried=4)
        return verdict.model_copy(update={"kind": self.verdicts[-1].kind, "mutation": mutation})


def test_proven_edit_is_examined_again(tmp_path: Path) -> None:
    context = offline_context(
        tmp_path / "held",
        ScriptedProposer([proposals(2)]),
        DowngradingVerifier(verdicts=[PROVEN], report=REDS),
        issue=ISSUE,
    )
    assert fallback_calls(context) == []
    assert [
        record.event.verdict.mutation for record in context.log.records if isinstance(record.event, Verified)
    ] == [MutationReport(tried=4)]
    doubting = DowngradingVerifier(verdicts=[PROVEN, UNTESTED], report=REDS)
    assert (
        len(
            fallback_calls(
                offline_context(tmp_path / "doubted", ScriptedProposer([proposals(2)]), doubting, issue=ISSUE)
            )
        )
        == 1
    )
    assert [question for question, _ in doubting.calls] == ["reproduces", "verify", "guard"]


def test_ambiguous_edit_is_only_hint(tmp_path: Path) -> None:
    rivals = proposals(2).model_copy(update={"alternatives": (proposal(3),)})
    verifier = FakeVerifier(report=REDS)
    (kit,) = fallback_calls(offline_context(tmp_path, ScriptedProposer([rivals]), verifier, issue=ISSUE))
    assert kit.hints == rivals
    assert [question for question, _ in verifier.calls] == ["reproduces"]


def test_searches_nothing_without_failing_test(tmp_path: Path) -> None:
    proposer = ScriptedProposer([proposals(2)])
    (kit,) = fallback_calls(
        offline_context(tmp_path / "green", proposer, FakeVerifier(report=BASELINE), issue=ISSUE)
    )
    assert kit.hints is None
    assert proposer.calls == []


def test_searches_nothing_for_tests_that_share_an_ordinary_word(tmp_path: Path) -> None:
    red = RED.model_copy(update={"id": "tests/test_a.py::test_empty_value"})
    verifier = FakeVerifier(report=REDS.model_copy(update={"results": (red,)}))
    proposer = ScriptedProposer([proposals(2)])
    for number, (issue, searches) in enumerate(
        [
            ("Parsing of dates is slow", 0),
            ("Dates are wrong\nParsing them gives an empty result in March.", 0),
            ("Empty dates are wrong", 1),
        ]
    ):
        fallback_calls(offline_context(tmp_path / str(number), proposer, verifier, issue=issue))
        assert len(proposer.calls) == searches


@pytest.mark.parametrize(
    "wish", [{"plan_only": True}, {"plan": Plan(summary="Two.", steps=(Step(intent="It is two."),))}]
)
def test_plan_strategy_skips_search(tmp_path: Path, wish: dict[str, object]) -> None:
    context = offline_context(
        tmp_path, ScriptedProposer([proposals(2)]), FakeVerifier(verdicts=[PROVEN], report=REDS), issue=ISSUE
    )
    (kit,) = fallback_calls(replace(context, task=context.task.model_copy(update=wish)))
    assert (kit.hints, (tmp_path / "a.py").read_text()) == (None, "VALUE = 1\n")


def test_hints_are_shown_as_unproven(tmp_path: Path) -> None:
    context = offline_context(tmp_path, ScriptedProposer([]), FakeVerifier(), issue=ISSUE)
    hints = Proposals(proposals=(proposal(2),), suspects=proposals(2).suspects)
    prompt = context.prompts.render(
        "task", task=context.task, report=None, reds=(), look="", instructions="", hints=hints
    )
    assert "unproven" in prompt
    assert "- a.py::value, line 1" in prompt
    assert "+VALUE = 2" in prompt
    assert "unproven" not in context.prompts.render(
        "task", task=context.task, report=None, reds=(), look="", instructions="", hints=None
    )
    assert replace(context, hints=hints).hints is hints
