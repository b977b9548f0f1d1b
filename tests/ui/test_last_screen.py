"""The last screen of a session, at 100 columns and 24 lines, for each word."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from coder.core.events import SessionFinished
from coder.core.values import Delivery
from coder.core.verdict import (
    BehaviorExample,
    BehaviorReport,
    Counts,
    Failure,
    Finding,
    MutationReport,
    TestResult,
    TestRun,
    Verdict,
    VerdictKind,
)
from coder.ui.lines import print_summary

SCREENS = Path(__file__).parent / "screens"
DRAW = "DRAW_PICTURES"
TEST = "tests/test_report.py::test_entries_that_touch_have_no_break_between_them"
DIFF = "diff --git a/worklog/periods.py b/worklog/periods.py\n--- a\n+++ b\n@@ -1 +1 @@\n-a < b\n+a <= b\n"
RUN = TestRun(
    label="suite", command="/home/ada/venv/bin/python3 -m pytest", counts=Counts(passed=18), seconds=6
)
FAILURE = Failure(type="AssertionError", message="assert [Period(540, 630)] == [Period(540, 720)]")
RED = TestResult(id=TEST, outcome="failed", failure=FAILURE)
EXAMPLE = BehaviorExample(
    call="merge([Period(540, 630), Period(630, 720), Period(780, 1020)])",
    before="[Period(540, 630), Period(630, 720), Period(780, 1020)]",
    after="[Period(540, 720), Period(780, 1020)]",
    tested=True,
)
SHORT = BehaviorExample(call="minutes('9:30')", before="510", after="570")
CHANGED = BehaviorReport(calls=14, compared=12, inputs=189, changed=27, examples=(EXAMPLE, SHORT))
FIXED = Verdict(
    kind=VerdictKind.FIXED,
    reason="1 test went from red to green, and nothing that ran broke.",
    targets=(TEST,),
    before=Counts(passed=17, failed=1),
    after=Counts(passed=18),
    runs=(RUN,),
    behavior=CHANGED,
    mutation=MutationReport(tried=4),
    tests_ran=170,
    tests_reaching=11_740,
    findings=tuple(
        Finding(rule=rule, effect="open", text=text)
        for rule, text in (
            ("contradicted-test", "2 tests that passed before were edited to agree with the change"),
            ("linter", "ruff reports 1 new problem: worklog/periods.py:22 F841 unused variable"),
            *(("left-out", f"part {number} of the request was left out") for number in range(4)),
        )
    ),
)
VERDICTS = {
    "fixed": FIXED,
    "proven": FIXED.model_copy(
        update={"kind": VerdictKind.PROVEN, "findings": (), "tests_ran": None, "tests_reaching": None}
    ),
    "passing": FIXED.model_copy(
        update={
            "kind": VerdictKind.PASSING,
            "reason": "Nothing that ran broke, but no test failed before.",
            "targets": (),
            "findings": (Finding(rule="no-target", effect="cap", text="no test failed before"),),
        }
    ),
    "not_tested": Verdict(
        kind=VerdictKind.NOT_TESTED,
        reason="No test could be run: pytest is not installed for /usr/bin/python3. Install it there, or "
        "name a test command: --test",
    ),
    "broken": FIXED.model_copy(
        update={
            "kind": VerdictKind.BROKEN,
            "reason": f"1 test passed before and fails now: {TEST}.",
            "broken": (RED,),
            "findings": (),
            "after": Counts(passed=17, failed=1),
            "mutation": None,
        }
    ),
    "gave_up": FIXED.model_copy(
        update={
            "kind": VerdictKind.NOT_FIXED,
            "reason": f"1 test still fails: {TEST}.",
            "targets": (),
            "still_red": (RED,),
            "findings": (),
            "after": Counts(passed=17, failed=1),
            "mutation": None,
            "behavior": None,
        }
    ),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_last_screen_fits_and_is_current(name: str) -> None:
    verdict = VERDICTS[name]
    has_given_up = name == "gave_up"
    finished = SessionFinished(
        kind=VerdictKind.GAVE_UP if has_given_up else verdict.kind,
        summary="All 3 attempts were tested, and none was right." if has_given_up else verdict.reason,
        verdict=verdict,
        delivery=Delivery(diff=DIFF, branch="coder/fix-merge-466a66", commit="c0ffee")
        if verdict.is_deliverable
        else None,
        attempts=3 if has_given_up else 1,
        exit_code=verdict.kind.exit_code,
        seconds=29.0,
        stages={"targets": 8.0, "search": 12.0, "checks": 9.0},
        has_changes=True,
    )
    console = Console(file=io.StringIO(), width=100, highlight=False, force_terminal=True, record=True)
    print_summary(console, finished, session="20261128-122346-6a66")
    svg = console.export_svg(title=f"coder: {name}", clear=False)
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    screen = lines[next(n for n, line in enumerate(lines) if line.startswith(finished.kind or "")) :]
    assert len(screen) <= 24
    stored = SCREENS / f"{name}.txt"
    if folder := os.environ.get(DRAW):
        stored.parent.mkdir(exist_ok=True)
        stored.write_text("\n".join(screen) + "\n", encoding="utf-8")
        if Path(folder).is_dir():
            (Path(folder) / f"{name}.svg").write_text(svg, encoding="utf-8")
    assert screen == stored.read_text(encoding="utf-8").splitlines(), f"If that is right, set {DRAW}=1."
