"""A session's log, from the issue to the delivered fix, with everything that can be shown on the way."""

import json
from decimal import Decimal
from pathlib import Path

from coder.core.events import (
    BaselineMeasured,
    BudgetSpent,
    CandidateForked,
    Event,
    MessageFinished,
    NoteMade,
    PhaseEntered,
    PlanAsked,
    QuestionAsked,
    ReviewAsked,
    SessionFinished,
    SessionStarted,
    Task,
    TextStreamed,
    ToolFinished,
    ToolStarted,
    Verified,
    Warned,
)
from coder.core.notes import Diagnosis, Plan, Sites, Step
from coder.core.values import (
    AssistantMessage,
    Delivery,
    ToolCall,
    ToolMessage,
    Usage,
    UsageTotals,
    UserMessage,
)
from coder.core.verdict import Counts, Failure, TestResult, Verdict, VerdictKind

ISSUE = "Clock.add wraps at 24:00 only once: 23:00 plus 49 hours gives 48:00"
CODE = """\
diff --git a/clock/arithmetic.py b/clock/arithmetic.py
index 2f1a3b4..8c9d0e1 100644
--- a/clock/arithmetic.py
+++ b/clock/arithmetic.py
@@ -1,6 +1,7 @@
 \"\"\"Arithmetic on the time of day.\"\"\"

 MINUTES = 60
+HOURS = 24


 def add(clock: tuple[int, int], minutes: int) -> tuple[int, int]:
@@ -14,6 +15,4 @@ def add(clock: tuple[int, int], minutes: int) -> tuple[int, int]:
     hour, minute = clock
     total = hour * MINUTES + minute + minutes
     hour, minute = divmod(total, MINUTES)
-    if hour >= 24:
-        hour -= 24
-    return (hour, minute)
+    return (hour % HOURS, minute)
diff --git a/tests/test_arithmetic.py b/tests/test_arithmetic.py
new file mode 100644
index 0000000..3b18e51
--- /dev/null
+++ b/tests/test_arithmetic.py
@@ -0,0 +1,5 @@
+from clock.arithmetic import add
+
+
+def test_adds_more_than_two_days() -> None:
+    assert add((23, 0), 49 * 60) == (0, 0)
"""
DIFF = "".join(f"{line or ' '}\n" for line in CODE.splitlines())
SAID = (
    "`add` takes one day off at most, so **two days** stay two days. A remainder takes off all of "
    "them:\n\n- `hour % 24`\n- no branch"
)
RED = TestResult(
    id="tests/test_arithmetic.py::test_adds_more_than_two_days",
    outcome="failed",
    failure=Failure(type="AssertionError", message="assert (48, 0) == (0, 0)"),
)
SPENT = UsageTotals(
    requests=3, input_tokens=18_400, cached_tokens=11_000, output_tokens=900, cost_usd=Decimal("0.0214")
)
PROVEN = Verdict(
    kind=VerdictKind.PROVEN,
    reason="1 test failed before and passes now; nothing else broke.",
    notes=("test_clock_of_the_wall is flaky and was not counted",),
    targets=(RED.id,),
    before=Counts(passed=41, failed=1),
    after=Counts(passed=42),
)


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=f"call-{name}", name=name, arguments=json.dumps(arguments))


def finished_call(call_made: ToolCall, text: str, *, ok: bool = True, seconds: float = 0.04) -> ToolFinished:
    return ToolFinished(
        candidate="c1",
        message=ToolMessage(call_id=call_made.id, name=call_made.name, text=text, ok=ok),
        seconds=seconds,
    )


SEARCH = call("search", pattern="def add", path="clock")
READ = call("read", path="clock/arithmetic.py", line=900)
PATCH = call("apply_patch", diff=DIFF)

STARTED = SessionStarted(
    session="20260101-clock",
    task=Task(issue=ISSUE, directory=Path("/home/ada/clock")),
    repository="/home/ada/clock",
    head="c0ffee",
    base="c0ffee",
    dirty=True,
    model="acme:large",
    version="1",
)
BASELINE = BaselineMeasured(command="python -m pytest", counts=Counts(passed=41), failing=(), seconds=1.94)
TOLD = MessageFinished(
    candidate="c1", message=UserMessage(text=f"# The issue\n\n{ISSUE}\n\n# The tests\n\n41 passed")
)
SPEND = BudgetSpent(candidate="c1", usage=Usage(input_tokens=18_400, output_tokens=900), total=SPENT)
LOCATED: list[Event] = [
    STARTED,
    CandidateForked(candidate="c1"),
    BASELINE,
    PhaseEntered(candidate="c1", phase="locate", attempt=1),
    TOLD,
    ToolStarted(candidate="c1", call=SEARCH),
    finished_call(
        SEARCH, "clock/arithmetic.py\n7:def add(clock: tuple[int, int], minutes: int) -> tuple[int, int]:"
    ),
    ToolStarted(candidate="c1", call=READ),
    finished_call(
        READ, "clock/arithmetic.py has 19 lines; line 900 is past its end. Read around line 7.", ok=False
    ),
    NoteMade(
        candidate="c1",
        phase="locate",
        note=Sites(summary="add takes off one day at most", places=("clock/arithmetic.py:18",)),
    ),
]
SPEAKING: list[Event] = [
    PhaseEntered(candidate="c1", phase="edit", attempt=1),
    *(TextStreamed(candidate="c1", text=SAID[at : at + 7]) for at in range(0, len(SAID), 7)),
]
SPOKEN = MessageFinished(candidate="c1", message=AssistantMessage(text=SAID, calls=(PATCH,)))
PATCHED: list[Event] = [
    SPOKEN,
    SPEND,
    ToolStarted(candidate="c1", call=PATCH),
    finished_call(PATCH, "Changed clock/arithmetic.py and tests/test_arithmetic.py.", seconds=0.2),
]
REPAIRED: list[Event] = [
    PhaseEntered(candidate="c1", phase="verify", attempt=1),
    Verified(
        candidate="c1",
        attempt=1,
        verdict=Verdict(kind=VerdictKind.PASSING, reason="The test is still red.", still_red=(RED,)),
    ),
    PhaseEntered(candidate="c1", phase="diagnose", attempt=2),
    NoteMade(
        candidate="c1",
        phase="diagnose",
        note=Diagnosis(summary="The remainder was taken of minutes, not of hours."),
    ),
    Warned(text="The repository has 3 untracked files over 5 MB; they were left out."),
    PhaseEntered(candidate="c1", phase="verify", attempt=2),
    Verified(candidate="c1", attempt=2, verdict=PROVEN),
]
REVIEW = ReviewAsked(question="q1", diff=DIFF, droppable=(1,), verdict=PROVEN)
PLAN = Plan(
    summary="A remainder takes off all days at once.",
    steps=(
        Step(
            intent="A test adds more than two days.",
            files=("tests/test_arithmetic.py",),
            check="tests/test_arithmetic.py::test_adds_more_than_two_days",
        ),
        Step(intent="`add` takes the remainder of hours by 24.", files=("clock/arithmetic.py",)),
    ),
)
PLANNED = PlanAsked(question="q1", plan=PLAN)
QUESTION = QuestionAsked(
    question="q1",
    text="Allow run_command(command='make generated', seconds=60)?",
    options=("allow", "refuse"),
    default="refuse",
)
FINISHED = SessionFinished(
    kind=VerdictKind.PROVEN,
    summary="1 test failed before and passes now; nothing else broke.",
    verdict=PROVEN,
    delivery=Delivery(diff=DIFF, branch="coder/clock-add-wraps-1a2b", commit="c0ffee"),
    attempts=2,
    spent=SPENT,
    seconds=34.2,
    exit_code=0,
)
GAVE_UP = SessionFinished(
    kind=VerdictKind.GAVE_UP,
    summary="3 attempts were red.",
    report=(
        "## Tried\n\n1. A remainder in `add`: still red.\n2. A loop in `add`: still red.\n\n"
        "## Suspected\n\n- `clock/arithmetic.py:18`"
    ),
    attempts=3,
    spent=SPENT,
    seconds=80.0,
    exit_code=4,
)
INTERRUPTED = SessionFinished(kind=None, summary="Interrupted; your files are as they were.", exit_code=130)
