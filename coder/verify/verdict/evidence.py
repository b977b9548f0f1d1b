"""A verdict as it goes with a commit: trailers for its message, a page for its note."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from coder.core.values.verdict import Checked, Counts, Guarded, Run, TestReport, TestResult, Verdict
from coder.verify.results.failure_reasons import headline

TRAILED = 5
"""So many target tests are named in trailers; the page names all."""


def run_of(label: str, tests: Sequence[str], report: TestReport) -> Run:
    """A run as the evidence tells of it."""
    return Run(
        label=label,
        command=report.command,
        tests=tuple(tests),
        counts=report.counts,
        exit_code=report.exit_code,
        seconds=report.seconds,
        problem=report.problem.text if report.problem else "",
    )


def hash_of(file: Path) -> str:
    """SHA-256 of a file's content; empty where there is none."""
    return sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def trailers(verdict: Verdict) -> tuple[str, ...]:
    """`Key: value` lines for the end of the commit message."""
    lines = [f"Coder-Verdict: {verdict.kind}"]
    lines += [f"Coder-Test: {target}" for target in verdict.targets[:TRAILED]]
    if len(verdict.targets) > TRAILED:
        lines.append(f"Coder-Test: and {len(verdict.targets) - TRAILED} more")
    if verdict.before is not None and verdict.after is not None:
        lines.append(f"Coder-Suite: {_counts(verdict.after)}; before: {_counts(verdict.before)}")
    return tuple(line.replace("\n", " ") for line in lines)


def page(verdict: Verdict) -> str:
    """The whole report, Markdown."""
    return "\n".join(_page(verdict)) + "\n"


def _page(verdict: Verdict) -> Iterator[str]:
    yield f"# {verdict.label}"
    yield ""
    yield verdict.reason
    yield ""
    if verdict.before is not None or verdict.after is not None:
        yield "| suite | passed | failed | skipped |"
        yield "|---|---|---|---|"
        for name, counts in (("before", verdict.before), ("after", verdict.after)):
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
    yield from _listed("Passed before the change and do not pass now:", verdict.broken)
    yield from _listed("Not green on the change:", verdict.still_red)
    yield from (f"- noted: {note}" for note in verdict.notes)
    yield from [""] if verdict.notes else []
    yield from _runs(verdict)
    yield from _guarded(verdict.guarded)
    yield from _checked(verdict.checked)
    yield from (f"- {told}" for told in verdict.circumstances)
    yield from (
        f"- `{path}`, the same on both sides: SHA-256 `{digest}`" for path, digest in verdict.hashes.items()
    )
    yield f"- tree: `{verdict.tree}`"
    yield f"- seconds: {verdict.seconds:.1f}"


def _runs(verdict: Verdict) -> Iterator[str]:
    """Each run of tests with what came of it."""
    if verdict.runs:
        yield "| run | tests | result | exit code | seconds |"
        yield "|---|---|---|---|---|"
        for run in verdict.runs:
            asked = f"{len(run.tests)} chosen" if run.tests else "all"
            told = f"{_counts(run.counts)}{f'; {run.problem}' if run.problem else ''}".replace("|", "\\|")
            yield f"| {run.label} | {asked} | {told} | {'' if run.exit_code is None else run.exit_code} | {run.seconds:.1f} |"
        yield ""


def _guarded(guarded: Guarded | None) -> Iterator[str]:
    """How many variants of the change a test notices, and where none does."""
    if guarded is None:
        return
    noticed = guarded.tried - len(guarded.unguarded)
    far = "" if guarded.ended else ", as far as time went"
    yield f"Guard: {noticed} of {guarded.tried} variants of the change are noticed by a test{far}."
    yield ""
    yield from (
        f"- `{place.path}:{place.line}` {place.what}, and no test fails" for place in guarded.unguarded
    )
    yield from [""] if guarded.unguarded else []


def _checked(checked: Checked | None) -> Iterator[str]:
    """What linters and their like newly find."""
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


def _listed(title: str, results: Sequence[TestResult]) -> Iterator[str]:
    if results:
        yield title
        yield ""
        for result in results:
            yield f"- `{result.id}`: {result.outcome}" + (
                f", {headline(result.failure)}" if result.failure else ""
            )
        yield ""


def _counts(counts: Counts) -> str:
    return f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"
