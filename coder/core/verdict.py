"""Verdict, evidence, and the values that they are made of."""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from coder.core.values import EventValue, Value

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
Cause = Literal["environment", "logic", "test error", "collection", "time-out"]
"""Classes of failures, as the harness distinguishes them."""
IssueTie = Literal["example", "message", "identifier"]
"""Evidence that a red test of the base belongs to the issue; an identifier alone is weak."""
TargetKind = Literal["named", "existing", "edited", "new"]
"""Origin of a target: the user names it, the base has it red, the change edits or adds it."""
TestStage = Literal["collect", "setup", "call", "teardown"]
DeniedResource = Literal["network", "files", "calls", "home"]
"""Resources that a sandbox keeps from tests: hosts, paths outside the worktree, system calls, the home."""
DENIED: Mapping[DeniedResource, str] = {
    "network": "no network",
    "files": "no files outside the worktree",
    "calls": "forbidden system calls",
    "home": "no home directory",
}
"""The same in words."""
ASSERTIONS = frozenset({"AssertionError", "DocTestFailure", "Failed", "MultipleDoctestFailures"})
"""`Failed` is what pytest.fail, pytest.raises (DID NOT RAISE) and pytest.warns raise."""
EXIT_CODE = "ExitCode"
"""Failure type of a whole command; the text is the end of its output."""


class Frame(Value):
    path: str
    """Relative to the tested tree where the file is inside it, absolute elsewhere."""
    line: int
    function: str


class OperatingSystemError(Value):
    name: str
    """Its symbol, such as ECONNREFUSED; `gaierror` where a host's name has no address."""
    path: str = ""
    """The file, relative to the tested tree inside of it; `~` and `$TMPDIR` stand for the test run's own."""


LONGEST_HEADLINE = 200


class Failure(Value):
    """Why a test fails, from the exception itself."""

    type: str
    """The exception class's bare name, such as AssertionError."""
    message: str
    frames: tuple[Frame, ...] = ()
    """Outermost first."""
    text: str = ""
    """pytest's own rendering, truncated to its most useful part."""
    os_error: OperatingSystemError | None = None

    @property
    def own_frames(self) -> tuple[Frame, ...]:
        """The frames in files of the tested tree."""
        return tuple(frame for frame in self.frames if not frame.path.startswith(("/", "<")))

    @property
    def headline(self) -> str:
        """Type and the telling line of the message: its first, or the error of a traceback in it."""
        lines = [line for line in self.message.splitlines() if line.strip()]
        first = lines[0].strip() if lines else ""
        if first.startswith("Traceback "):
            first = next((line for line in lines[1:] if not line[0].isspace()), first)
        elif first.endswith(":"):
            first = " ".join(" ".join(lines).split())
        return f"{self.type}: {first[:LONGEST_HEADLINE]}" if first else self.type


class BodyExecution(EventValue):
    """Observation of a test's own function, independent of the test runner's report."""

    started: int = 0
    ended: int = 0
    """Number of returns without an exception."""


ISSUE_EXAMPLE = "the issue's example"
"""Id of the issue's own example among red tests."""


class TestResult(Value):
    """One test, or one module that could not be collected."""

    __test__ = False
    id: str
    """pytest's node id."""
    outcome: Outcome
    when: TestStage = "call"
    seconds: float = 0.0
    failure: Failure | None = None
    cause: Cause | None = None
    """Of a failing test in a verdict."""
    body: BodyExecution | None = None
    """None where it was not or could not be observed."""
    denied: DeniedResource | None = None
    """Of a failing test: the resource for want of which it cannot pass in the sandbox."""

    @property
    def red(self) -> bool:
        """Whether the test failed or could not run."""
        return self.outcome in ("failed", "error")

    @property
    def green(self) -> bool:
        """Whether the test passed, or failed as expected."""
        return self.outcome in ("passed", "xfailed", "xpassed")

    def with_texts(self, change: Callable[[str], str]) -> Self:
        if self.failure is None:
            return self
        texts = {"message": change(self.failure.message), "text": change(self.failure.text)}
        return self.model_copy(update={"failure": self.failure.model_copy(update=texts)})

    @property
    def output_tail(self) -> tuple[str, ...]:
        """Last lines of output of a whole command that failed; empty for a test."""
        if self.failure is None or self.failure.type != EXIT_CODE:
            return ()
        return tuple(self.failure.text.splitlines())


class RunProblem(Value):
    """Why a run gives no evidence about the code."""

    kind: Literal[
        "no_runner",
        "usage",
        "timeout",
        "crash",
        "no_tests",
        "no_report",
        "wrong_code",
        "stopped",
        "forged",
        "unusable",
    ]
    text: str
    """Explanation and remedy, one or two sentences."""


LinesRun = Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]
"""Lines of functions that were watched, by path, and those of them that did not run."""


class TestReport(Value):
    __test__ = False
    command: str
    results: tuple[TestResult, ...] = ()
    seconds: float = 0.0
    exit_code: int | None = None
    problem: RunProblem | None = None
    output: str = ""
    """The tail of what the command printed."""
    reached: tuple[str, ...] = ()
    """Interference of the tree's code with the instrumentation, such as `calc.py: sys._getframe`."""
    by_exit_code: bool = False
    """The command is not pytest: it counts as one test with the command as its id, and gives no reasons."""

    indirect: bool = False
    """Read from a report that the command wrote: the origin of the loaded code is unknown."""
    whole_only: bool = False
    """No test can be run by itself."""
    selected: int | None = None
    """Number of tests that were selected to run; None if that is unknown."""
    lines: LinesRun | None = None
    """Changed lines of functions, by path, and those of them that did not run; None if unknown."""
    collected: tuple[str, ...] = ()
    """Ids of tests that were only collected; the results are those of tests that had to be run."""
    stored: bool = False
    """True if the report is cached from an earlier run."""

    @property
    def is_cut(self) -> bool:
        """Whether time ended the run."""
        return self.problem is not None and self.problem.kind == "timeout"

    @property
    def is_complete(self) -> bool:
        """Whether all tests have run, also where there are none."""
        return self.problem is None or self.problem.kind == "no_tests"

    def result_for(self, test_id: str) -> TestResult | None:
        """Return the result of a test, or of its file or class where these could not be collected."""
        own = next((result for result in self.results if result.id == test_id), None)
        return own or next(
            (
                result
                for result in self.results
                if result.when == "collect" and result.red and test_id.startswith(f"{result.id}::")
            ),
            None,
        )

    def has_test(self, test_id: str) -> bool:
        """Tell whether a test exists, whether it was run or not."""
        return test_id in self.collected or self.result_for(test_id) is not None

    @property
    def failures(self) -> tuple[TestResult, ...]:
        """Failing tests, in order."""
        return tuple(result for result in self.results if result.red)

    @property
    def project_failures(self) -> tuple[TestResult, ...]:
        """Failing tests, in order, without those that cannot pass in the sandbox."""
        return tuple(result for result in self.failures if result.denied is None)

    @property
    def lacks(self) -> str:
        """Resources that the sandbox keeps from tests, in words; empty if no test fails for that."""
        resources = dict.fromkeys(result.denied for result in self.failures if result.denied)
        return ", ".join(DENIED[resource] for resource in resources)

    @property
    def outcome_counts(self) -> "Counts":
        return Counts(
            passed=sum(result.outcome in ("passed", "xpassed") for result in self.results),
            failed=len(self.project_failures),
            skipped=sum(result.outcome in ("skipped", "xfailed") for result in self.results),
            denied=len(self.failures) - len(self.project_failures),
            partial=bool(self.collected),
        )


class Counts(Value):
    """Numbers of tests by outcome."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    denied: int = 0
    """Tests that cannot pass in the sandbox; they are not counted as failed."""
    partial: bool = False
    """Only the tests were run that a comparison needed."""


class TestRun(Value):
    __test__ = False

    label: str
    """Purpose of the run, such as `suite`."""
    command: str
    tests: tuple[str, ...] = ()
    """The selected tests; empty is the whole suite."""
    counts: Counts
    exit_code: int | None = None
    seconds: float = 0.0
    problem: str = ""
    stored: bool = False
    """True if its report is cached from an earlier run on the same content."""


def rename_keys(data: object, names: Mapping[str, str]) -> object:
    if not isinstance(data, Mapping) or names.keys().isdisjoint(data):
        return data
    return {names.get(key, key): value for key, value in data.items()}


class UntestedPlace(Value):
    """A part of the change that could differ without failing a test."""

    path: str
    line: int
    """In the changed file, from 1."""
    what: str
    """The mutation applied to it, half a sentence."""
    whole_hunk: bool = False
    """The verdict stays the same without the hunk."""


class MutationReport(EventValue):
    """Result of mutation testing a change."""

    survivors: tuple[UntestedPlace, ...] = ()
    """Variants that no test noticed."""
    tried: int = 0
    """Variants that were tested."""
    ended: bool = True
    """False where time ran out."""

    @model_validator(mode="before")
    @classmethod
    def _read_format_1(cls, data: object) -> object:
        return rename_keys(data, {"unguarded": "survivors"})

    @property
    def share(self) -> str:
        """Share of the tried variants that a test notices, such as `3 of 4`."""
        return f"{self.tried - len(self.survivors)} of {self.tried}"


class LineCoverage(Value):
    lines: int
    executed: int
    tests: int = 0
    """Number of the tests that ran; 0 if it is not known."""
    missing: tuple[str, ...] = ()
    """`path:line` or `path:first-last` of lines that no test executes."""


class LintReport(EventValue):
    """Findings of the project's own linters, type checkers and scanners on a change."""

    new: tuple[str, ...] = ()
    """`ruff: path:line: message`, of findings that are new."""
    ran: tuple[str, ...] = ()
    """Names of the tools."""
    missing: tuple[str, ...] = ()
    """Tools that the project configures but that are not installed."""


class ReplacedAssertion(Value):
    test: str
    """Its function's id."""
    old: str = ""
    """On the base, in one line; empty where the change only adds."""
    new: str = ""
    """On the change; empty where it removes."""

    @property
    def line(self) -> str:
        """Old against new in one line."""
        old, new = (f"`{text}`" if text else "nothing" for text in (self.old, self.new))
        return f"{self.test}: {old} is {new} now"


Effect = Literal["note", "open", "cap", "break"]


class Finding(Value):
    """An observation on a change beside the results of its tests."""

    rule: str
    """Name of the rule that made it, such as `contradicted-test`."""
    effect: Effect
    """`open` keeps a FIXED change from PROVEN, a `cap` makes it PASSING, a `break` BROKEN."""
    text: str
    """Half a sentence."""
    path: str = ""
    line: int | None = None


class VerdictKind(StrEnum):
    PROVEN = "PROVEN"
    FIXED = "FIXED"
    PASSING = "PASSING"
    NOT_TESTED = "NOT TESTED"
    NOT_FIXED = "NOT FIXED"
    BROKEN = "BROKEN"
    GAVE_UP = "GAVE UP"
    LIMIT = "LIMIT"

    @classmethod
    def _missing_(cls, value: object) -> "VerdictKind | None":
        """Read the word that records before format 3 have for a change that could not be tested."""
        return cls.NOT_TESTED if value == "INCONCLUSIVE" else None

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self]

    @property
    def shows_fix(self) -> bool:
        """Whether a test went from red to green and nothing broke."""
        return self in (VerdictKind.PROVEN, VerdictKind.FIXED)

    def limit(self, findings: Iterable[Finding]) -> "VerdictKind":
        """Return what findings leave of this kind: PASSING with a cap, FIXED with an open line."""
        effects = {finding.effect for finding in findings} if self.shows_fix else ()
        if "cap" in effects:
            return VerdictKind.PASSING
        return VerdictKind.FIXED if "open" in effects else self

    def is_as_good_as(self, other: "VerdictKind") -> bool:
        """Tell whether the first stage says the same of both: FIXED may become PROVEN when examined."""
        return self is other or (self.shows_fix and other.shows_fix)


EXIT_CODES: Mapping[VerdictKind, int] = {
    VerdictKind.PROVEN: 0,
    VerdictKind.FIXED: 0,
    VerdictKind.PASSING: 3,
    VerdictKind.GAVE_UP: 4,
    VerdictKind.LIMIT: 5,
    VerdictKind.BROKEN: 6,
    VerdictKind.NOT_TESTED: 7,
    VerdictKind.NOT_FIXED: 8,
}
Requirement = Literal["proven", "fixed", "passing", "not-broken"]
"""The least verdict that a user accepts: its exit code is 0, and so is that of a better one."""
_ACCEPTED: Mapping[Requirement, frozenset[VerdictKind]] = {
    "proven": frozenset({VerdictKind.PROVEN}),
    "fixed": frozenset({VerdictKind.PROVEN, VerdictKind.FIXED}),
    "passing": frozenset({VerdictKind.PROVEN, VerdictKind.FIXED, VerdictKind.PASSING}),
    "not-broken": frozenset({*VerdictKind} - {VerdictKind.BROKEN, VerdictKind.GAVE_UP, VerdictKind.LIMIT}),
}


def required_exit_code(kind: VerdictKind, requirement: Requirement) -> int:
    """Return the exit code of a verdict where the user accepts certain kinds; a refused FIXED is 3."""
    if kind in _ACCEPTED[requirement]:
        return 0
    return kind.exit_code or EXIT_CODES[VerdictKind.PASSING]


class BehaviorExample(Value):
    """A call that is answered otherwise than before, or as before although it is near a target's."""

    call: str
    """As it would be written, such as `ordinal(33)`."""
    before: str
    after: str
    """Results as they would be written, or `raises NAME: message`."""
    function: str = ""
    """Path and qualified name, joined by `::`."""
    tested: bool = False
    """True if a test makes exactly this call."""


class BehaviorReport(EventValue):
    """Answers to the calls that tests make, and to variations of them, before and after a change."""

    calls: int
    """Different calls that tests make of changed functions, and directly into the project."""
    compared: int
    """Those that could be repeated on both sides."""
    inputs: int
    """Compared calls, variations included."""
    changed: int
    """Compared calls that are answered otherwise than before, variations included."""
    examples: tuple[BehaviorExample, ...] = ()
    """The most telling differences, and answers as before near the targets; at most five."""


_LISTED_TESTS = re.compile(
    r"(?!The issue's )(?P<text>(?:[^`:]|`[^`]*`|:(?! ))*): (?P<names>.*?)(?P<example>; the issue's .*)?",
    re.DOTALL,
)
"""A reason with names of tests and, perhaps, the issue's example; code in backquotes may hold a colon."""


class Verdict(EventValue):
    """The verdict on one change, and the evidence for it; what earlier versions said beside is ignored."""

    kind: VerdictKind
    reason: str
    """One sentence."""
    notes: tuple[str, ...] = ()
    """Other observations, such as a flaky test that is not blamed; half a sentence each."""
    findings: tuple[Finding, ...] = ()
    """Findings of all rules, notes included."""
    targets: tuple[str, ...] = ()
    """Tests that fail on the base for the right reason and pass on the change."""
    target_kinds: Mapping[str, TargetKind] = Field(default_factory=dict)
    """Their origin, by test id."""
    scope: Literal["whole", "reaching"] = "whole"
    """Tests checked for new failures: the whole suite, or the tests that reach the change."""
    tests_ran: int | None = None
    """Number of tests that reach the change and ran; None where the whole suite did, or no test."""
    tests_reaching: int | None = None
    """Number of tests that reach the change, an estimate where not all of them ran."""
    is_examined: bool = True
    """False before the second stage, which compares behavior and runs mutants and linters."""
    cut_short: bool = False
    """The user had the change delivered before all tests had run."""
    untied: tuple[str, ...] = ()
    """The targets, where only the missing tie to the issue keeps the change from PROVEN."""
    replaced_assertions: tuple[ReplacedAssertion, ...] = ()
    """Assertions that contradict the change and that it replaces, the first few."""
    accepted_test_edits: bool = False
    """The user accepted that the change edits existing tests; without that it would be PASSING at most."""
    broken: tuple[TestResult, ...] = ()
    """Tests that passed on the base and do not pass now."""
    still_red: tuple[TestResult, ...] = ()
    """Target tests that still fail on the change."""
    before: Counts | None = None
    """The suite on the untouched base."""
    after: Counts | None = None
    """The suite on the change."""
    commands: tuple[str, ...] = ()
    runs: tuple[TestRun, ...] = ()
    """In the order in which they were made, the base's own first."""
    hashes: Mapping[str, str] = Field(default_factory=dict)
    """SHA-256 of each target's file, equal on both sides, by path."""
    mutation: MutationReport | None = None
    """Result of mutation testing, where requested."""
    coverage: LineCoverage | None = None
    """Lines of new code that tests execute, where requested."""
    linters: LintReport | None = None
    """New findings of linters and similar tools, where requested."""
    behavior: BehaviorReport | None = None
    """Behavioral differences from the base; None where nothing could be compared."""
    circumstances: tuple[str, ...] = ()
    """The interpreter, the test command and how they were detected, as sentences."""
    seconds: float = 0.0
    stages: Mapping[str, float] = Field(default_factory=dict)
    """Wall-clock seconds by stage: base, targets, impacted, suite, old tests."""
    tree: str = ""
    """The git tree that was verified."""

    @model_validator(mode="before")
    @classmethod
    def _read_format_1(cls, data: object) -> object:
        data = rename_keys(data, {"guarded": "mutation", "checked": "linters"})
        if isinstance(data, Mapping) and data.get("scope") == "impacted":
            data = {**data, "scope": "reaching"}
        if isinstance(data, Mapping) and data.get("kind") == VerdictKind.PASSING and data.get("still_red"):
            return {**data, "kind": VerdictKind.NOT_FIXED}  # as it was labelled before format 3
        return data

    @property
    def is_deliverable(self) -> bool:
        """Whether nothing broke and no test for the issue still fails: fit for delivery."""
        return self.kind.shows_fix or self.kind is VerdictKind.PASSING

    @property
    def is_examinable(self) -> bool:
        """Whether the second stage is still to come."""
        return self.is_deliverable and not (self.is_examined or self.cut_short)

    def with_examination_of(self, other: "Verdict") -> "Verdict":
        """Return the verdict of a first stage with the word and the second stage of another, as good one.

        What this one alone has found counts as well; where it shows no fix, its own word stands.
        """
        fields: tuple[str, ...] = (
            *("kind", "reason", "findings"),
            *("is_examined", "mutation", "coverage", "linters", "behavior"),
        )
        if other.kind.shows_fix and not self.kind.shows_fix:
            fields = fields[3:]
        known = {finding.rule for finding in other.findings}
        own = tuple(finding for finding in self.findings if finding.rule not in known)
        joined = other.model_copy(update={"kind": other.kind.limit(own), "findings": (*other.findings, *own)})
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return self.model_copy(update={**{name: getattr(joined, name) for name in fields}, "notes": notes})

    @property
    def is_good_enough(self) -> bool:
        """True if no better verdict is sought: the change is fixed, or the user had it judged early."""
        return self.kind.shows_fix or (self.cut_short and self.is_deliverable)

    @property
    def has_environment_problem(self) -> bool:
        """Whether the environment alone is to blame, whatever the change is."""
        return (
            bool(self.still_red)
            and not self.broken
            and all(result.cause == "environment" for result in self.still_red)
        )

    def with_effect(self, *effects: Effect) -> tuple[Finding, ...]:
        """Return the findings with one of these effects, in order."""
        return tuple(finding for finding in self.findings if finding.effect in effects)

    @property
    def failures(self) -> tuple[TestResult, ...]:
        """Failed tests: those that the change broke, then those that are still red."""
        return (*self.broken, *self.still_red)

    @property
    def headline(self) -> str:
        """The reason without the names of tests and what caps the verdict: a summary lists these apart."""
        if self.broken or self.still_red:
            if not (listed := _LISTED_TESTS.fullmatch(self.reason)):
                return self.reason
            ending = listed["example"] or "".join(listed["names"].rpartition("; ")[1:])
            return f"{listed['text']}{ending if ending.startswith('; ') else '.'}"
        caps = self.with_effect("cap")
        if caps and (ending := f", but {caps[0].text.rstrip('.')}") in self.reason:
            return f"{self.reason.partition(ending)[0]}."
        return self.reason

    @property
    def label(self) -> str:
        """The kind in a word or two."""
        return self.kind.value


class ReproductionResult(Value):
    """Whether tests reproduce the issue on the base."""

    tests: tuple[str, ...] = ()
    """Ids of tests that fail on the base for the right reason."""
    rejected: tuple[str, ...] = ()
    """`id: why it is no reproduction`, one line each."""
    missing: tuple[str, ...] = ()
    """`id: there is no such test` for those of the rejected that do not exist."""
    results: tuple[TestResult, ...] = ()
    obstacle: str = ""
    """Why no test can run, without the patch either; empty if some can."""


def failure_signature(result: TestResult) -> str:
    """Return a failure's signature, such as `ValueError in clock.py, minutes`.

    It has no line numbers, which every patch moves.
    """
    if result.failure is None:
        return result.outcome
    if own := result.failure.own_frames:
        return f"{result.failure.type} in {own[-1].path}, {own[-1].function}"
    return f"{result.failure.type}: {result.failure.message.partition(chr(10))[0][:120]}"


def group_by_signature(results: Iterable[TestResult]) -> dict[str, tuple[TestResult, ...]]:
    """Group failing results by signature, in order of first appearance."""
    groups: dict[str, list[TestResult]] = {}
    for result in results:
        groups.setdefault(failure_signature(result), []).append(result)
    return {key: tuple(group) for key, group in groups.items()}
