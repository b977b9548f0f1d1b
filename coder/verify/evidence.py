"""Evidence for a verdict: commit trailers and a report in Markdown."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from coder.core.verdict import (
    Counts,
    LineCoverage,
    LintReport,
    MutationReport,
    TestResult,
    Verdict,
    describe_proof,
)
from coder.verify.failures import failure_headline

MOST_TRAILERS = 5
"""Number of target tests named in trailers; the report names all."""


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file's content, empty if it does not exist."""
    return sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def trailers(verdict: Verdict) -> tuple[str, ...]:
    """Return `Key: value` lines for the end of the commit message."""
    lines = [f"Coder-Verdict: {verdict.kind}"]
    lines += [f"Coder-Test: {target}" for target in verdict.targets[:MOST_TRAILERS]]
    if len(verdict.targets) > MOST_TRAILERS:
        lines.append(f"Coder-Test: and {len(verdict.targets) - MOST_TRAILERS} more")
    if verdict.accepted_test_edits:
        lines.append("Coder-Test-Edits: accepted by the user")
    if verdict.before is not None and verdict.after is not None:
        before = "" if verdict.before.partial else f"; before: {_format_counts(verdict.before)}"
        lines.append(f"Coder-Suite: {_format_counts(verdict.after)}{before}")
    return tuple(line.replace("\n", " ") for line in lines)


def markdown_report(verdict: Verdict) -> str:
    """Return the whole report in Markdown."""
    return "\n".join(_report_lines(verdict)) + "\n"


def _report_lines(verdict: Verdict) -> Iterator[str]:
    yield f"# {verdict.label}"
    yield ""
    yield verdict.reason
    yield ""
    if verdict.before is not None or verdict.after is not None:
        yield "| suite | passed | failed | skipped |"
        yield "|---|---|---|---|"
        is_partial = verdict.before is not None and verdict.before.partial
        before = "before, only what does not pass after" if is_partial else "before"
        for name, counts in ((before, verdict.before), ("after", verdict.after)):
            yield (
                f"| {name} | {counts.passed} | {counts.failed} | {counts.skipped} |"
                if counts
                else f"| {name} | not run | | |"
            )
        yield ""
    if verdict.targets:
        yield "Red on the base for the right reason, green on the change:"
        yield ""
        yield from (f"- `{target}`" for target in verdict.targets)
        yield ""
        if proof := describe_proof(verdict, by="the change"):
            yield f"Proof: {proof}."
            yield ""
    if verdict.replaced_assertions:
        accepted = ", accepted by the user" if verdict.accepted_test_edits else ""
        yield f"Assertions that contradict the change and that it replaces{accepted}:"
        yield ""
        yield from (f"- {replaced.line}" for replaced in verdict.replaced_assertions)
        yield ""
    yield from _result_list("Passed before the change and do not pass now:", verdict.broken)
    yield from _result_list("Not green on the change:", verdict.still_red)
    yield from (f"- noted: {note}" for note in verdict.notes)
    yield from [""] if verdict.notes else []
    yield from _run_table(verdict)
    yield from _mutation_lines(verdict.guarded)
    yield from _coverage_lines(verdict.coverage)
    yield from _checker_lines(verdict.checked)
    yield from (f"- {sentence}" for sentence in verdict.circumstances)
    yield from (
        f"- `{path}`, the same on both sides: SHA-256 `{digest}`" for path, digest in verdict.hashes.items()
    )
    yield f"- tree: `{verdict.tree}`"
    yield f"- seconds: {verdict.seconds:.1f}"


def _run_table(verdict: Verdict) -> Iterator[str]:
    """Yield a table of the test runs with their results."""
    if verdict.runs:
        yield "| run | tests | result | exit code | seconds |"
        yield "|---|---|---|---|---|"
        for run in verdict.runs:
            scope = f"{len(run.tests)} chosen" if run.tests else "all"
            result = f"{_format_counts(run.counts)}{f'; {run.problem}' if run.problem else ''}".replace(
                "|", "\\|"
            )
            exit_code = "" if run.exit_code is None else run.exit_code
            yield f"| {run.label} | {scope} | {result} | {exit_code} | {run.seconds:.1f} |"
        yield ""


def _mutation_lines(guarded: MutationReport | None) -> Iterator[str]:
    """Yield how many mutants of the change the tests catch, and the surviving ones."""
    if guarded is None:
        return
    cutoff = "" if guarded.ended else ", as far as time went"
    yield f"Guard: {guarded.share} variants of the change are noticed by a test{cutoff}."
    yield ""
    yield from (
        f"- `{place.path}:{place.line}` {place.what}, and no test fails" for place in guarded.unguarded
    )
    yield from [""] if guarded.unguarded else []


def _coverage_lines(coverage: LineCoverage | None) -> Iterator[str]:
    """Yield how many lines of new code the tests execute, and the others."""
    if coverage is None:
        return
    yield f"Coverage: tests execute {coverage.executed} of {coverage.lines} lines of the new code."
    yield ""
    yield from (f"- `{place}`: executed by no test" for place in coverage.missing)
    yield from [""] if coverage.missing else []


def _checker_lines(checked: LintReport | None) -> Iterator[str]:
    """Yield new findings of linters and similar tools."""
    if checked is None:
        return
    if checked.ran:
        yield f"Checked with {', '.join(checked.ran)}: {len(checked.new) or 'nothing'} new."
        yield ""
    yield from (f"- {line}" for line in checked.new)
    yield from [""] if checked.new else []
    if checked.missing:
        yield f"Configured by the project and not installed: {', '.join(checked.missing)}."
        yield ""


def _result_list(title: str, results: Sequence[TestResult]) -> Iterator[str]:
    if results:
        yield title
        yield ""
        for result in results:
            yield f"- `{result.id}`: {result.outcome}" + (
                f", {failure_headline(result.failure)}" if result.failure else ""
            )
        yield ""


def _format_counts(counts: Counts) -> str:
    return f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"
