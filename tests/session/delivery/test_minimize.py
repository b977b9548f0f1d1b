from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.events import ReviewAsked, Verified
from coder.core.verdict import MutationReport, UntestedPlace, Verdict
from coder.session.context import SessionContext
from tests.session.delivery.test_review import TWO, GitLikeRepository, review_context, run_with_hunks
from tests.session.fakes import PROVEN, STILL_RED, FakeVerifier, events, kit, run_session
from tests.session.test_session import patch

IDLE = PROVEN.model_copy(
    update={
        "mutation": MutationReport(
            survivors=(UntestedPlace(path="b.py", line=1, what="is as it was before", whole_hunk=True),)
        )
    }
)
"""No test needs b.py."""
LOST = PROVEN.model_copy(update={"targets": ()})


def run_minimization(root: Path, *verdicts: Verdict) -> tuple[SessionContext, FakeVerifier]:
    verifier = FakeVerifier(verdicts=[*verdicts])
    context = kit(root, [patch(TWO)], repository=GitLikeRepository(root=root), verifier=verifier)
    return replace(context, task=context.task.model_copy(update={"minimise": True})), verifier


def test_removes_untested_hunks_and_proves_rest(tmp_path: Path) -> None:
    context, verifier = run_minimization(tmp_path, IDLE, PROVEN)
    session_end = run_session(context)
    assert session_end.delivery is not None and session_end.verdict is not None
    assert "VALUE = 2" in session_end.delivery.diff
    assert "OTHER" not in session_end.delivery.diff
    assert session_end.verdict.notes[-1] == "left out, for it changes no verdict: b.py:1"
    assert [name for name, _ in verifier.calls].count("verify") == 2
    verdicts = [event.verdict for event in events(context.log, Verified)]
    assert verdicts[-1].tree == session_end.verdict.tree != verdicts[0].tree


@pytest.mark.parametrize("again", [STILL_RED, LOST])
def test_delivers_whole_when_rest_has_lower_verdict(tmp_path: Path, again: Verdict) -> None:
    context, _ = run_minimization(
        tmp_path, IDLE.model_copy(update={"targets": ("tests/test_a.py::test_a",)}), again
    )
    session_end = run_session(context)
    assert session_end.delivery is not None and session_end.verdict is not None
    assert "OTHER" in session_end.delivery.diff
    assert not any("left out" in note for note in session_end.verdict.notes)
    assert (tmp_path / "b.py").read_text() == "OTHER = 1\n"


def test_review_marks_untested_hunks(tmp_path: Path) -> None:
    context = review_context(tmp_path, FakeVerifier(verdicts=[IDLE]))
    run_with_hunks(context, (0, 1))
    (review,) = events(context.log, ReviewAsked)
    assert review.droppable == (1,)
