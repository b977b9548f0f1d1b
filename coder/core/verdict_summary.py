"""A verdict in a few lines, for terminals, hooks and programs; calls and values, shortened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coder.core.paths import test_file_of, test_function_of
from coder.core.text import join_first, sanitize_text
from coder.core.verdict import (
    DENIED,
    ISSUE_EXAMPLE,
    BehaviorExample,
    BehaviorReport,
    Cause,
    Counts,
    DeniedResource,
    MutationReport,
    TargetKind,
    TestResult,
    TestRun,
    Verdict,
    VerdictKind,
    group_by_signature,
)

SHOWN_TESTS = 3
MOST_EXAMPLE_LINES = 8
"""Lines of examples, of which the first two are always shown."""
SHOWN_OPEN = 4
PLACES_SHOWN = 4
MOST_CHARACTERS = 70
"""Length of a shown call or value, unless stated."""
LINE_CHARACTERS = 90
"""Characters of a row beside its name on a screen of 100 columns."""
MESSAGE_CHARACTERS = 120


class Row(NamedTuple):
    name: str
    text: str

    @property
    def line(self) -> str:
        """The row with its name in a column of its own."""
        return f"{self.name:<9}{self.text}".rstrip()


def summary_text(verdict: Verdict, *, session: str = "") -> str:
    """Return lines: verdict, tests that changed, behavior, what is open, runs, place of the evidence."""
    rows = (Row(verdict.label, f" {verdict.headline}"), *evidence_rows(verdict, session=session))
    return "\n".join(row.line for row in rows)


def evidence_rows(
    verdict: Verdict, *, session: str = "", has_seconds: bool = True, change: str = ""
) -> Iterator[Row]:
    """Yield the rows below the verdict itself; those that would say nothing are absent.

    They tell how long it took, unless another line does, without `has_seconds`. `change` is what
    `coder verify` is given to judge the change again: nothing for uncommitted work.
    """
    if verdict.broken:
        yield Row("broken", f"passed before, fails now: {describe_failing(verdict.broken)}")
    elif verdict.still_red:
        tests = [red for red in verdict.still_red if red.id != ISSUE_EXAMPLE]
        examples = [red.failure.message for red in verdict.still_red if red not in tests and red.failure]
        lines = [f"still failing: {describe_failing(tests)}"] if tests else []
        for number, line in enumerate((*lines, *examples)):
            yield Row("" if number else "red", line)
        yield from (Row("", found.text) for found in verdict.findings if found.rule == "edited-red")
    elif verdict.targets:
        kinds = f" ({kinds})" if (kinds := describe_proof(verdict)) else ""
        yield Row("fixed", f"red before, green now: {condense_tests(verdict.targets)}{kinds}")
    yield from _measured_rows(verdict)
    failing = [found.text for found in verdict.findings if found.rule in ("flaky", "old-failure")]
    yield from (Row("failing", line) for line in failing)
    open_lines = describe_open(verdict, change=change)
    shown = open_lines if len(open_lines) <= SHOWN_OPEN + 1 or not session else open_lines[:SHOWN_OPEN]
    for line in shown:
        yield Row("open", line)
    if len(shown) < len(open_lines):
        yield Row("", f"and {len(open_lines) - len(shown)} more: coder log evidence {session}")
    if verdict.after or verdict.runs:
        yield Row("tests", _describe_runs(verdict, has_seconds=has_seconds))
    if session:
        yield Row("evidence", f"coder log evidence {session}")


_KINDS: dict[TargetKind, tuple[str, str]] = {
    "edited": ("existing test edited by the change", "existing tests edited by the change"),
    "new": ("new test written with the change", "new tests written with the change"),
}


def describe_proof(verdict: Verdict) -> str:
    """Return how many tests that went from red to green the change edits or adds; empty if none."""
    functions = {(test_function_of(test), kind) for test, kind in verdict.target_kinds.items()}
    counts = Counter(kind for _, kind in functions)
    kinds = [f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in _KINDS.items() if counts[kind]]
    return "; ".join(kinds)


def _measured_rows(verdict: Verdict) -> Iterator[Row]:
    """Yield what calls answer now, and the changed lines that no test runs."""
    coverage = verdict.coverage
    is_unrun = coverage and coverage.lines and not coverage.executed and not verdict.targets
    if verdict.behavior and (verdict.behavior.changed or not is_unrun):
        is_seen = verdict.targets or any(found.rule == "contradicted-test" for found in verdict.findings)
        lines = describe_changes(verdict.behavior, has_targets=bool(is_seen))
        for number, line in enumerate(lines):
            yield Row("" if number else "behavior", line)
    if coverage and coverage.missing and not is_unrun:
        yield Row("untested", f"no test that ran runs {join_first(coverage.missing, PLACES_SHOWN)}")


def describe_open(verdict: Verdict, *, change: str = "", offered: Collection[str] = ()) -> tuple[str, ...]:
    """Return a line for each thing that keeps a change which broke nothing from PROVEN, with what settles it.

    The command that settles it stands at the end of the line, with the `change` that it is to judge, in words
    of a shell; none for the rules that are `offered`, which a question asks about.
    """
    of = f" {change}" if change else ""
    if verdict.kind is VerdictKind.NOT_TESTED:
        return ("no test ran; to see how they start here: coder doctor --tests",)
    if verdict.kind not in (VerdictKind.FIXED, VerdictKind.PASSING):
        return ()
    lines = []
    if left := (verdict.tests_reaching or 0) - (verdict.tests_ran or 0):
        lines.append(
            f"about {left:,} test{'s' * (left > 1)} that may use the changed code did not run: "
            f"coder verify{of} --wait"
        )
    for finding in verdict.with_effect("cap", "open"):
        remedy = "" if finding.rule in offered else REMEDIES.get(finding.rule, "").format(of=of)
        lines.append(f"{finding.text.rstrip('.')}{f': {remedy}' if remedy else ''}")
    return tuple(dict.fromkeys(lines))


def markdown_report(verdict: Verdict, *, change: str = "") -> str:
    """Return summary and details in Markdown; the lines of each part are shown as they are.

    Commands that judge again name the `change`.
    """
    rows = [row.line for row in evidence_rows(verdict, change=change)]
    lines = [f"# {verdict.label}", "", verdict.reason]
    for title, part in (("", rows), *_sections(verdict)):
        if part:
            heading = ("", f"## {title[0].upper()}{title[1:]}") if title else ()
            lines += [*heading, "", *(f"    {line}" for line in part)]
    return "\n".join([*lines, ""])


def _sections(verdict: Verdict) -> Iterator[tuple[str, Sequence[str]]]:
    failing = [*verdict.broken, *verdict.still_red]
    yield "failing tests", [describe_failing([result]) for result in failing]
    yield "tests that were red before and are green now", verdict.targets
    yield "replaced assertions", [replaced.line for replaced in verdict.replaced_assertions]
    yield "notes", verdict.notes
    rows = [
        (
            run.label,
            f"{len(run.tests)} selected" if run.tests else "all",
            format_result(run),
            f"{run.seconds:.1f} s",
        )
        for run in verdict.runs
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    yield "test runs", ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    if behavior := verdict.behavior:
        counts = [f"{behavior.compared} of {behavior.calls} calls of the tests compared"]
        if behavior.inputs:
            varied = f"{behavior.changed} of {behavior.inputs} inputs (variations included)"
            counts = [f"{counts[0]}; {varied} are answered otherwise"]
        yield "behavior", [*counts, *map(describe_example, behavior.examples)]
    if verdict.mutation:
        survivors = [f"{place.path}:{place.line}: {place.what}" for place in verdict.mutation.survivors]
        yield "deliberate defects that the tests which turned green do not notice", survivors
    if verdict.coverage:
        counted = f"tests execute {verdict.coverage.executed} of {verdict.coverage.lines} changed lines"
        yield "coverage", [counted, *(f"{place}: executed by no test" for place in verdict.coverage.missing)]
    if verdict.linters and verdict.linters.ran:
        found = f"{', '.join(verdict.linters.ran)}: {len(verdict.linters.new) or 'nothing'} new"
        lacking = f"configured and not installed: {', '.join(verdict.linters.missing)}"
        yield "linters", [found, *verdict.linters.new, *([lacking] if verdict.linters.missing else [])]
    yield "circumstances", verdict.circumstances
    yield (
        "hashes",
        [*(f"{path}: {digest}" for path, digest in verdict.hashes.items()), f"tree {verdict.tree}"],
    )


MOST_TRAILERS = 5
"""Number of target tests named in trailers; the report names all."""


def commit_trailers(verdict: Verdict) -> tuple[str, ...]:
    """Return `Key: value` lines for the end of the commit message."""
    lines = [f"Coder-Verdict: {verdict.kind}"]
    lines += [f"Coder-Test: {target}" for target in verdict.targets[:MOST_TRAILERS]]
    if len(verdict.targets) > MOST_TRAILERS:
        lines.append(f"Coder-Test: and {len(verdict.targets) - MOST_TRAILERS} more")
    if verdict.accepted_test_edits:
        lines.append("Coder-Test-Edits: accepted by the user")
    if verdict.before is not None and verdict.after is not None:
        before, after = (
            f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"
            for counts in (verdict.before, verdict.after)
        )
        lines.append(f"Coder-Suite: {after}{'' if verdict.before.partial else f'; before: {before}'}")
    return tuple(line.replace("\n", " ") for line in lines)


REMEDIES: Mapping[str, str] = {
    "undecided-edits": "add a test that decides, or take another one: coder apply last --candidate 2",
    "search-cut": "search longer (--max-seconds 180), or add a test that decides",
    "no-target": "a refactoring needs none; for a fix, add a test that fails without it",
    "wording": "if code was to change, it has not",
    "uncollected": "rename it, or name one of its tests: coder verify{of} --test FILE::TEST",
    "skipped-test": "run it where it is not skipped: coder verify{of}",
    "untied-target": "use a value of the issue in it, or confirm it: coder verify{of} --test ID",
    "contradicted-test": "restore what still holds, else accept: coder verify{of} --accept-test-edits",
    "part": "coder verify{of} --wait",
    "interrupted": "to have all of it: coder verify{of}",
    "unexamined": "again, when the machine is less busy: coder verify{of}",
    "removed-test": "restore what was not meant to go",
    "helpers": "commit that file by itself if it is right, else restore it; then: coder verify",
    "issue-example": "write that example as a test, then: coder verify",
    "persisting-error": "mend what the issue shows, then: coder verify",
    "exit-code": "name a command that reports each test: coder verify{of} --test COMMAND",
    "harness-access": "take that out of the change, then: coder verify",
    "runner-files": "deliver it separately: commit it by itself, or restore it; then: coder verify",
    "linter": 'fix what the linters report, or set checks = "show"',
    "left-out": "finish what was left out, then: coder verify",
    "behavior-same": "look whether the tests see the change: coder log evidence",
    "behavior-context": "let results depend on the call alone, then: coder verify",
    "behavior-unsteady": "let equal calls give equal results, then: coder verify",
    "behavior-replaced": "leave the standard library as it is, then: coder verify",
    "behavior-narrow": "test further inputs that the change is about, then: coder verify",
    "behavior-other": "assert the right result in a test, then: coder verify",
}
"""Remedies for findings that cap a verdict or leave it open, by rule; `of` is the change that was judged."""


def condense_tests(tests: Sequence[str]) -> str:
    """Return test ids with the cases of a parametrized test counted: `t.py::test_a (4 cases)`."""
    cases: dict[str, int] = {}
    for test in tests:
        name = test_function_of(test) if test.endswith("]") else test
        cases[name] = cases.get(name, 0) + 1
    exact = {test_function_of(test): test for test in tests if test.endswith("]")}
    names = [
        f"{name} ({count} cases)" if count > 1 else exact.get(name, name) for name, count in cases.items()
    ]
    rest = f" and {len(names) - SHOWN_TESTS} more" if len(names) > SHOWN_TESTS else ""
    return ", ".join(_without_repeated_file(names[:SHOWN_TESTS])) + rest


def _without_repeated_file(names: Iterable[str]) -> Iterator[str]:
    """Yield test ids without the file that the one before is in, too."""
    file = None
    for name in names:
        own = test_file_of(name)
        yield name.removeprefix(f"{own}::") if own == file else name
        file = own


def describe_failing(results: Sequence[TestResult]) -> str:
    """Return the failing tests, with the failure of the first one."""
    names = condense_tests([result.id for result in results])
    failure = results[0].failure
    if results[0].outcome in ("skipped", "xfailed"):
        return f"{names}: {'skipped' if results[0].outcome == 'skipped' else 'marked to fail'} now"
    return f"{names}: {failure.headline[:MESSAGE_CHARACTERS]}" if failure else names


def _describe_runs(verdict: Verdict, *, has_seconds: bool) -> str:
    """Return the counts on both sides, what noticed deliberate defects, the command and the time."""
    parts = []
    if verdict.after:
        ran = format_counts(verdict.after)
        is_known = verdict.before and not verdict.before.partial and verdict.before != verdict.after
        before = f" (before: {format_counts(verdict.before)})" if verdict.before and is_known else ""
        parts.append(f"{ran}{before}")
    elif verdict.runs:
        parts.append(f"{verdict.runs[-1].label}: {format_counts(verdict.runs[-1].counts)}")
    program, gap, rest = verdict.runs[-1].command.partition(" ") if verdict.runs else ("", "", "")
    command = f" with {program.rpartition('/')[2]}{gap}{rest}" if program else ""
    parts[-1] += f"{f' in {verdict.seconds:.0f} s' if has_seconds else ''}{command}"
    if caught := describe_mutation(verdict.mutation):
        parts.append(caught)
    return "; ".join(parts)


def describe_mutation(mutation: MutationReport | None) -> str:
    """Return how many deliberate defects in the change the tests catch; empty if none was tried."""
    if mutation is None or not mutation.tried:
        return ""
    end = "" if mutation.ended else " in the time left"
    return f"those that turned green caught {mutation.share} deliberate defects{end}"


def describe_changes(behavior: BehaviorReport, *, has_targets: bool) -> tuple[str, ...]:
    """Return the most telling calls with their results before and now, and how many differ, in lines.

    Nothing where tests went green and no call differs: what these tests see was not compared.
    """
    if not behavior.inputs:
        compared = f"{behavior.compared} of {behavior.calls} calls of the tests"
        return (f"not compared: {compared} can be made outside of them",)
    if not behavior.changed:
        calls = "the one call that was tried" if behavior.inputs == 1 else f"{behavior.inputs} tried calls"
        return () if has_targets else (f"same results as before in {calls}",)
    lines: list[str] = []
    for number, shown in enumerate(lines_of_examples(behavior)):
        if number < 2 or len(lines) + len(shown) <= MOST_EXAMPLE_LINES:
            lines += shown
    return (*lines, f"{behavior.changed} of {behavior.inputs} tried calls now answer differently")


def lines_of_examples(behavior: BehaviorReport) -> Iterator[tuple[str, ...]]:
    """Yield each call with its results, shortened around what tells it from the first or the second one."""
    calls = [example.call for example in behavior.examples]
    for example, other in zip(behavior.examples, [*calls[1:2], *calls[:1] * len(calls)], strict=False):
        yield _lines_of_example(example, other)


def _lines_of_example(example: BehaviorExample, other: str) -> tuple[str, ...]:
    """Return a call with its results in one line if it fits, else with a line for each result."""
    line = describe_example(example, other=other)
    if len(line) <= LINE_CHARACTERS:
        return (line,)
    limit = LINE_CHARACTERS - 25
    before, after = shorten_results(example.before, example.after, limit=limit)
    remark = "" if example.tested else "  not tested"
    call = shorten_value(example.call, other=other, limit=LINE_CHARACTERS)
    if example.before == example.after:
        return (call, f"  as before  {shorten_value(after, limit=limit)}")
    return (call, f"  before  {before}", f"  now     {after}{remark}")


def describe_example(example: BehaviorExample, *, other: str = "", limit: int = MOST_CHARACTERS) -> str:
    """Return a call with what it gave and gives, each shortened around the difference to an `other` call."""
    call = shorten_value(example.call, other=other, limit=limit)
    if example.before == example.after:
        return f"{call}  {shorten_value(example.after, limit=limit)}  as before"
    before, after = shorten_results(example.before, example.after, limit=limit)
    return f"{call}  {before} → {after}{'' if example.tested else '  not tested'}"


def format_result(run: TestRun) -> str:
    """Format what is known of a run: its counts and its problem, or its exit code alone."""
    is_counted = any((run.counts.passed, run.counts.failed, run.counts.skipped, run.counts.denied))
    if run.counts.partial and not is_counted and not run.problem and run.exit_code is not None:
        return f"exit code {run.exit_code}"
    parts = [format_counts(run.counts)] if is_counted or not run.problem else []
    return "; ".join([*parts, *([run.problem] if run.problem else [])])


def format_counts(counts: Counts, denied: Sequence[DeniedResource] = ()) -> str:
    """Format counts without zeros: `12 passed, 1 failed, 3 cannot run in the sandbox (no network)`.

    `denied` are the resources that the last of them lack.
    """
    lacks = f" ({', '.join(DENIED[resource] for resource in denied)})" if denied else ""
    names = {
        "passed": "passed",
        "failed": "failed",
        "skipped": "skipped",
        "denied": f"cannot run in the sandbox{lacks}",
    }
    numbers = counts.model_dump()
    return (
        ", ".join(f"{numbers[field]} {name}" for field, name in names.items() if numbers[field]) or "no tests"
    )


LONGEST_SUMMARY = 4000
DISTINCT_FAILURES = 3
"""This many different failures are shown; the rest is counted."""
NAMED_ALIKE = 5
CAUSES: Mapping[Cause, str] = {
    "logic": "",
    "test error": ": the test, not the code, raises",
    "collection": ": its file cannot be imported",
    "environment": ": this machine lacks something",
    "time-out": ": it does not end",
}
"""Suffixes that state the likely cause of a failure."""


def summarize_failures(verdict: Verdict) -> str:
    """Return the reason and each different failure once, for a model: at most `LONGEST_SUMMARY` characters.

    A failure is shown with its assertion and values, the innermost frames with source, and captured output.
    """
    parts = [f"{verdict.label}: {verdict.reason}", *(f"Noted: {note}." for note in verdict.notes[:5])]
    sections = {"Broken by the change": verdict.broken, "Not green yet": verdict.still_red}
    parts += explain_failures(sections, room=LONGEST_SUMMARY - sum(map(len, parts)) - 400)
    return "\n\n".join(parts)[:LONGEST_SUMMARY]


def explain_failures(sections: Mapping[str, Sequence[TestResult]], *, room: int) -> list[str]:
    """Return each different failure once, below the titles of `sections`, in about `room` characters.

    The first few are shown, the rest is counted.
    """
    groups = [
        (title, group)
        for title, results in sections.items()
        for group in group_by_signature(results).values()
    ]
    shown_groups = groups[:DISTINCT_FAILURES]
    parts = [_describe_group(title, group, room // len(shown_groups)) for title, group in shown_groups]
    if hidden := sum(len(group) for _, group in groups[DISTINCT_FAILURES:]):
        parts.append(f"... and {hidden} more that fail in {len(groups) - DISTINCT_FAILURES} other ways.")
    return parts


def _describe_group(title: str, group: Sequence[TestResult], room: int) -> str:
    first = group[0]
    where = "" if first.when == "call" else f" while pytest runs its {first.when}"
    lines = [f"{title}: {first.id} fails{where}{CAUSES[first.cause] if first.cause else ''}"]
    if first.failure is not None:
        text = sanitize_text(first.failure.text or first.failure.headline)
        lines.append(_cut_middle(text, max(room - 200, 200)))
    if others := [result.id for result in group[1:]]:
        lines.append(_cut_middle(f"The same happens in {join_first(others, NAMED_ALIKE)}.", 400))
    return "\n".join(lines)


def _cut_middle(text: str, limit: int) -> str:
    """Return the start of a text, where the assertion is, and its end, where captured output ends."""
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return f"{text[:head]}\n[...]\n{text[len(text) - (limit - head) :]}"


ELLIPSIS = "…"
ARGUMENTS = "; arguments now "
"""In a result: what follows is the call as its object and its arguments are afterwards."""
STATE = "; state "
"""In a result: what follows is what no representation shows, of the result or of the object and arguments."""
DEEPEST = 20
"""Nested brackets that are told apart."""
_TOKENS = re.compile(
    r"""(?P<string>[bru]{0,2}(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))|(?P<open>[(\[{])|(?P<close>[)\]}])"""
    r"""|(?P<comma>,\s*)|(?P<text>.)""",
    re.DOTALL,
)
_CUT = re.compile(r"\.\.\.(\(\d+\))?#[0-9a-f]{8}")
"""Mark of a text that was cut when it was recorded, with a digest of the whole."""


@dataclass(eq=False)
class _Group:
    """Bracketed elements, each a sequence of text and groups."""

    left: str
    elements: list[list[_Part]] = field(default_factory=lambda: [[]])
    right: str = ""

    def __str__(self) -> str:
        return f"{self.left}{', '.join(map(_join, self.elements))}{self.right}"


_Part = str | _Group


def shorten_value(text: str, *, other: str = "", limit: int = MOST_CHARACTERS) -> str:
    """Return the source text of a value or call in about `limit` characters, as one line.

    Elements are left out as wholes. Those in which it differs from the `other` text are kept longest; text
    without elements, such as a string, is cut around the first difference.
    """
    text, other = (" ".join(_CUT.sub(ELLIPSIS, value).split("\n")) for value in (text, other))
    return text if len(text) <= limit else _shorten(_parse(text), _parse(other), limit)


def shorten_results(before: str, after: str, *, limit: int = MOST_CHARACTERS) -> tuple[str, str]:
    """Return two results of one call, each shortened around the difference.

    Where they differ in what the call did to its object or arguments alone, only this is returned, and where
    they differ in what it gave, this alone if all is too long.
    """
    (shown, *hidden), (other, *other_hidden) = (text.split(STATE) for text in (before, after))
    if shown == other and hidden != other_hidden:
        states = tuple(
            next((state for state in side if state not in opposite), "")
            for side, opposite in ((hidden, other_hidden), (other_hidden, hidden))
        )
        return _describe_states(*states, limit=limit)
    (old, _, old_state), (new, _, new_state) = (text.partition(ARGUMENTS) for text in (shown, other))
    if old == new and old_state != new_state:
        return _describe_states(old_state, new_state, limit=limit)
    if old == new or (old_state != new_state and max(len(shown), len(other)) <= limit):
        old, new = shown, other
    return shorten_value(old, other=new, limit=limit), shorten_value(new, other=old, limit=limit)


def _describe_states(before: str, after: str, *, limit: int) -> tuple[str, str]:
    """Return what a call leaves on both sides: calls as their object and arguments are then, or objects."""
    states = [_parse(state) for state in (before, after)]
    methods = {_join(parts[2:]) for parts in states if parts}
    texts = [_join(parts[:2] if len(methods) == 1 else parts) for parts in states]
    first, second = (
        f"leaves {shorten_value(text, other=other, limit=limit)}" if text else "leaves all as it was"
        for text, other in (texts, texts[::-1])
    )
    return first, second


def _parse(text: str) -> list[_Part]:
    """Split a text at brackets and commas; unbalanced brackets end with the text."""
    if text.startswith("raises "):  # a message is prose, whose brackets need not balance
        return [text]
    root = _Group("")
    groups = [root]
    for match in _TOKENS.finditer(text):
        kind, token = match.lastgroup, match[0]
        parts = groups[-1].elements[-1]
        if kind == "open" and len(groups) < DEEPEST:
            groups.append(_Group(token))
            parts.append(groups[-1])
        elif kind == "close" and len(groups) > 1:
            groups.pop().right = token
        elif kind == "comma" and len(groups) > 1:
            groups[-1].elements.append([])
        elif parts and isinstance(parts[-1], str) and kind != "string" and parts[-1][-1:] not in "'\"":
            parts[-1] += token
        else:
            parts.append(token)
    return root.elements[0]


def _join(parts: list[_Part]) -> str:
    return "".join(map(str, parts))


def _shorten(parts: list[_Part], other: list[_Part], limit: int) -> str:
    """Return parts in about `limit` characters: differing ones whole if possible, then the last ones."""
    texts = [part if isinstance(part, str) else f"{part.left}{ELLIPSIS}{part.right}" for part in parts]
    differs = [index >= len(other) or str(part) != str(other[index]) for index, part in enumerate(parts)]
    for index in sorted(range(len(parts)), key=lambda index: (not differs[index], -index)):
        part, counterpart = parts[index], other[index] if index < len(other) else ""
        room = limit - sum(map(len, texts)) + len(texts[index])
        if isinstance(part, str):
            texts[index] = _cut(part, str(counterpart), room)
        else:
            texts[index] = _shorten_group(part, counterpart, room)
    return "".join(texts)


def _shorten_group(group: _Group, other: _Part, limit: int) -> str:
    """Return a group without some of its elements, the differing ones last."""
    if len(str(group)) <= limit:
        return str(group)
    opposite = other.elements if isinstance(other, _Group) else []
    texts, other_texts = [_join(element) for element in group.elements], [*map(_join, opposite)]
    start = common_length(texts, other_texts)
    end = len(texts) - common_length(texts[start:][::-1], other_texts[start:][::-1])
    if start == end or not opposite:
        start, end = 0, len(texts)
    shown: dict[int, str] = {}
    for index in [*range(start, end), *range(start - 1, -1, -1), *range(end, len(texts))]:
        trial = {**shown, index: texts[index]}
        length = len(_show(group, trial))
        if length > limit and not shown:
            counterpart = opposite[index] if index < len(opposite) else []
            trial[index] = _shorten(group.elements[index], counterpart, len(texts[index]) - length + limit)
        elif length > limit:
            break
        shown = trial
    return _show(group, shown)


def _show(group: _Group, shown: dict[int, str]) -> str:
    """Return a group with the shown elements, an ellipsis for each run of others."""
    texts: list[str] = []
    for index in range(len(group.elements)):
        if index in shown or texts[-1:] != [ELLIPSIS]:
            texts.append(shown.get(index, ELLIPSIS))
    return f"{group.left}{', '.join(texts)}{group.right}"


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many characters or elements at the beginning are the same."""
    pairs = zip(first, second, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _cut(text: str, other: str, limit: int) -> str:
    """Return a text without elements, around its first difference; a string keeps its quotes."""
    limit = max(limit, 12)
    if len(text) <= limit:
        return text
    quote = text[-1] if text[-1] in "'\"" else ""
    position = common_length(text, other) if other else 0
    room = limit - 2 * len(f"{quote}{ELLIPSIS}")
    start = max(0, min(position - limit // 3, len(text) - room))
    head = f"{quote}{ELLIPSIS}" if start else ""
    tail = f"{ELLIPSIS}{quote}" if text[start + room :] else ""
    return f"{head}{text[start : start + room]}{tail}"
