"""Routes through the phases of a fix."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.events import FilesChanged, NoteMade, PhaseEntered, SessionFinished, ToolFinished, Verified
from coder.core.notes import Done, GiveUp, Reproduction, WrittenAnswer
from coder.core.ports import ReproducedExample
from coder.core.state import newest_verdict
from coder.core.values import Patch
from coder.core.verdict import ReproductionResult, RunProblem, TestReport, Verdict, VerdictKind
from coder.models.scripted import Scene, ScriptedCall, ScriptedModel, ScriptStep
from coder.session.context import SessionContext
from coder.session.session import Session
from coder.strategies.follow import (
    LINEAR_ROUTE,
    LOCATE_ROUTE,
    REPAIR_ROUTE,
    RETRY_ROUTE,
    SINGLE_CHANGE_ROUTE,
    Route,
    answer_question,
    follow_route,
    judge_existing_change,
)
from tests.session.fakes import (
    BASELINE,
    PROVEN,
    RED,
    STILL_RED,
    FakeRepository,
    FakeVerifier,
    events,
    kit,
    run_strategy,
)

FIX = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"
BETTER = FIX.replace("VALUE = 2", "VALUE = 3").replace("VALUE = 1", "VALUE = 2")
FIX_AGAIN = BETTER.replace("VALUE = 3", "VALUE = 4").replace("VALUE = 2", "VALUE = 3")
TEST = (
    "--- a/tests/test_b.py\n+++ b/tests/test_b.py\n@@ -1,2 +1,2 @@\n def test_b() -> None:\n"
    "-    assert True\n+    assert 1 + 1 == 2\n"
)
RED_BASE = TestReport(command="pytest", results=(*BASELINE.results, RED))
UNNAMED = "a.py says 1, and 2 is right"


def call(name: str, **arguments: object) -> ScriptStep:
    return ScriptStep(text="Saying.", calls=(ScriptedCall(name=name, arguments=dict(arguments)),))


def patch(diff: str) -> ScriptStep:
    return call("apply_patch", diff=diff)


def run_route(
    root: Path,
    scenes: Sequence[Scene],
    verifier: FakeVerifier,
    *,
    issue: str = UNNAMED,
    only: tuple[str, ...] = (),
) -> SessionContext:
    """Return the context after the strategy has ended."""
    repository = FakeRepository(root=root)
    context = kit(root, scenes, verifier=verifier, issue=issue, repository=repository, only=only)
    candidate = context.repository.create_candidate("c1")
    run_strategy(follow_route(LINEAR_ROUTE), context, candidate)
    return context


def phases(context: SessionContext) -> list[str]:
    return [event.phase for event in events(context.log, PhaseEntered)]


def request_count(context: SessionContext) -> int:
    assert isinstance(context.model, ScriptedModel)
    return len(context.model.requests)


def last_words(context: SessionContext) -> str:
    assert isinstance(context.model, ScriptedModel)
    return context.model.requests[-1].messages[-1].text


COLUMNS = ((1, True), (2, False), (3, "spent"), (4, "passing"))


def test_documented_table_matches_route() -> None:
    text = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.partition("| after |")[2].partition("\n\n")[0].splitlines()[2:]
    ]
    documented = {
        (row[0], outcome): row[column] for row in rows for column, outcome in COLUMNS if row[column]
    }
    assert documented == dict(LINEAR_ROUTE)
    parts: dict[str, Route] = {
        "`LOCATE_ROUTE`": LOCATE_ROUTE,
        "`SINGLE_CHANGE_ROUTE`": SINGLE_CHANGE_ROUTE,
        "`REPAIR_ROUTE`": REPAIR_ROUTE,
        "`RETRY_ROUTE`, with `REPAIR_ROUTE`": RETRY_ROUTE,
    }
    assert all(
        (row[0], outcome) in parts[row[5]] for row in rows for column, outcome in COLUMNS if row[column]
    )


def test_named_red_test_needs_no_reproduction(tmp_path: Path) -> None:
    context = run_route(tmp_path, [patch(FIX)], FakeVerifier(), issue=f"{RED.id} fails")
    assert (phases(context), request_count(context)) == (["locate", "reproduce", "edit", "verify"], 1)


def test_keeps_fix_and_asks_for_missing_test(tmp_path: Path) -> None:
    verifier = FakeVerifier(reproduced=[ReproductionResult(tests=("tests/test_b.py::test_b",))])
    context = run_route(tmp_path, [patch(FIX), patch(TEST)], verifier)
    assert (phases(context), request_count(context)) == (["locate", "reproduce", "edit", "verify"], 2)
    assert "no test shows the issue yet" in last_words(context)
    assert "VALUE = 2" in (tmp_path / "a.py").read_text()


@pytest.mark.parametrize(("is_red", "only"), [(True, ()), (False, ()), (True, ("a.py",))])
def test_issues_example_is_the_missing_test_if_it_fails(
    tmp_path: Path, is_red: bool, only: tuple[str, ...]
) -> None:
    example = ReproducedExample(
        call="value()",
        wrong="1",
        right="2",
        path="tests/test_value.py",
        text="def test_value_example():\n    from a import VALUE\n\n    assert VALUE == 2\n",
        test="tests/test_value.py::test_value_example",
    )
    results = [ReproductionResult(tests=(example.test,) if is_red else ()), ReproductionResult(tests=("t",))]
    verifier = FakeVerifier(example=example, reproduced=results)
    last = call("hand_over", kind="give_up", summary="No test.") if only else patch(TEST)
    context = run_route(tmp_path, [patch(FIX), last], verifier, only=only)
    is_written = is_red and not only
    assert request_count(context) == (1 if is_written else 2)
    assert (tmp_path / example.path).exists() is is_written
    assert "VALUE = 2" in (tmp_path / "a.py").read_text()


def test_fix_of_existing_red_test_needs_no_new_test(tmp_path: Path) -> None:
    verifier = FakeVerifier(report=RED_BASE, verdicts=[PROVEN])
    context = run_route(tmp_path, [patch(FIX)], verifier)
    assert [name for name, _ in verifier.calls] == ["verify"]
    notes = [event.note for event in events(context.log, NoteMade)]
    assert Reproduction(summary="These failed before the change and pass with it.", tests=(RED.id,)) in notes


def test_judges_unchanged_tree_again_once_tests_are_excluded(tmp_path: Path) -> None:
    excluded = {"kind": "diagnosis", "summary": "It needs a newer library.", "unrelated_tests": [RED.id]}
    context = run_route(
        tmp_path,
        [patch(FIX), call("hand_over", **excluded)],
        FakeVerifier(verdicts=[STILL_RED, PROVEN]),
        issue=f"{RED.id} fails",
    )
    assert phases(context)[3:] == ["verify", "diagnose", "repair", "verify"]


CAPPED = PROVEN.model_copy(update={"kind": VerdictKind.PASSING, "reason": "Two tests were edited to agree."})
DONE = {"kind": "done", "summary": "Set the value to 2\n\nIt was 1."}


@pytest.mark.parametrize(
    ("replies", "verdicts", "last", "summary"),
    [
        ([call("hand_over", **DONE)], [CAPPED], ["repair", "verify"], DONE["summary"]),
        ([ScriptStep(text="It is right.")], [CAPPED], ["repair", "verify"], "Saying."),
        ([patch(BETTER)], [CAPPED, PROVEN], ["repair", "verify"], "Saying."),
        ([patch(BETTER)], [CAPPED, CAPPED], ["repair", "verify"], "Saying."),
        (
            [patch(BETTER), call("hand_over", kind="diagnosis", summary="Back."), patch(FIX_AGAIN)],
            [CAPPED, STILL_RED, CAPPED],
            ["repair", "verify", "diagnose", "repair", "verify"],
            "Saying.",
        ),
    ],
    ids=["handed over", "talked about", "better", "no better", "worse"],
)
def test_passing_goes_back_once(
    tmp_path: Path, replies: Sequence[Scene], verdicts: list[Verdict], last: list[str], summary: str
) -> None:
    verifier = FakeVerifier(verdicts=[*verdicts])
    context = run_route(tmp_path, [patch(FIX), *replies], verifier, issue=f"{RED.id} fails")
    assert phases(context)[4:] == last
    assert request_count(context) == 1 + len(replies)
    assert isinstance(context.model, ScriptedModel)
    assert "Two tests were edited to agree." in context.model.requests[1].messages[-1].text
    made = [event.note for event in events(context.log, NoteMade)]
    assert [note.summary for note in made if isinstance(note, Done)][-1] == summary
    newest = newest_verdict(context.log.records, "c1")
    assert newest is not None
    assert newest.reason == verdicts[-1].reason


def test_repairs_red_result_until_attempts_are_spent(tmp_path: Path) -> None:
    last = call("hand_over", kind="give_up", summary="It is deeper.")
    context = run_route(
        tmp_path,
        [patch(FIX), patch(BETTER), patch(FIX_AGAIN), last],
        FakeVerifier(verdicts=[STILL_RED]),
        issue=f"{RED.id} fails",
    )
    attempts = ["diagnose", "repair", "verify"] * 2
    assert phases(context) == ["locate", "reproduce", "edit", "verify", *attempts, "explain"]
    assert isinstance(context.model, ScriptedModel)
    told = context.model.requests[1].messages[-1].text
    assert "The target is still red." in told and "2 more attempts" in told


def test_answers_hand_over_without_change(tmp_path: Path) -> None:
    result = call("hand_over", kind="done", summary="It is right now.")
    scenes = [call("hand_over", kind="sites", summary="a.py", places=["a.py:1"]), result, patch(FIX)]
    context = run_route(tmp_path, scenes, FakeVerifier(), issue=f"{RED.id} fails")
    assert "Nothing has changed since the last verification" in last_words(context)
    assert phases(context)[-1] == "verify"


@pytest.mark.parametrize("kind", ["timeout", "no_tests"])
def test_tells_model_about_problem_on_base(tmp_path: Path, kind: str) -> None:
    report = TestReport(
        command="pytest", problem=RunProblem.model_validate({"kind": kind, "text": "Nothing was collected."})
    )
    context = run_route(
        tmp_path, [call("hand_over", kind="give_up", summary="no")], FakeVerifier(report=report)
    )
    assert isinstance(context.model, ScriptedModel)
    assert "Nothing was collected." in context.model.requests[0].messages[0].text


def answer_context(root: Path, scenes: Sequence[Scene]) -> SessionContext:
    """Return the context after a question was answered."""
    context = kit(root, scenes, issue="what does a.py do?", repository=FakeRepository(root=root))
    candidate = context.repository.create_candidate("c1")
    run_strategy(answer_question, context, candidate)
    return context


CUT = "It sums the val"
AGAIN = "The answer is incomplete: it was cut off at the output limit, and cut off again when it went on."


@pytest.mark.parametrize(
    ("scenes", "expected"),
    [
        (
            [ScriptStep(text=CUT, finish="length"), ScriptStep(text="ues.")],
            WrittenAnswer(summary=f"{CUT}ues."),
        ),
        ([ScriptStep(text=CUT, finish="length")] * 2, AGAIN),
        ([ScriptStep(text="", finish="length")] * 2, AGAIN),
        (
            [ScriptStep(text="I cannot help.", finish="refusal")],
            "The model refused to answer: I cannot help.",
        ),
        ([ScriptStep(text="", finish="refusal")], "The model refused to answer."),
        (
            [call("read", path="a.py").model_copy(update={"finish": "length"}), ScriptStep(text="It is 1.")],
            WrittenAnswer(summary="It is 1."),
        ),
    ],
)
def test_an_incomplete_reply_is_no_answer(
    tmp_path: Path, scenes: list[Scene], expected: WrittenAnswer | str
) -> None:
    context = answer_context(tmp_path, scenes)
    note = [event.note for event in events(context.log, NoteMade)][-1]
    if isinstance(expected, str):
        assert isinstance(note, GiveUp) and note.summary.startswith(expected)
    else:
        assert note == expected


def test_the_last_call_of_a_cut_reply_is_not_run(tmp_path: Path) -> None:
    step = ScriptStep(
        calls=(
            ScriptedCall(name="read", arguments={"path": "a.py"}),
            ScriptedCall(name="read", arguments={"path": "a.p"}),
        ),
        finish="length",
    )
    context = answer_context(tmp_path, [step, ScriptStep(text="It is 1.")])
    results = [event.message for event in events(context.log, ToolFinished)]
    assert ["it was not run" in result.text for result in results] == [True, False]


def verify_diff(
    root: Path, diff: str, exclusions: tuple[str, ...] = ()
) -> tuple[SessionFinished, list[str], FakeRepository]:
    context = kit(root, verifier=FakeVerifier(verdicts=[PROVEN]), issue="nobody said")
    context = replace(context, task=context.task.model_copy(update={"given": True}))
    session_end = asyncio.run(
        Session(
            context, judge_existing_change(Patch(diff=diff), exclusions=exclusions), id="s", version="1"
        ).run()
    )
    event_types: list[str] = [
        record.event.type
        for record in context.log.records
        if isinstance(record.event, FilesChanged | PhaseEntered | Verified)
    ]
    assert isinstance(context.repository, FakeRepository)
    return session_end, event_types, context.repository


def test_ends_with_verdict_and_delivers_nothing(tmp_path: Path) -> None:
    session_end, event_types, repository = verify_diff(tmp_path, FIX)
    assert (session_end.kind, session_end.exit_code, session_end.delivery) == (VerdictKind.PROVEN, 0, None)
    assert session_end.report.startswith(f"# {session_end.kind}")
    assert event_types == ["files_changed", "phase_entered", "verified"]
    assert (repository.deliveries, repository.closed) == ([], True)


def test_unfitting_diff_is_usage_error(tmp_path: Path) -> None:
    session_end, event_types, _ = verify_diff(tmp_path, FIX.replace("-VALUE = 1", "-VALUE = 7"))
    assert (session_end.kind, session_end.exit_code, event_types) == (None, 2, [])
    assert session_end.summary.startswith("The diff does not fit base: a.py")


def test_what_lies_beside_a_change_is_one_note(tmp_path: Path) -> None:
    beside = ("dump.bin (untracked, 3072 MB)", "nested/ (untracked, a git repository of its own)")
    session_end, _, _ = verify_diff(tmp_path, FIX, beside)
    assert session_end.verdict is not None
    assert session_end.verdict.kind is VerdictKind.PROVEN and session_end.verdict.with_effect("open") == ()
    assert f"not looked at: {', '.join(beside)}" in session_end.verdict.notes


def test_left_out_work_keeps_a_change_from_being_proven(tmp_path: Path) -> None:
    left_out = "data.bin (the git filter lfs is not run)"
    session_end, _, _ = verify_diff(tmp_path, FIX, (left_out,))
    assert (session_end.kind, session_end.exit_code) == (VerdictKind.FIXED, 0)
    assert session_end.verdict is not None
    assert [left.text for left in session_end.verdict.with_effect("open")] == [f"not judged: {left_out}"]
