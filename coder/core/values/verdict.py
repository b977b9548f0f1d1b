"""Test reports and what they prove."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from coder.core.values.base import Value

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
Cause = Literal["environment", "logic", "test error", "collection", "time-out"]
"""Classes of failures, told apart by the harness."""
Tie = Literal["example", "message", "identifier"]
"""Evidence that a red test of the base belongs to the issue; an identifier alone is weak."""
When = Literal["collect", "setup", "call", "teardown"]


class Frame(Value):
    """One traceback frame."""

    path: str
    """Relative to the tested tree where the file is inside it, absolute elsewhere."""
    line: int
    function: str


class Failure(Value):
    """Why a test is red, from the exception itself."""

    type: str
    """The exception class's bare name, such as AssertionError."""
    message: str
    frames: tuple[Frame, ...] = ()
    """Outermost first."""
    text: str = ""
    """pytest's own rendering, cut to its most useful part."""


class Body(Value):
    """How a test's own function ran, seen beside what the test runner says of it."""

    started: int = 0
    ended: int = 0
    """How often it came to its end without raising."""
    lines: tuple[int, ...] = ()
    """Those of its file that were executed in it, sorted."""


class TestResult(Value):
    """One test, or one module that could not be collected."""

    __test__ = False
    id: str
    """pytest's node id."""
    outcome: Outcome
    when: When = "call"
    seconds: float = 0.0
    failure: Failure | None = None
    cause: Cause | None = None
    """Of a red test in a verdict."""
    body: Body | None = None
    """None where nobody watched, or nobody could."""

    @property
    def red(self) -> bool:
        return self.outcome in ("failed", "error")

    @property
    def green(self) -> bool:
        return self.outcome in ("passed", "xfailed", "xpassed")


class Problem(Value):
    """Why a run says nothing about the code."""

    kind: Literal[
        "no_runner", "usage", "timeout", "crash", "no_tests", "no_report", "wrong_code", "stopped", "forged"
    ]
    text: str
    """What happened and what to do, one or two sentences."""


class TestReport(Value):
    """One run of a test command."""

    __test__ = False
    command: str
    results: tuple[TestResult, ...] = ()
    seconds: float = 0.0
    exit_code: int | None = None
    problem: Problem | None = None
    output: str = ""
    """The tail of what the command printed."""
    reached: tuple[str, ...] = ()
    """What code of the tree did to the machinery that observes it, such as `calc.py: sys._getframe`."""
    by_exit_code: bool = False
    """The command is no pytest: it counts as one test with the command as its id, and says nothing about reasons."""

    indirect: bool = False
    """Read from a report that the command made: its tests cannot be run alone, and where the code was loaded from is not known."""

    def of(self, test_id: str) -> TestResult | None:
        """The result of a test; that of its file or class where these could not be collected."""
        own = next((result for result in self.results if result.id == test_id), None)
        return own or next(
            (
                item
                for item in self.results
                if item.when == "collect" and item.red and test_id.startswith(f"{item.id}::")
            ),
            None,
        )

    @property
    def reds(self) -> tuple[TestResult, ...]:
        return tuple(result for result in self.results if result.red)

    @property
    def counts(self) -> "Counts":
        return Counts(
            passed=sum(result.green for result in self.results),
            failed=sum(result.red for result in self.results),
            skipped=sum(result.outcome == "skipped" for result in self.results),
        )


class Counts(Value):
    """How many tests ended how."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


class Run(Value):
    """One run of the test command on the way to a verdict."""

    label: str
    """What it was for, such as `suite`."""
    command: str
    tests: tuple[str, ...] = ()
    """The tests asked for; empty is the whole suite."""
    counts: Counts
    exit_code: int | None = None
    seconds: float = 0.0
    problem: str = ""


class Unguarded(Value):
    """A place of the change that could be otherwise, and no test would notice."""

    path: str
    line: int
    """In the changed file, from 1."""
    what: str
    """What was done to it, half a sentence."""
    whole_hunk: bool = False
    """The hunk may go, and the verdict stays."""


class Guarded(Value):
    """What is known of how closely tests watch a change."""

    unguarded: tuple[Unguarded, ...] = ()
    wording: tuple[tuple[str, int], ...] = ()
    """Path and line, in the changed file, of blocks of changed lines that are no code: comments, docstrings, blank lines."""
    tried: int = 0
    """Variants that tests could tell about."""
    mutants: int = 0
    """Those of them that are no hunk taken out and no statement left out: the changed code does something else."""
    caught: int = 0
    """Mutants that a test noticed."""
    ended: bool = True
    """False where time ran out."""


class Checked(Value):
    """What the project's own linters, type checkers and scanners say of a change."""

    new: tuple[str, ...] = ()
    """`ruff: path:line: what is wrong`, of what they did not find before."""
    ran: tuple[str, ...] = ()
    """Their names."""
    missing: tuple[str, ...] = ()
    """Those that the project configures and that are not installed."""
    mended: tuple[str, ...] = ()
    """Commands that a changed configuration is for, which failed before and pass now on the whole project."""
    failing: tuple[str, ...] = ()
    """Those that fail as before."""
    broken: tuple[str, ...] = ()
    """Those that passed before and fail now."""


class VerdictKind(StrEnum):
    """What may be said about a change, and the exit code that says it."""

    PROVEN = "PROVEN"
    PASSING = "PASSING"
    GAVE_UP = "GAVE UP"
    LIMIT = "LIMIT"
    BROKEN = "BROKEN"
    INCONCLUSIVE = "INCONCLUSIVE"

    @property
    def exit_code(self) -> int:
        return {"PROVEN": 0, "PASSING": 3, "GAVE UP": 4, "LIMIT": 5, "BROKEN": 6, "INCONCLUSIVE": 7}[
            self.value
        ]


class Verdict(Value):
    """The judgement on one change, and the evidence for it."""

    kind: VerdictKind
    reason: str
    """One sentence."""
    notes: tuple[str, ...] = ()
    """What else was seen, such as a flaky test that is not blamed; half a sentence each."""
    targets: tuple[str, ...] = ()
    """Tests seen red on the base for the right reason and green on the change."""
    scope: Literal["whole", "impacted"] = "whole"
    """What was looked at for new failures: the whole suite, or the tests that the change can reach."""
    untied: tuple[str, ...] = ()
    """The targets, where all that keeps the change from PROVEN is that nothing ties them to the issue."""
    broken: tuple[TestResult, ...] = ()
    """Tests that passed on the base and do not pass now."""
    still_red: tuple[TestResult, ...] = ()
    """Target tests that the change leaves red."""
    before: Counts | None = None
    """The suite on the untouched base."""
    after: Counts | None = None
    """The suite on the change."""
    commands: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    """In the order in which they were made, the base's own first."""
    hashes: Mapping[str, str] = Field(default_factory=dict)
    """SHA-256 of each target's file, which is the same on both sides, by path."""
    guarded: Guarded | None = None
    """How closely tests watch the changed lines, where that was asked."""
    checked: Checked | None = None
    """What linters and their like newly find, where they were asked."""
    circumstances: tuple[str, ...] = ()
    """The interpreter, the test command and how they were found, as sentences."""
    seconds: float = 0.0
    tree: str = ""
    """The git tree that was judged."""

    @property
    def good(self) -> bool:
        """Nothing broke, and no test that shows the issue is still red: fit to be delivered."""
        return self.kind is VerdictKind.PROVEN or (self.kind is VerdictKind.PASSING and not self.still_red)

    @property
    def unable(self) -> bool:
        """Is the machine to blame alone, whatever the change is?"""
        return (
            bool(self.still_red)
            and not self.broken
            and all(result.cause == "environment" for result in self.still_red)
        )

    @property
    def label(self) -> str:
        """The kind in a word or two; nothing that broke is no comfort while a target test is red."""
        return "NOT FIXED" if self.kind is VerdictKind.PASSING and self.still_red else self.kind.value


class Reproduced(Value):
    """Whether tests show the issue on the base."""

    tests: tuple[str, ...] = ()
    """Ids seen red on the base for the right reason."""
    rejected: tuple[str, ...] = ()
    """`id: why it is no reproduction`, one line each."""
    results: tuple[TestResult, ...] = ()


class Evidence(Value):
    """A verdict as it goes with a commit."""

    trailers: tuple[str, ...]
    """`Key: value` lines for the end of the commit message."""
    page: str
    """The whole report, Markdown, for the git note."""
