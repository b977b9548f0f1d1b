import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.events import (
    Event,
    Mode,
    QuestionAnswered,
    QuestionAsked,
    ReviewAnswered,
    ReviewAsked,
    SessionCommand,
    SessionFinished,
    Warned,
)
from coder.core.values import HunkComment, Patch
from coder.core.verdict import (
    Finding,
    MutationReport,
    ReplacedAssertion,
    UntestedPlace,
    Verdict,
    VerdictKind,
)
from coder.core.verdict_summary import describe_open
from coder.models.scripted import ScriptStep
from coder.session.context import SessionContext
from coder.session.judging import LEFT_OUT
from coder.session.review import (
    DELIVER_ALL,
    DELIVER_NOTHING,
    KEEP_EDITING,
    confirm_risky_files,
    offer_acceptance,
)
from coder.strategies.review import revise_flagged
from tests.session.fakes import (
    PROVEN,
    STILL_RED,
    FakeRepository,
    FakeVerifier,
    events,
    kit,
    run_session,
    texts,
)
from tests.session.test_session import FIX, patch

TWO = f"{FIX}--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+OTHER = 1\n"


def review_context(
    root: Path, verifier: FakeVerifier | None = None, *, scenes: Sequence[ScriptStep] = ()
) -> SessionContext:
    """Return a context whose user reviews a change of two files, or what `scenes` make."""
    context = kit(
        root,
        scenes or [patch(TWO)],
        verifier=verifier,
        attended=True,
        reviews=True,
    )
    return replace(context, revise=revise_flagged) if scenes else context


def test_part_of_a_change_keeps_what_was_open_beforehand(tmp_path: Path) -> None:
    left_out = Finding(rule=LEFT_OUT, effect="open", text="not judged: data.bin")
    whole = PROVEN.model_copy(update={"kind": VerdictKind.FIXED, "findings": (left_out,)})
    session_end = run_with_decisions(
        review_context(tmp_path, FakeVerifier(verdicts=[whole, PROVEN])), decide(0)
    )
    assert session_end.delivery is not None and "b.py" not in session_end.delivery.diff
    assert session_end.verdict is not None and session_end.verdict.with_effect("open") == (left_out,)
    assert session_end.kind is VerdictKind.FIXED


@pytest.mark.parametrize(
    ("reviews", "then", "is_delivered"),
    [
        ([(1,)], DELIVER_NOTHING, False),
        ([(1,)], DELIVER_ALL, True),
        ([(1,), (0, 1)], KEEP_EDITING, True),
    ],
)
def test_part_that_fails_does_not_lose_the_proven_whole(
    tmp_path: Path, reviews: list[tuple[int, ...]], then: str, is_delivered: bool
) -> None:
    context = review_context(tmp_path, FakeVerifier(verdicts=[PROVEN, STILL_RED]))
    session_end = run_with_decisions(context, *(decide(*accepted) for accepted in reviews), then=then)
    assert session_end.kind is VerdictKind.PROVEN
    assert session_end.delivery is not None
    assert bool(session_end.delivery.branch) == is_delivered
    assert "a.py" in session_end.delivery.diff and "b.py" in session_end.delivery.diff


def run_with_decisions(
    context: SessionContext, *decisions: ReviewAnswered, then: str = KEEP_EDITING
) -> SessionFinished:
    """Return the session's end for the user's decisions, whose ids of questions are filled in."""
    remaining = iter(decisions)

    def react(event: Event) -> SessionCommand | None:
        if isinstance(event, ReviewAsked):
            return next(remaining).model_copy(update={"question": event.question})
        return (
            QuestionAnswered(question=event.question, option=then)
            if isinstance(event, QuestionAsked)
            else None
        )

    return run_session(context, react=react)


def decide(*accepted: int, comment: str = "") -> ReviewAnswered:
    comments = (HunkComment(hunk=0, text=comment),) if comment else ()
    return ReviewAnswered(question="", accepted=accepted, comments=comments)


def test_failing_part_returns_to_the_review_with_everything_in_it(tmp_path: Path) -> None:
    verifier = FakeVerifier(verdicts=[PROVEN, STILL_RED])
    context = review_context(tmp_path, verifier)
    session_end = run_with_decisions(context, decide(0), decide(0, 1))
    asked = events(context.log, ReviewAsked)
    assert asked[0].accepted is None
    assert asked[0].verdict is not None and asked[0].verdict.kind is VerdictKind.PROVEN
    assert asked[1].accepted == (0,)
    (question,) = events(context.log, QuestionAsked)
    assert question.text.startswith("With your changes it is NOT FIXED: ")
    assert (session_end.kind, (tmp_path / "a.py").read_text()) == (VerdictKind.PROVEN, "VALUE = 2\n")


def test_refusal_keeps_decisions_for_the_review_that_goes_on(tmp_path: Path) -> None:
    context = replace(review_context(tmp_path, FakeVerifier()), revise=revise_flagged)
    first = decide(1, comment="use 3").model_copy(update={"refused": True})
    session_end = run_with_decisions(context, first, decide(0, 1))
    asked = events(context.log, ReviewAsked)
    assert (asked[1].accepted, asked[1].comments) == ((1,), first.comments)
    assert session_end.kind is VerdictKind.PROVEN


def test_comments_are_worked_on_in_the_whole_change(tmp_path: Path) -> None:
    repair = patch(FIX.replace("VALUE = 2", "VALUE = 3").replace("VALUE = 1", "VALUE = 2"))
    context = review_context(tmp_path, scenes=[patch(FIX), repair])
    session_end = run_with_decisions(context, decide(comment="use 3"), decide(0))
    assert session_end.kind is VerdictKind.PROVEN
    assert (tmp_path / "a.py").read_text() == "VALUE = 3\n"


def test_accepting_no_hunk_writes_nothing_and_keeps_the_proven_change(tmp_path: Path) -> None:
    context = review_context(tmp_path, FakeVerifier())
    session_end = run_with_decisions(context, decide(), then=DELIVER_NOTHING)
    assert (session_end.kind, session_end.exit_code) == (VerdictKind.PROVEN, 4)
    assert session_end.summary == "Not delivered: you accepted nothing of it."
    assert isinstance(context.repository, FakeRepository) and not context.repository.deliveries
    assert session_end.delivery is not None
    assert (session_end.delivery.branch, session_end.delivery.commit) == ("", "")
    assert "a.py" in session_end.delivery.diff and "b.py" in session_end.delivery.diff


@pytest.mark.parametrize(
    ("second", "warned"), [(PROVEN, []), (STILL_RED, ["What was made of your comments is no good"])]
)
def test_comments_are_worked_on_and_reviewed_again(
    tmp_path: Path, second: Verdict, warned: list[str]
) -> None:
    again = patch(FIX.replace("VALUE = 2", "VALUE = 3").replace("VALUE = 1", "VALUE = 2"))
    verifier = FakeVerifier(verdicts=[PROVEN, second, PROVEN])
    context = review_context(tmp_path, verifier, scenes=[patch(FIX), again])
    assert run_with_decisions(context, decide(0, comment="use 3"), decide(0)).kind is VerdictKind.PROVEN
    assert isinstance(context.repository, FakeRepository)
    assert [message.splitlines()[0] for message in context.repository.deliveries] == ["VALUE is 2 now"]
    assert "major, a.py:1: use 3" in context.model.requests[1].messages[-1].text  # type: ignore[attr-defined]
    assert [text.partition(":")[0] for text in texts(context.log, Warned)] == warned


LOCK = f"{FIX}--- /dev/null\n+++ b/uv.lock\n@@ -0,0 +1 @@\n+version = 1\n"


def run_with_answer(context: SessionContext, option: str) -> SessionFinished:
    """Return the session's end if the user answers every question with the option."""
    return run_with_decisions(context, then=option)


@pytest.mark.parametrize(
    ("answer", "notes", "warned"),
    [
        ("deliver", ("reviewed by a person: uv.lock (lock file)",), []),
        ("drop", (), []),
        (
            None,
            ("no person has reviewed uv.lock (lock file)",),
            [
                "Look twice at uv.lock (lock file).",
                "Not merged: nobody has reviewed uv.lock (lock file). Look at it, then: coder apply.",
            ],
        ),
    ],
)
def test_risky_files_are_asked_about_by_name_and_never_merged_unseen(
    tmp_path: Path, answer: str | None, notes: tuple[str, ...], warned: list[str]
) -> None:
    context = kit(tmp_path, [patch(LOCK)], attended=answer is not None, merge=answer is None)
    session_end = run_with_answer(context, answer or "")
    asked = [question.text for question in events(context.log, QuestionAsked)]
    assert [text.splitlines()[-1] for text in asked] == (
        ["The fix changes uv.lock (lock file). Deliver it?"] if answer else []
    )
    assert session_end.verdict is not None and session_end.delivery is not None
    assert session_end.verdict.notes == notes
    assert (bool(session_end.delivery.branch), session_end.delivery.merged) == (answer != "drop", False)
    assert (session_end.exit_code, texts(context.log, Warned)) == (4 if answer == "drop" else 0, warned)


def test_hunk_review_names_risky_files_first(tmp_path: Path) -> None:
    context = kit(tmp_path, [patch(LOCK)], attended=True, reviews=True)
    run_with_decisions(context, decide(0, 1))
    events = [record.event for record in context.log.records]
    review_index = next(index for index, event in enumerate(events) if isinstance(event, ReviewAsked))
    assert Warned(text="Look twice at uv.lock (lock file).") in events[:review_index]
    assert not any(isinstance(event, QuestionAsked) for event in events)


@pytest.mark.parametrize(
    ("mode", "header", "asks"),
    [
        ("build", "new file mode 100644", False),
        ("build", "index 1..2", True),
        ("fix", "new file mode 100644", True),
    ],
)
async def test_project_file_of_a_new_project_is_no_risk(
    tmp_path: Path, mode: Mode, header: str, asks: bool
) -> None:
    context = kit(tmp_path, [])
    context = replace(context, task=context.task.model_copy(update={"mode": mode}))
    diff = f"diff --git a/pyproject.toml b/pyproject.toml\n{header}\n"
    verdict = await confirm_risky_files(context, Patch(diff=diff, paths=("pyproject.toml",)), PROVEN)
    assert verdict is not None
    assert bool(verdict.notes) == asks


CONTRADICTING = "contradicted-test"
CONTRADICTED = PROVEN.model_copy(
    update={
        "kind": VerdictKind.FIXED,
        "findings": (Finding(rule=CONTRADICTING, effect="open", text="1 test was edited to agree"),),
        "replaced_assertions": (ReplacedAssertion(test="t.py::test_b", old="f() == 1", new="f() == 2"),),
    }
)
OPEN = CONTRADICTED.model_copy(
    update={"findings": (Finding(rule="linter", effect="open", text="ruff reports 1 new problem"),)}
)


@pytest.mark.parametrize(
    ("verdict", "options", "answer", "delivered"),
    [
        (OPEN, ("deliver", "drop"), "deliver", VerdictKind.FIXED),
        (OPEN, ("deliver", "drop"), "drop", None),
        (CONTRADICTED, ("deliver", "accept the edited tests", "drop"), "deliver", VerdictKind.FIXED),
        (
            CONTRADICTED,
            ("deliver", "accept the edited tests", "drop"),
            "accept the edited tests",
            VerdictKind.PROVEN,
        ),
    ],
)
def test_user_is_asked_about_what_is_open(
    tmp_path: Path, verdict: Verdict, options: tuple[str, ...], answer: str, delivered: VerdictKind | None
) -> None:
    verifier = FakeVerifier([verdict, PROVEN])
    context = kit(tmp_path, [patch(FIX)], verifier=verifier, attended=True)
    session_end = run_with_answer(context, answer)
    (asked,) = events(context.log, QuestionAsked)
    assert asked.options == options
    assert (
        asked.text == f"FIXED, and open:\n  {describe_open(verdict, offered=[CONTRADICTING])[0]}\nDeliver it?"
    )
    assert (CONTRADICTED is verdict) == ("coder verify" not in asked.text and "checks" not in asked.text)
    assert session_end.delivery is not None
    assert bool(session_end.delivery.branch) == (delivered is not None)
    assert session_end.kind is (delivered or verdict.kind)
    assert (("accept_test_edits", ()) in verifier.calls) == answer.startswith("accept")


@pytest.mark.parametrize("is_asked", [False, True])
def test_nobody_is_asked_about_what_is_proven_or_unattended(tmp_path: Path, is_asked: bool) -> None:
    verifier = FakeVerifier([PROVEN if is_asked else OPEN])
    context = kit(tmp_path, [patch(FIX)], verifier=verifier, attended=is_asked)
    assert run_session(context).kind is verifier.verdicts[0].kind
    assert events(context.log, QuestionAsked) == []


@pytest.mark.parametrize(
    ("answer", "kind"), [("accept the edited tests", "PROVEN"), ("leave them open", "FIXED"), ("", "FIXED")]
)
async def test_edits_of_tests_in_a_given_change_are_accepted_at_the_terminal(
    tmp_path: Path, answer: str, kind: str
) -> None:
    context = kit(tmp_path, verifier=FakeVerifier([PROVEN]), attended=bool(answer))
    candidate = context.repository.create_candidate("c1")
    asking = asyncio.ensure_future(offer_acceptance(context.on(candidate), CONTRADICTED))
    if answer:
        async for record in context.log.follow():
            if isinstance(record.event, QuestionAsked):
                context.approval.deliver_answer(
                    QuestionAnswered(question=record.event.question, option=answer)
                )
                break
    assert (await asking).kind == kind


def test_review_marks_untested_hunks(tmp_path: Path) -> None:
    place = UntestedPlace(path="b.py", line=1, what="is as it was before", whole_hunk=True)
    idle = PROVEN.model_copy(update={"mutation": MutationReport(survivors=(place,))})
    context = review_context(tmp_path, FakeVerifier(verdicts=[idle]))
    run_with_decisions(context, decide(0, 1))
    (review,) = events(context.log, ReviewAsked)
    assert review.droppable == (1,)
