"""Report of a session without a fix, made from its records, for a colleague to start from."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from coder.core import events
from coder.core.errors import UserError
from coder.core.notes import (
    Component,
    Diagnosis,
    Done,
    Findings,
    GiveUp,
    Offers,
    Reproduction,
    ResearchResult,
    Sites,
)
from coder.core.paths import is_test_path, test_file_of
from coder.core.state import active_candidates, component_plan
from coder.core.text import first_line
from coder.core.verdict import Verdict, VerdictKind
from coder.core.verdict_summary import describe_failing
from coder.patching.git_hunks import split_git_diff

SHOWN_PLACES = 4
"""Places without a test that the report of a build names."""
MAX_PATCH_LINES = 60
"""Most lines of a patch that the report shows; a longer patch is only stored."""


def session_report(records: Sequence[events.Record]) -> str:
    """Return a Markdown report of the session; empty if there was neither a note nor a verdict.

    It has attempts, failures, suspected places and the best attempt.
    """
    if not any(isinstance(record.event, events.NoteMade | events.Verified) for record in records):
        return ""
    if findings := _findings_section(records):
        return findings
    parts = [
        components_section(records),
        _attempts_section(records),
        _suspects_section(records),
        _best_patch_section(records),
        _summary_section(records),
    ]
    return "\n\n".join(part for part in parts if part)


def _findings_section(records: Sequence[events.Record]) -> str:
    """List what the researchers of a question have found, where no report came of it."""
    notes = [made.note for made in events.events_of(records, events.NoteMade)]
    lines = [f"- {claim.line}" for note in notes if isinstance(note, ResearchResult) for claim in note.claims]
    title = "## Found so far (not put together; coder ask --deep --continue goes on with it)"
    return "\n".join([title, *lines]) if lines else ""


def components_section(records: Sequence[events.Record]) -> str:
    """Return which components of a build work, by the newest verdict; empty if none were planned."""
    plan = component_plan(records)
    if plan is None:
        return ""
    verdicts = [event.verdict for event in events.events_of(records, events.Verified)]
    collecting = active_candidates(records)[:1]
    changed = [
        event.paths
        for event in events.events_of(records, events.FilesChanged)
        if event.candidate in collecting
    ]
    present = frozenset(changed[-1]) if changed else frozenset()
    lines = [
        f"- {component.name} ({component.path}): {_component_state(component, present, verdicts[-1:])}"
        for component in plan.components
    ]
    evidence = [] if not verdicts else _evidence_lines(verdicts[-1])
    return "\n".join(["## Components", *lines, *evidence])


def _evidence_lines(verdict: Verdict) -> list[str]:
    """Describe how closely the tests of a build watch it, and what nothing has shown."""
    lines = []
    if coverage := verdict.coverage:
        missing = f"; not {', '.join(coverage.missing[:SHOWN_PLACES])}" if coverage.missing else ""
        rest = len(coverage.missing) - SHOWN_PLACES
        more = f" and {rest} more places" if rest > 0 else ""
        lines.append(f"Tests execute {coverage.executed} of {coverage.lines} lines{missing}{more}.")
    if guarded := verdict.mutation:
        ended = "" if guarded.ended else ", as far as time went"
        lines.append(f"Tests caught {guarded.share} deliberate defects{ended}.")
    if verdict.is_deliverable:
        lines.append("Its tests were written with it: look whether they ask for what you wanted.")
    return ["", *lines] if lines else []


def _component_state(component: Component, present: Collection[str], newest: Sequence[Verdict]) -> str:
    if any(path not in present for path in component.tests):
        return "not written"
    if not newest or newest[0].kind is VerdictKind.NOT_TESTED:
        return "not tested"
    reds = [result for result in newest[0].failures if test_file_of(result.id) in component.tests]
    return f"its tests fail: {describe_failing(reds[:1])}" if reds else "its tests pass"


def _attempts_section(records: Sequence[events.Record]) -> str:
    lines: list[str] = []
    for attempt in attempted_changes(records):
        if attempt.verdict.is_examinable:
            continue
        idea = first_line(attempt.idea)[:200] or "A change"
        lines.append(f"{attempt.number}. {idea} ({', '.join(attempt.paths)}): {attempt.verdict.reason}")
        lines += [f"   - {describe_failing([result])}" for result in attempt.verdict.failures[:3]]
    dropped = events.events_of(records, events.CandidateDropped)
    lines += [f"- {event.candidate} went no further: {first_line(event.reason)[:200]}" for event in dropped]
    return "\n".join(["## What was tried", *lines]) if lines else ""


def _suspects_section(records: Sequence[events.Record]) -> str:
    """List places that the newest notes name, then functions in the most tracebacks, innermost first."""
    notes = reversed(events.events_of(records, events.NoteMade))
    named_places = [place for made in notes for place in getattr(made.note, "places", ())]
    frames = Counter(
        f"{frame.path}:{frame.line}{f' (in {frame.function})' if frame.function else ''}"
        for event in reversed(events.events_of(records, events.Verified))
        for result in event.verdict.failures
        if result.failure
        for frame in reversed(result.failure.own_frames)
        if not is_test_path(frame.path)
    )
    places = list(dict.fromkeys([*named_places, *(place for place, _ in frames.most_common())]))[:6]
    return "## Where to look\n" + "\n".join(f"- {place}" for place in places) if places else ""


class AttemptedChange(NamedTuple):
    """A change as it was verified."""

    number: int
    """Its place among all verifications of the session, from 1, as the report lists them."""
    diff: str
    verdict: Verdict
    paths: tuple[str, ...] = ()
    idea: str = ""
    """What was to be changed, from the newest note."""

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Order by verdict, broken tests, failing targets and age: greater is better."""
        verdict = self.verdict
        kind = 2 if verdict.is_deliverable else int(verdict.kind is VerdictKind.NOT_FIXED)
        return kind, -len(verdict.broken), -len(verdict.still_red), self.number


def attempted_changes(records: Sequence[events.Record]) -> tuple[AttemptedChange, ...]:
    """Return all changes of a session that were verified, the oldest first."""
    ideas: dict[str, str] = {}
    changes: dict[str, events.FilesChanged] = {}
    attempts: list[AttemptedChange] = []
    for record in records:
        match record.event:
            case events.NoteMade(candidate=name, note=Done(summary=text)):
                ideas[name] = ideas.get(name) or text
            case events.NoteMade(candidate=name, note=Sites(summary=text) | Diagnosis(summary=text)):
                ideas[name] = text
            case events.FilesChanged(candidate=name) as change:
                changes[name] = change
            case events.Verified(candidate=name, verdict=verdict):
                former = attempts[-1] if attempts else None
                if former and former.verdict.is_examinable and verdict.tree == former.verdict.tree:
                    attempts[-1] = former._replace(verdict=verdict)  # this is its second verdict
                    continue
                diff, paths = (changes[name].diff, changes[name].paths) if name in changes else ("", ())
                idea = ideas.pop(name, "")
                attempts.append(AttemptedChange(len(attempts) + 1, diff, verdict, paths, idea))
    return tuple(attempts)


def find_attempt(records: Sequence[events.Record], number: int) -> AttemptedChange:
    """Return the change of a session's verification by its number.

    Raises:
        UserError: there were not so many.
    """
    attempts = attempted_changes(records)
    if number > len(attempts):
        count = f"{len(attempts)} change{'' if len(attempts) == 1 else 's'}"
        raise UserError(f"The session verified {count}; there is no attempt {number}.")
    if not attempts[number - 1].diff:
        raise UserError(f"Attempt {number} changed nothing.")
    return attempts[number - 1]


def find_offer(records: Sequence[events.Record], number: int) -> str:
    """Return the diff of an edit that a session offered, by its number.

    Raises:
        UserError: it offered none, or not so many.
    """
    notes = (made.note for made in reversed(events.events_of(records, events.NoteMade)))
    diffs = next((note.diffs for note in notes if isinstance(note, Offers)), ())
    if not diffs:
        raise UserError("The session offered no edits to choose from.")
    if number > len(diffs):
        raise UserError(f"The session offered {len(diffs)} edits; there is no candidate {number}.")
    return diffs[number - 1]


def best_attempt(records: Sequence[events.Record]) -> AttemptedChange | None:
    """Return the change of a session with the best verdict, the newest of equals; None without any."""
    attempts = (
        attempt
        for attempt in attempted_changes(records)
        if attempt.diff and attempt.verdict.kind is not VerdictKind.NOT_TESTED
    )
    return max(attempts, key=lambda attempt: attempt.rank, default=None)


class KeptChange(NamedTuple):
    """A change that a session leaves behind though it ends without delivering one."""

    candidate: str
    diff: str
    verdict: Verdict | None = None
    """None if it was not judged."""
    text: str = ""
    """What it is, as a phrase."""
    subject: str = ""

    @property
    def is_edit(self) -> bool:
        return any(not is_test_path(hunk.path) for hunk in split_git_diff(self.diff))


def find_kept_change(records: Sequence[events.Record], *, includes_passing: bool) -> KeptChange | None:
    """Return the newest change that was FIXED; with `includes_passing` the newest one that is not red.

    An edit without a verdict has passed the search, and what is no edit is a failing test for the issue.
    """
    changes: list[KeptChange] = []
    edit, tests = "", tuple[str, ...]()
    for record in records:
        match record.event:
            case events.NoteMade(note=Reproduction(tests=tests)):
                pass
            case events.NoteMade(note=Done(summary=edit)):
                pass
            case events.FilesChanged(candidate=candidate, diff=diff):
                changes.append(KeptChange(candidate, diff))
            case events.Verified(candidate=candidate, verdict=verdict):
                own = next((change for change in reversed(changes) if change.candidate == candidate), None)
                changes += [own._replace(verdict=verdict)] if own else []
    newest = changes[-1] if changes and includes_passing else None
    if newest is None or (newest.verdict and newest.verdict.is_deliverable):
        by_tree = {change.verdict.tree: change for change in changes if change.verdict}
        fixed = [change for change in by_tree.values() if change.verdict and change.verdict.kind.shows_fix]
        return newest or (fixed[-1] if fixed else None)
    if newest.verdict or not newest.diff:
        return None
    if newest.is_edit:
        text = f"an edit that passes the failing tests in the search and was not judged: {edit}"
        return newest._replace(text=text, subject=edit) if edit else None
    written = [test for test in tests if f"def {test.rpartition('::')[2]}(" in newest.diff]
    if not written:
        return None
    subject = f"Add a failing test: {written[-1].rpartition('::')[2]}"
    return newest._replace(text=f"a failing test for the issue: {', '.join(written)}", subject=subject)


def _best_patch_section(records: Sequence[events.Record]) -> str:
    best = best_attempt(records)
    if best is None:
        return ""
    started = events.newest_event(records, events.SessionStarted)
    option = f"{started.session if started else 'last'} --attempt {best.number}"
    lines = [f"## The best attempt: {best.number}, {best.verdict.label}, not applied"]
    if best.verdict.is_deliverable:
        lines.append("It breaks no test that passed before, and no test shows that it solves the issue.")
    lines += [f"Look at it: coder log diff {option}", f"Apply it: coder apply {option}"]
    if best.diff.count("\n") <= MAX_PATCH_LINES:
        lines.append(f"```diff\n{best.diff.rstrip()}\n```")
    return "\n".join(lines)


def _summary_section(records: Sequence[events.Record]) -> str:
    notes = (made.note for made in reversed(events.events_of(records, events.NoteMade)))
    summary = next((note.summary for note in notes if isinstance(note, GiveUp)), "")
    # A summary of one line already appears as the session's summary right below the report.
    return f"## In short\n{summary}" if "\n" in summary.strip() else ""


def summarize_reviews(opinions: Mapping[str, Findings]) -> tuple[str, ...]:
    """Return what reviewers said of a delivered change, for its evidence: half a sentence each."""
    lines = []
    for reviewer, opinion in opinions.items():
        lines.append(
            f"{'approved' if opinion.approve else 'not approved'} by the model's review of {reviewer}: "
            f"{first_line(opinion.summary)[:200]}"
        )
        lines += [
            f"{finding.severity}, {finding.place}: {first_line(finding.text)[:200]}"
            for finding in opinion.findings
        ]
    return tuple(lines)
