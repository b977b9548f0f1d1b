import asyncio
import io
from pathlib import Path

import pytest
from rich.console import Console

from coder.cli.verify import observation
from coder.core.events import (
    BaselineMeasured,
    QuestionAnswered,
    QuestionAsked,
    Record,
    SessionCommand,
    SessionFinished,
    ToolFinished,
    ToolStarted,
    ToolStreamed,
    Verified,
    Warned,
)
from coder.core.notes import ReviewFinding
from coder.core.values import ToolCall, ToolMessage, UsageTotals
from coder.core.verdict import (
    Counts,
    Failure,
    Finding,
    Frame,
    MutationReport,
    ReplacedAssertion,
    TestResult,
    UntestedPlace,
    Verdict,
    VerdictKind,
)
from coder.session.log import EventLog, read_records
from coder.ui.lines import LinePrinter, print_summary, summarize_arguments, summary_lines
from tests.records import make_records

LOGS = Path(__file__).parent.parent / "logs"


def render_lines(records: list[Record], *, verbose: bool = False, terminal: bool = False) -> str:
    out = io.StringIO()
    log = EventLog(records=records)
    log.close()
    console = Console(file=out, highlight=False, force_terminal=terminal, width=100, _environ={})
    asyncio.run(LinePrinter(console, verbose=verbose, send=lambda _: None).show(log.follow()))
    return out.getvalue()


def test_baseline_counts_tests_that_cannot_run_apart() -> None:
    event = BaselineMeasured(
        command="pytest",
        counts=Counts(passed=364, failed=12, denied=182),
        failing=(),
        denied=("network",),
        seconds=1.0,
    )
    counts = "364 passed, 12 failed, 182 cannot run in the sandbox (no network)"
    assert render_lines(make_records(event)).startswith(f"tests on the untouched code: {counts} in 1.0 s")


def test_asks_nobody_where_nobody_can_answer() -> None:
    question = QuestionAsked(question="q1", text="Install numpy?", options=("yes", "no"), default="no")
    answer = QuestionAnswered(question="q1", option="no", by="default")
    log = EventLog(records=make_records(question, answer))
    log.close()
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, _environ={})
    printer = LinePrinter(console, verbose=False, send=lambda _: None)
    asyncio.run(printer.show(log.follow()))
    assert "Install numpy?" not in out.getvalue()
    assert "not interactive: no" in out.getvalue()


def test_terminal_has_questions_answered_by_typing() -> None:
    text = (
        "Its tests need it, and it is not installed for the interpreter that runs them here.\nInstall numpy?"
    )
    question = QuestionAsked(question="q1", text=text, options=("yes", "no"), default="no")
    log, out, commands = EventLog(records=make_records(question)), io.StringIO(), list[SessionCommand]()
    log.close()

    async def read_line(prompt: str) -> str:
        out.write(prompt)
        return "y\n"

    console = Console(file=out, force_terminal=True, width=60, _environ={})
    printer = LinePrinter(console, verbose=False, send=commands.append, read_line=read_line)
    asyncio.run(printer.show(log.follow()))
    assert "installed for the \ninterpreter" in out.getvalue()  # wrapped between words
    assert "Install numpy?" in out.getvalue() and "y: yes, n: no > " in out.getvalue()
    assert commands == [QuestionAnswered(question="q1", option="yes")]


def test_recorded_session_reads_in_order() -> None:
    lines = render_lines(read_records(LOGS / "format-1-wrong-then-repaired")).splitlines()
    assert lines[2].startswith("tests on the untouched code: 1 passed, 1 failed in ")
    reason = "The issue is not fixed, 1 test not green on the change; the whole suite was not run."
    assert lines[3:] == [
        "locate",
        "  The rest is dropped.",
        "edit",
        "  apply_patch clock.py",
        "verify",
        f"  NOT FIXED  {reason}",
        "    test_clock.py::test_half_past_nine",
        "diagnose (attempt 2)",
        "  Minutes are added.",
        "repair (attempt 2)",
        "  apply_patch clock.py",
        "verify (attempt 2)",
        "  PROVEN  1 test went from red to green, and nothing that passed before fails now.",
    ]


def test_pipe_gets_plain_text_and_terminal_gets_colours() -> None:
    session = read_records(LOGS / "format-1-wrong-then-repaired")
    assert "\x1b" not in render_lines(session)
    assert "\x1b[" in render_lines(session, terminal=True)


def test_tool_and_model_text_cannot_control_terminal() -> None:
    call = ToolCall(id="1", name="read", arguments='{"path": "a.py"}')
    evil = ToolMessage(call_id="1", name="read", text="\x1b]0;title\x07\x1b[2Jhello\r", ok=True)
    text = render_lines(
        make_records(
            ToolStarted(candidate="c1", call=call), ToolFinished(candidate="c1", message=evil, seconds=0)
        ),
        verbose=True,
    )
    assert "hello" in text
    assert not {"\x1b", "\x07", "\r"} & set(text)


def test_refused_call_gives_reason_in_one_line() -> None:
    call = ToolCall(id="1", name="read", arguments='{"path": "a.py", "line": 3}')
    message = ToolMessage(
        call_id="1", name="read", text="'a.py' has not been named.\nSearch first.", ok=False
    )
    text = render_lines(
        make_records(
            ToolStarted(candidate="c1", call=call), ToolFinished(candidate="c1", message=message, seconds=0)
        )
    )
    assert text == "  read a.py line=3\n    'a.py' has not been named.\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"pattern": "def x", "glob": "*.py", "word": false}', "def x glob=*.py"),
        ('{"diff": "--- a/x.py\\n+++ b/x.py\\n@@\\n"}', "x.py"),
        ("{broken", "{broken"),
        ('["list"]', '["list"]'),
    ],
)
def test_a_call_is_brief(arguments: str, line: str) -> None:
    assert summarize_arguments(arguments) == line


def render_end(session_end: SessionFinished) -> str:
    out = io.StringIO()
    print_summary(Console(file=out, width=100, highlight=False), session_end, session="s1")
    return out.getvalue()


def test_interruption_says_where_work_is() -> None:
    stopped = SessionFinished(
        kind=None, summary="Interrupted; your files are as they were.", exit_code=130, attempts=1, seconds=3.2
    )
    resume, record = (
        "next     go on: coder resume s1",
        "nothing was left in the repository; the record: coder log show s1",
    )
    lines = ["stopped  Interrupted; your files are as they were.", "cost     3 s", f"{resume}; {record}"]
    assert render_end(stopped).splitlines()[1:] == lines
    session_end = stopped.model_copy(update={"has_changes": True})
    assert render_end(session_end).splitlines()[-1] == f"{resume}; the change: coder log diff s1; {record}"


def test_unknown_cost_is_not_shown_as_zero() -> None:
    verdict = Verdict(kind=VerdictKind.PROVEN, reason="r", before=Counts(passed=1), after=Counts(passed=2))
    spent = UsageTotals(
        requests=2, input_tokens=12_000, cached_tokens=3_000, output_tokens=345, cost_usd=None
    )
    session_end = SessionFinished(
        kind=VerdictKind.PROVEN,
        summary="r",
        verdict=verdict,
        spent=spent,
        attempts=1,
        seconds=61,
        exit_code=0,
    )
    cost = "cost     61 s, 2 requests, 12.3k tokens (3.0k cached), price unknown\n"
    assert cost in render_end(session_end)


EXAMINING = "  Examining ...\n"


@pytest.mark.parametrize("is_examined", [False, True])
def test_edits_of_tests_and_notes_are_printed_once_of_two_stages(is_examined: bool) -> None:
    verdict = Verdict(
        kind=VerdictKind.FIXED,
        reason="1 test is green.",
        notes=("a note",),
        replaced_assertions=(ReplacedAssertion(test="t.py::test_b", old="f() == 1", new="f() == 2"),),
        is_examined=is_examined,
    )
    text = render_lines(make_records(Verified(candidate="c1", attempt=1, verdict=verdict)))
    details = "\n    t.py::test_b: `f() == 1` is `f() == 2` now\n    noted: a note\n"
    assert text == f"  FIXED  1 test is green.{details if is_examined else EXAMINING}"


@pytest.mark.parametrize(
    ("rule", "change", "command"),
    [
        ("unexamined", "HEAD", "coder verify HEAD"),
        ("contradicted-test", "'a b.diff'", "coder verify 'a b.diff' --accept-test-edits"),
        ("untied-target", "", "coder verify --test ID"),
    ],
)
def test_what_is_open_names_the_change_to_judge_again(rule: str, change: str, command: str) -> None:
    verdict = Verdict(
        kind=VerdictKind.FIXED, reason="1 test.", findings=(Finding(rule=rule, effect="open", text="It is"),)
    )
    finished = SessionFinished(kind=verdict.kind, summary=verdict.reason, verdict=verdict, exit_code=0)
    lines = [line.plain for line in summary_lines(finished, session="", change=change)]
    assert [line for line in lines if line.startswith("open") and line.endswith(f": {command}")]


@pytest.mark.parametrize("still_red", [(), (TestResult(id="a.py::test_x", outcome="failed"),)])
def test_end_of_verification_states_verdict_once(
    still_red: tuple[TestResult, ...],
) -> None:
    verdict = Verdict(kind=VerdictKind.PASSING, reason="Nobody knows.", still_red=still_red)
    report = f"# PASSING\n\n{verdict.reason}\n\n- tree: `c0ffee`\n"
    session_end = SessionFinished(
        kind=verdict.kind, summary=verdict.reason, verdict=verdict, report=report, exit_code=3
    )
    shown = render_end(session_end)
    assert (shown.startswith(f"\n{verdict.label}  Nobody knows.\n"), "c0ffee" in shown) == (True, False)


def test_researchers_are_told_apart() -> None:
    lines = [line.strip() for line in render_lines(read_records(LOGS / "format-1-research")).splitlines()]
    assert lines.index("research-1/2 looks into: tests") < lines.index("research-1/1 read clock.py")
    assert lines.index("research-1/2 read clock.py") < lines.index("evaluate-1: deepen: Hours are missing.")
    assert "research-2/1: 1 claim, 0 unconfirmed, 0 dropped: It splits." in lines
    assert "research" not in lines


def test_reports_progress_to_pipe_and_terminal() -> None:
    streamed = [ToolStreamed(candidate="c1", text=f"suite: {number} of 90") for number in range(1, 31)]
    log = make_records(Warned(text="It begins."), *streamed)
    assert render_lines(log).splitlines() == [
        "  It begins.",
        "  ... suite: 30 of 90",
    ]
    assert "... suite" not in render_lines(log, terminal=True)


def test_recorded_build_shows_its_stages() -> None:
    lines = render_lines(read_records(LOGS / "format-1-build")).splitlines()
    shown = [
        line.strip() for line in lines if line.strip().startswith(("PLAN", "GEN", "REVIEW", "FIX", "INT"))
    ]
    assert shown[:4] == ["PLAN", "PLAN  done", "GENERATE", shown[3]]
    assert sorted(shown[3:6]) == [f"GENERATE {name}  done" for name in ("counts", "report", "words")]
    assert shown[6:] == [
        "GENERATE  done",
        "REVIEW 1",
        "REVIEW 1  done: changes requested: counts",
        "FIX 1",
        "FIX 1 counts  done",
        "FIX 1  done",
        "REVIEW 2",
        "REVIEW 2  done: changes requested: counts",
        "FIX 2",
        "FIX 2 counts  done",
        "FIX 2  done",
        "REVIEW 3",
        "REVIEW 3  done: approved",
        "INTEGRATE",
        "INTEGRATE  done",
    ]


FAILURE = Failure(type="E", message="", frames=(Frame(path="a.py", line=5, function="f"),))
BROKEN = TestResult(id="t.py::test_a", outcome="failed", failure=FAILURE)
GUARDED = MutationReport(survivors=(UntestedPlace(path="a.py", line=20, what="`<` became `<=`"),), tried=4)


@pytest.mark.parametrize(
    ("path", "line", "phrase"),
    [
        ("a.py", 7, "t.py::test_a fails here"),
        ("a.py", 0, "t.py::test_a fails here"),
        ("a.py", 21, "none would notice a difference here (`<` became `<=`, line 20)"),
        ("a.py", 12, "none fails here; they caught 3 of 4 deliberate defects of the change"),
        ("b.py", 5, "none fails here; they caught 3 of 4 deliberate defects of the change"),
    ],
)
def test_observation_near_a_finding(path: str, line: int, phrase: str) -> None:
    verdict = Verdict(kind=VerdictKind.BROKEN, reason="", broken=(BROKEN,), mutation=GUARDED)
    assert observation(ReviewFinding(severity="major", path=path, line=line, text=""), verdict) == phrase
