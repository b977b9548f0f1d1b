"""Facts about a change and the verdict that follows from them: where it is decided.

`decide` makes kind, sentence and evidence of a verdict out of `Facts`; what reads sources or reports only
adds `Finding`s to them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from coder.core.text import join_first
from coder.core.verdict import (
    ISSUE_EXAMPLE,
    BehaviorReport,
    Counts,
    Effect,
    Finding,
    LineCoverage,
    LintReport,
    MutationReport,
    ReplacedAssertion,
    TargetKind,
    TestReport,
    TestResult,
    TestRun,
    Verdict,
    VerdictKind,
)
from coder.core.verdict_summary import PLACES_SHOWN
from coder.verify.results import join_test_ids, with_cause
from coder.verify.run import OUT_OF_TIME
from coder.verify.select import SuiteSelection
from coder.workspace.workspace import format_count


@dataclass(frozen=True, kw_only=True)
class Account:
    """Runs, their place and time, in the fields that a verdict has by the same names."""

    tree: str = ""
    before: Counts | None = None
    commands: tuple[str, ...] = ()
    runs: tuple[TestRun, ...] = ()
    cut_short: bool = False
    stages: Mapping[str, float] = field(default_factory=dict)
    circumstances: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Facts:
    """Results of the runs for one change, and what rules have found beside them."""

    before: TestReport
    """The base's results, as far as they are known."""
    obstacle: str = ""
    """Why nothing could be learned about the change: a sentence; empty where something was."""
    targets: tuple[str, ...] = ()
    """Tests that are red on the base for the right reason, and green on the change."""
    example: str = ""
    """Result of the issue's own example, wrong on the base and right on the change."""
    target_seconds: float = 0.0
    broken: tuple[TestResult, ...] = ()
    """Tests that passed on the base and, seen again, do not pass on the change."""
    still_red: tuple[TestResult, ...] = ()
    """Tests that the change is judged by and that are not green on it."""
    after: TestReport | None = None
    """The suite on the change, or the tests that reach it; None where the targets alone decided."""
    reaching: SuiteSelection | None = None
    """The tests that use the changed code, where they stand for the suite."""
    findings: list[Finding] = field(default_factory=list)
    behavior: BehaviorReport | None = None
    linters: LintReport | None = None
    mutation: MutationReport | None = None
    coverage: LineCoverage | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    target_kinds: Mapping[str, TargetKind] = field(default_factory=dict)
    replaced_assertions: tuple[ReplacedAssertion, ...] = ()
    accepted_test_edits: bool = False
    """These are shown as they are, in the verdict's fields of the same names."""
    account: Account = field(default_factory=Account)
    is_examined: bool = False
    """True after the second stage: only then is a change PROVEN."""

    def with_effect(self, effect: Effect) -> list[Finding]:
        """Return the findings of one effect, in order."""
        return [finding for finding in self.findings if finding.effect == effect]

    def note(self, rule: str, *texts: str) -> None:
        """Add notes, half a sentence each."""
        self.findings += findings(rule, texts, effect="note")

    def leave_open(self, rule: str, *texts: str) -> None:
        """Add what is left to look at, which keeps a FIXED change from PROVEN, half a sentence each."""
        self.findings += findings(rule, texts, effect="open")

    def cap(self, rule: str, *texts: str) -> None:
        """Add reasons for which the verdict is PASSING at most, half a sentence each."""
        self.findings += findings(rule, texts)


def findings(rule: str, texts: Iterable[str], *, effect: Effect = "cap") -> list[Finding]:
    return [Finding(rule=rule, effect=effect, text=text) for text in texts]


def decide(facts: Facts) -> Verdict:
    """Return the verdict that follows from the facts, without what only its caller knows."""
    kind, reason = _conclude(facts)
    ran = reaching = None
    if facts.reaching is not None and facts.after is not None:
        ran, reaching = _count_ran(facts.after), count_reaching(facts.after, facts.reaching)
    return Verdict(
        kind=kind,
        reason=reason,
        notes=tuple(dict.fromkeys(finding.text for finding in facts.findings if finding.effect == "note")),
        findings=tuple(dict.fromkeys(facts.findings)),
        targets=facts.targets,
        is_examined=facts.is_examined,
        untied=facts.targets if [cap.rule for cap in facts.with_effect("cap")] == [UNTIED] else (),
        broken=_with_causes(facts, facts.broken),
        still_red=_with_causes(facts, facts.still_red),
        after=facts.after.outcome_counts if facts.after else None,
        scope="whole" if facts.reaching is None else "reaching",
        tests_ran=ran,
        tests_reaching=reaching,
        behavior=facts.behavior,
        linters=facts.linters,
        mutation=facts.mutation,
        coverage=facts.coverage,
        hashes=facts.hashes,
        target_kinds=facts.target_kinds,
        replaced_assertions=facts.replaced_assertions,
        accepted_test_edits=facts.accepted_test_edits,
        **vars(facts.account),
    )


UNSEEN = "unseen"
"""Rule of the finding that nothing has changed but prose and comments."""
UNTIED = "untied-target"
"""Rule of the finding that nothing ties the targets to the issue."""


def _conclude(facts: Facts) -> tuple[VerdictKind, str]:
    if facts.obstacle:
        return VerdictKind.NOT_TESTED, facts.obstacle
    if facts.broken:
        return VerdictKind.BROKEN, _describe_broken(facts)
    if breaks := facts.with_effect("break"):
        return VerdictKind.BROKEN, _sentence("; ".join(finding.text for finding in breaks))
    if facts.still_red:
        return VerdictKind.NOT_FIXED, _describe_still_red(facts)
    caps = facts.with_effect("cap")
    is_done = facts.is_examined and not (facts.after and facts.after.is_cut)
    shown = VerdictKind.PROVEN if is_done else VerdictKind.FIXED
    kind = shown.limit(facts.findings) if facts.targets or facts.example else VerdictKind.PASSING
    but = f", but {'; '.join(cap.text.rstrip('.') for cap in caps)}" if caps else ""
    accepted = ", with test edits accepted by the user" if facts.accepted_test_edits else ""
    return kind, _sentence(f"{_describe_success(facts)}{but or accepted}")


def _describe_broken(facts: Facts) -> str:
    if facts.before.by_exit_code:
        return f"`{facts.before.command}` passed before the change and fails now."
    tests = format_count(len(facts.broken), "test")
    return f"The change breaks {tests} that passed before: {join_test_ids(facts.broken)}."


def _describe_still_red(facts: Facts) -> str:
    if facts.before.by_exit_code:
        return f"`{facts.before.command}` fails on the change as before."
    tests = [red for red in facts.still_red if red.id != ISSUE_EXAMPLE]
    examples = [red.failure.message for red in facts.still_red if red not in tests and red.failure]
    fail = "test still fails" if len(tests) == 1 else "tests still fail"
    parts = [f"{len(tests)} {fail} with the change: {join_test_ids(tests)}"] if tests else []
    return _sentence("; ".join((*parts, *examples)))


def _describe_success(facts: Facts) -> str:
    """Return what went well, as the beginning of a sentence."""
    if facts.before.by_exit_code:
        began = "fails without the change and passes with it" if facts.targets else "passes, as before"
        if facts.before.failures:
            fails = facts.after is not None and bool(facts.after.failures)
            began = "fails, as before" if fails else "failed before and passes now"
        return f"`{facts.before.command}` {began}"
    if unseen := [finding.text for finding in facts.findings if finding.rule == UNSEEN]:
        return unseen[0]
    coverage = facts.coverage
    if coverage and coverage.lines and not coverage.executed and not (facts.targets or facts.example):
        places = join_first(coverage.missing, PLACES_SHOWN)
        return f"no test runs the change ({places}), and nothing that passed before fails now"
    tests = format_count(len(facts.targets), "test")
    green = f"{tests} went from red to green" if facts.targets else facts.example
    if facts.reaching is None or facts.after is None:
        ran = facts.after is None or facts.after.results or facts.after.collected
        none = f"no {'other ' if green else ''}test was found"
        unbroken = "nothing that passed before fails now" if ran else none
        if facts.after is not None and facts.after.is_cut:
            unbroken = f"none of the {_count_ran(facts.after)} tests that ran in the time given fails newly"
        return f"{green}{', and ' if green else ''}{unbroken}"
    return f"{green}{'; ' if green else ''}{describe_scope(facts.after, facts.reaching)}"


def describe_scope(after: TestReport, reaching: SuiteSelection) -> str:
    """Return which of the tests that reach a change have run without a new failure."""
    ran, total = _count_ran(after), count_reaching(after, reaching)
    if not total:
        return "no test is known to reach the change"
    if not after.is_cut and total == 1:
        return "the only test that may use the changed code ran, with no new failure"
    skipped = after.outcome_counts.skipped
    skipping = f" ({skipped:,} of them skipped)" if skipped else ""
    if not after.is_cut:
        return f"all {total:,} tests that may use the changed code ran{skipping}, with no new failure"
    share = f"{ran:,} of about {total:,}" if ran < total else f"{ran:,}"
    began = f"{share} tests that may use the changed code ran{skipping}"
    began += f" in {after.seconds:.0f} s, nearest first"
    why = after.problem.text.rstrip(".") if after.problem and after.problem != OUT_OF_TIME else ""
    return f"{began}, with no new failure{f' ({why})' if why else ''}"


def _count_ran(after: TestReport) -> int:
    return sum(result.when != "collect" for result in after.results)


def count_reaching(after: TestReport, reaching: SuiteSelection) -> int:
    """Return how many tests reach the change: counted where all could run, else at least the estimate."""
    ran = _count_ran(after)
    return max(ran, after.selected or 0, reaching.total_tests) if after.is_cut else ran


def _with_causes(facts: Facts, reds: Sequence[TestResult]) -> tuple[TestResult, ...]:
    return tuple(with_cause(result, before=facts.before.result_for(result.id)) for result in reds)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
