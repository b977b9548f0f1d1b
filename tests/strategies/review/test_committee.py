"""Who reads a change and what of it is shown; proofs survive whatever becomes of the findings."""

from pathlib import Path

import pytest

from coder.core.errors import LimitReached, ModelError
from coder.core.events import Warned
from coder.core.notes import Findings
from coder.core.state import candidate_verdicts
from coder.core.values import Candidate, Patch
from coder.core.verdict import BehaviorExample, BehaviorReport, Verdict, VerdictKind
from coder.models.scripted import ScriptedCall, ScriptedModel, ScriptStep
from coder.session.context import CandidateRun, Strategy
from coder.session.judging import is_judged_good, judge_change
from coder.strategies.review import (
    change_excerpts,
    committee_reviewers,
    review_and_repair,
    risk_reviewers,
)
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


def make_patch(path: str) -> Patch:
    diff = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+x = 1\n"
    return Patch(diff=diff, paths=(path,))


VERDICT = Verdict(kind=VerdictKind.PROVEN, reason="")
OTHER_ANSWER = BehaviorExample(call="ordinal(31)", before="'31st'", after="'31th'")


@pytest.mark.parametrize(
    ("path", "reviewers"),
    [
        ("a.py", ()),
        ("tests/test_a.py", ()),
        ("login.py", ("security",)),
    ],
)
def test_reviewers_follow_risk(path: str, reviewers: tuple[str, ...]) -> None:
    patch = make_patch(path)
    assert committee_reviewers(patch, VERDICT) == ("correctness", "tests", *reviewers)
    assert risk_reviewers(patch, VERDICT) == reviewers


@pytest.mark.parametrize("is_tested", [True, False])
def test_behavior_beyond_tests_is_reviewed(is_tested: bool) -> None:
    example = OTHER_ANSWER.model_copy(update={"tested": is_tested})
    report = BehaviorReport(calls=1, compared=1, inputs=9, changed=2, examples=(example,))
    verdict = VERDICT.model_copy(update={"behavior": report})
    assert risk_reviewers(make_patch("a.py"), verdict) == (() if is_tested else ("behavior",))


DIFF = (
    "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -40,2 +40,3 @@ def f():\n x = 39\n-x = 40\n"
    "+x = 0\n+x = 1\n"
)


def test_shows_code_around_change_with_line_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"x = {number}\n" for number in range(100)))
    excerpt = change_excerpts(
        Candidate(id="c1", worktree=tmp_path, base="b"), Patch(diff=DIFF, paths=("a.py",))
    )
    lines = excerpt.splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("a.py", "   15| x = 14", "   67| x = 66")


@pytest.mark.parametrize(
    ("before", "after", "reviewers"),
    [
        ("raises KeyError: 1", "raises TypeError: no", ()),
        ("raises KeyError: 1", "raises KeyError: 1", ("behavior",)),
        ("{}", "raises TypeError: no", ("behavior",)),
    ],
)
def test_another_error_for_the_same_input_asks_for_no_review(
    before: str, after: str, reviewers: tuple[str, ...]
) -> None:
    example = BehaviorExample(call="read(None)", before=before, after=after)
    report = BehaviorReport(calls=1, compared=1, inputs=9, changed=2, examples=(example,))
    verdict = VERDICT.model_copy(update={"behavior": report})
    assert risk_reviewers(make_patch("a.py"), verdict) == reviewers
