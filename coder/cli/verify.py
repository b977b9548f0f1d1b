"""`coder verify`: judge any change, including a user's own."""

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import (
    LIMITS,
    MODEL,
    RUNNING,
    Options,
    decode_input,
    read_file,
    read_issue,
    with_options,
)
from coder.core.errors import NothingToJudgeError, UserError
from coder.core.text import sanitize_text
from coder.repo.git import find_checkout

if TYPE_CHECKING:
    from coder.core.attestation import Attestation
    from coder.core.events import Record, SessionFinished, Task
    from coder.core.notes import ReviewFinding
    from coder.core.verdict import Verdict
    from coder.wiring.session import Approach


REPORT_SUFFIXES = (".md", ".xml", ".sarif")
VERDICT_DIFFERS = 6
"""Exit code if the verdict differs from the attested one and has no nonzero code of its own."""
LONGEST_ISSUE = 80
"""Characters of an issue that is repeated in the commands which judge again."""


@with_options(
    *("repo", "against", "issue", "test", "not_test", "wait", "accept_test_edits", "require", "install"),
    *RUNNING,
)
def verify(
    change: Annotated[
        str | None,
        typer.Argument(
            metavar="REV|DIFF",
            help="A commit, branch, range A..B, file with a diff, or - for a diff on standard input.",
            show_default="the uncommitted work; of a clean branch, the branch",
        ),
    ] = None,
    evidence: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write there all that the verdict rests on.")
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write the verdict there: .md (evidence), .xml (JUnit) or .sarif; may be repeated.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Judge again what --evidence attests, and say whether it still holds."),
    ] = False,
    *,
    options: Options,
) -> int:
    """Judge a change, whoever made it: red before, green after, nothing broken, in clean worktrees.

    Where the variable CI is set, as with --wait, all tests that use the changed code run.

    SIGUSR1 while tests beside the fix's own run: judge now, by what has run so far.

    Exit codes: 0 PROVEN and FIXED or as --require says, 3 PASSING, 6 BROKEN, 7 NOT TESTED, 8 NOT FIXED, 2
    wrong use, 130 interrupted; of --check 0 where the evidence holds, unless --require says otherwise. Under
    pre-commit, what is committed or pushed is judged.
    """
    from coder.cli.ci_reports import junit_xml, sarif_json
    from coder.cli.running import run_task, write_output
    from coder.core.attestation import build_attestation
    from coder.core.verdict_summary import markdown_report

    options = replace(options, wait=options.wait or bool(os.environ.get("CI")))
    if check:
        if report or options.against or options.issue:
            raise UserError(
                "--check takes issue and base from the evidence and writes nothing: leave out --report, "
                "--against and --issue."
            )
        return _judge_again(_read_attestation(evidence, change), options)
    outputs = _check_outputs(report or [], evidence)
    if change is None and options.against is None and (change := os.environ.get("PRE_COMMIT_TO_REF") or None):
        pushed_from = os.environ.get("PRE_COMMIT_FROM_REF") or None  # what pre-commit has pushed
        options = replace(options, against=pushed_from)
    try:
        approach, request = _find_change(change, options)
    except NothingToJudgeError as error:
        _remove_files(outputs)
        if options.require is None:
            raise
        print(error, file=sys.stderr)
        return 0
    _remove_files(outputs)
    name = _name_in_shell(change, options)
    handle = run_task(request, options, approach=approach, quiet=True, change=name)
    finish_event = handle.finish_event
    if evidence is not None and (attestation := build_attestation(handle.log.records)):
        text = f"{attestation.model_dump_json(indent=2)}\n"
        write_output(evidence, text, kind="evidence", kept="log evidence last --json")
    for file in report or []:
        if (verdict := finish_event.verdict) is not None:
            write = {".xml": junit_xml, ".sarif": sarif_json}.get(file.suffix)
            text = write(verdict) if write else markdown_report(verdict, change=name)
            write_output(file, text, kind="report", kept="log evidence last")
    return finish_event.exit_code


def _find_change(change: str | None, options: Options) -> "tuple[Approach, Task]":
    """Return how to judge the change that the arguments name, and the request to do so."""
    from coder.core.events import Task
    from coder.wiring.session import judging_approach

    repo, issue = options.repo, read_issue(options.issue) if options.issue else ""
    diff = read_diff(change, repo)
    request = Task(issue=issue, directory=repo, needs_ties=bool(issue))
    return judging_approach(request, diff=diff, revision=change, against=options.against)


def _judge_again(statement: "Attestation", options: Options) -> int:
    """Judge again what an attestation is about, and report whether its verdict still holds."""
    from coder.cli.running import run_task
    from coder.core.events import Task
    from coder.wiring.session import judging_approach

    if options.test is None:
        options = replace(options, test=_check_command(statement.test_command, options.repo))
    request = Task(
        issue=statement.issue,
        directory=options.repo,
        needs_ties=bool(statement.verdict.untied),
        unrelated_tests=statement.unrelated_tests,
    )
    approach, request = judging_approach(
        request,
        diff=statement.diff,
        against=statement.base,
        test_ids=statement.verdict.targets,
        tree=statement.verdict.tree,
    )
    handle = run_task(request, options, approach=approach, quiet=True)
    return _compare_verdicts(statement, handle.finish_event, options.require)


def _name_in_shell(change: str | None, options: Options) -> str:
    """Return what commands that judge the same change again are given."""
    is_short = options.issue and len(options.issue) <= LONGEST_ISSUE
    given = (options.issue if is_short else None, options.against, str(options.repo))
    named = zip(("--issue", "--against", "--repo"), given, strict=True)
    words = [change or "", *(word for option in named if option[1] not in (None, ".") for word in option)]
    return shlex.join(filter(None, words))


def _check_outputs(reports: Sequence[Path], evidence: Path | None) -> list[Path]:
    """Return the files to be written; refuse those that cannot be."""
    from coder.cli.running import check_writable

    for file in reports:
        if file.suffix not in REPORT_SUFFIXES:
            raise UserError(f"{file} names no format: end it with {', '.join(REPORT_SUFFIXES)}.")
        check_writable(file, kind="report")
    if evidence is not None:
        check_writable(evidence, kind="evidence")
    return [*reports, *([evidence] if evidence else [])]


def _remove_files(outputs: Sequence[Path]) -> None:
    """Remove outputs of an earlier run, so that none is taken for one of this run."""
    for file in outputs:
        if file.is_file() and not file.is_symlink():
            file.unlink()


def _check_command(stored_command: str | None, repo: Path) -> str | None:
    """Print and return the test command of evidence; evidence from elsewhere may not introduce one."""
    from coder.verify.project import find_hints

    if stored_command is None:
        return None
    print(f"The evidence names the test command: {sanitize_text(stored_command)}", file=sys.stderr)
    if stored_command not in {hint.command for hint in find_hints(find_checkout(repo).root)}:
        raise UserError(
            f"This repository names no test command {stored_command!r}, so it was not run. If it is yours, "
            "add "
            f"--test {stored_command!r}."
        )
    return stored_command


def read_diff(change: str | None, repo: Path) -> str | None:
    """Return the text of a diff if `change` names one; a revision of the same name takes precedence."""
    if change == "-":
        return decode_input(sys.stdin.buffer.read())
    if change is None or find_checkout(repo).git.resolve_commit(change) or not Path(change).is_file():
        return None
    return read_file(Path(change), kind="diff")


def _read_attestation(file: Path | None, change: str | None) -> "Attestation":
    """Return the content of an evidence file."""
    from coder.core.attestation import Attestation, extract_evidence

    if file is None or change is not None:
        raise UserError(
            "--check judges again what an evidence file attests: coder verify --evidence FILE.json --check"
        )
    text = read_file(file, kind="evidence")
    try:
        statement = Attestation.model_validate_json(extract_evidence(text))
    except ValueError:  # pydantic's ValidationError included
        raise UserError(
            f"{str(file)!r} is no evidence of this version's format; coder verify --evidence writes it."
        ) from None
    if not statement.repeatable:
        raise UserError(
            "That verdict was given on top of uncommitted work, which nobody kept: it cannot be judged again."
        )
    return statement


def _compare_verdicts(statement: "Attestation", finish_event: "SessionFinished", require: str | None) -> int:
    """Report whether a verdict still holds, and return the exit code: its own where one is required."""
    from coder.core.attestation import describe_regression

    if finish_event.verdict is None:
        return finish_event.exit_code
    if changes := describe_regression(statement.verdict, finish_event.verdict):
        print(f"The evidence no longer holds: {sanitize_text(changes)}", file=sys.stderr)
        return finish_event.exit_code or VERDICT_DIFFERS
    print(f"The evidence still holds: {statement.verdict.label}.", file=sys.stderr)
    return finish_event.exit_code if require else 0


@with_options("repo", "against", "issue", *MODEL, "test", "wait", *LIMITS, *RUNNING)
def review(
    change: Annotated[
        str | None,
        typer.Argument(
            metavar="REV|DIFF",
            help="A commit, branch, range A..B, file with a diff, or - for a diff on standard input.",
            show_default="the uncommitted work",
        ),
    ] = None,
    *,
    options: Options,
) -> int:
    """Judge a change by its tests and have it read: correctness, tests, security.

    Beside each finding stands what the tests have seen there. Nothing is changed.

    Exit codes: those of coder verify.
    """
    from coder.cli.running import run_task
    from coder.settings import load_config
    from coder.wiring.session import reviewing_approach

    judging, request = _find_change(change, options)
    config = load_config(find_checkout(options.repo).root, options.settings)
    approach = reviewing_approach(judging, config, model_name=options.model)
    handle = run_task(request, options, approach=approach)
    finish_event = handle.finish_event
    if finish_event.verdict and not options.json:
        lines = review_lines(handle.log.records, finish_event.verdict)
        print("", *map(sanitize_text, lines), sep="\n")
    return finish_event.exit_code


NEAR_LINES = 3
"""Lines between a finding and an observation that still belong together."""


def review_lines(records: "Sequence[Record]", verdict: "Verdict") -> Iterator[str]:
    """Yield the report in lines, one reviewer after the other, in the order of the log."""
    from coder.core.events import NoteMade, events_of
    from coder.core.notes import Findings

    for made in events_of(records, NoteMade):
        if isinstance(findings := made.note, Findings):
            decision = "approves" if findings.approve else "requests changes"
            yield f"{made.candidate.rpartition('/')[2]} {decision}: {findings.summary}"
            for finding in findings.findings:
                yield f"  {finding.severity}  {finding.place}  {finding.text}"
                yield f"    tests: {observation(finding, verdict)}"


def observation(finding: "ReviewFinding", verdict: "Verdict") -> str:
    """Return what the verifier has seen at a finding's place, as a phrase."""
    failing = [
        result.id
        for result in verdict.failures
        if result.failure
        and any(_is_near(finding, frame.path, frame.line) for frame in result.failure.frames)
    ]
    if failing:
        return f"{', '.join(failing[:3])} fail{'s' if len(failing) == 1 else ''} here"
    report = verdict.mutation
    for place in report.survivors if report else ():
        if _is_near(finding, place.path, place.line):
            return f"none would notice a difference here ({place.what}, line {place.line})"
    if report and report.tried:
        return f"none fails here; they caught {report.share} deliberate defects of the change"
    return "none fails here; whether one would notice a difference here was not tried"


def _is_near(finding: "ReviewFinding", path: str, line: int) -> bool:
    """Return whether a place belongs to a finding; one on a whole file covers all its lines."""
    return finding.path == path and (not finding.line or abs(finding.line - line) <= NEAR_LINES)
