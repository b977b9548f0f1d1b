"""Proofs survive whatever becomes of the reviewers' findings."""

from pathlib import Path

import pytest

from coder.core.errors import LimitReached, ModelError
from coder.core.events import Warned
from coder.core.notes import Findings
from coder.core.state import candidate_verdicts
from coder.core.values import Candidate, Patch
from coder.core.verdict import BehaviorExample, BehaviorReport
from coder.models.scripted import ScriptedCall, ScriptedModel, ScriptStep
from coder.session.context import CandidateRun, Strategy
from coder.session.judging import is_judged_good, judge_change
from coder.strategies.review import review_and_repair, risk_reviewers
from tests.session.fakes import PROVEN, STILL_RED, FakeVerifier, kit, texts

FLAW = {"severity": "major", "path": "a.py", "line": 1, "text": "It fails for none."}
OPINION = {"kind": "findings", "summary": "No.", "approve": False, "findings": [FLAW]}
OBJECTION = ScriptStep(calls=(ScriptedCall(name="hand_over", arguments=OPINION),))


def edit_strategy(value: int, *, verified: bool = True, error: Exception | None = None) -> Strategy:
    """Return a strategy that changes a.py, and has it verified or raises an error."""

    async def strategy(run: CandidateRun) -> Candidate:
        (run.candidate.worktree / "a.py").write_text(f"VALUE = {value}\n")
        if error:
            raise error
        if verified:
            await judge_change(run, run.repository.candidate_patch(run.candidate), ())
        return run.candidate

    return strategy


@pytest.mark.parametrize(
    ("mending", "warnings"),
    [
        (edit_strategy(3, error=LimitReached("usd", "too dear")), ["What was found is not fixed: too dear"]),
        (edit_strategy(3, error=ModelError("down")), ["What was found is not fixed: down"]),
        (edit_strategy(3, verified=False), []),
        (edit_strategy(3), []),
    ],
    ids=["no money left", "model down", "given up half way", "red"],
)
async def test_undoes_failed_repair_and_keeps_proof(
    tmp_path: Path, mending: Strategy, warnings: list[str]
) -> None:
    context = kit(tmp_path, [OBJECTION], verifier=FakeVerifier(verdicts=[PROVEN, STILL_RED]))

    def mend(_wanted: tuple[Findings, ...], _patch: Patch) -> Strategy:
        return mending

    candidate = context.repository.create_candidate("c1")
    strategy = review_and_repair(edit_strategy(2), mend, choose_reviewers=lambda _patch, _verdict: ("tests",))
    await strategy(context.on(candidate))
    assert await is_judged_good(context.on(candidate))
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"
    assert candidate_verdicts(context.log.records, "c1")[-1].kind is PROVEN.kind
    assert texts(context.log, Warned) == warnings


async def test_contradicted_behavior_is_repaired_after_one_small_request(tmp_path: Path) -> None:
    example = BehaviorExample(call="value(31)", before="'31st'", after="'31th'", function="a.py::value")
    report = BehaviorReport(calls=1, compared=1, inputs=9, changed=2, examples=(example,))
    proven = PROVEN.model_copy(update={"behavior": report})
    flaw = OBJECTION.model_copy(update={"when": "value(31)  '31st' → '31th'"})
    context = kit(tmp_path, [flaw], verifier=FakeVerifier(verdicts=[proven, PROVEN]))
    repaired: list[str] = []

    def mend(wanted: tuple[Findings, ...], _patch: Patch) -> Strategy:
        repaired.extend(finding.text for findings in wanted for finding in findings.findings)
        return edit_strategy(3)

    candidate = context.repository.create_candidate("c1")
    strategy = review_and_repair(edit_strategy(2), mend, choose_reviewers=risk_reviewers)
    await strategy(context.on(candidate))
    assert repaired == ["It fails for none."]
    assert (tmp_path / "a.py").read_text() == "VALUE = 3\n"
    model = context.models.model
    assert isinstance(model, ScriptedModel)
    assert len(model.requests) == 1
    assert len(model.requests[0].model_dump_json()) / 4 < 1_500
