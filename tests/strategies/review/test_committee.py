"""A proven change stays proven, whatever becomes of what its readers want."""

import asyncio
from pathlib import Path

import pytest

from coder.core.errors import LimitReached, ModelError
from coder.core.events import Warned
from coder.core.notes import Findings
from coder.core.state import verdicts
from coder.core.values.candidate import Candidate, Patch
from coder.models.scripted import ScriptedCall, Step
from coder.session.context import Kit, Strategy
from coder.strategies.candidate_status import stands
from coder.strategies.review.committee import reviewed
from coder.strategies.verify_phase import judge
from tests.session.fakes import PROVEN, STILL_RED, FakeVerifier, kit

FLAW = {"severity": "major", "path": "a.py", "line": 1, "text": "It fails for none."}
OPINION = {"kind": "findings", "summary": "No.", "approve": False, "findings": [FLAW]}
OBJECTION = Step(calls=(ScriptedCall(name="hand_over", arguments=OPINION),))


def changed(value: int, *, verified: bool = True, error: Exception | None = None) -> Strategy:
    """A strategy that changes a.py, and has it verified or ends in an error."""

    async def strategy(made: Kit, candidate: Candidate) -> Candidate:
        (candidate.worktree / "a.py").write_text(f"VALUE = {value}\n")
        if error:
            raise error
        if verified:
            await judge(made, candidate, made.repository.patch(candidate), ())
        return candidate

    return strategy


@pytest.mark.parametrize(
    ("mending", "warnings"),
    [
        (changed(3, error=LimitReached("usd", "too dear")), ["What was found is not mended: too dear"]),
        (changed(3, error=ModelError("down")), ["What was found is not mended: down"]),
        (changed(3, verified=False), []),
        (changed(3), []),
    ],
    ids=["no money left", "model down", "given up half way", "red"],
)
def test_undoes_failed_repair_and_keeps_proof(tmp_path: Path, mending: Strategy, warnings: list[str]) -> None:
    made = kit(tmp_path, [OBJECTION], verifier=FakeVerifier(verdicts=[PROVEN, STILL_RED]))

    def mend(_wanted: tuple[Findings, ...], _patch: Patch) -> Strategy:
        return mending

    async def walk() -> bool:
        candidate = made.repository.candidate("c1")
        await reviewed(changed(2), mend, readers=lambda _patch: ("tests",), rounds=2)(made, candidate)
        return await stands(made, candidate)

    assert asyncio.run(walk())
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"
    assert verdicts(made.log.records, "c1")[-1].kind is PROVEN.kind
    told = [record.event.text for record in made.log.records if isinstance(record.event, Warned)]
    assert told == warnings
