"""`coder verify`: judge any change, a person's too."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coder.cli.options import RepositoryOption, SuiteOption, UnsafeOption, issue_text

if TYPE_CHECKING:
    from coder.core.attestation import Attestation
    from coder.core.events import SessionFinished
    from coder.core.values.task import Task
    from coder.settings import Config

DIFFERS = 6
"""The exit code where a verdict is another one than was attested, though none that has a code of its own."""
UNSAID = "(nobody said what the change is for)"


def verify(
    change: Annotated[
        str | None,
        typer.Argument(
            metavar="REV|DIFF",
            help="A commit, branch, range A..B, file with a diff, or - for a diff on standard input.",
            show_default="the uncommitted work",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="REV",
            help="What to compare with.",
            show_default="HEAD; of a branch, where it began; of a commit, its parent",
        ),
    ] = None,
    issue: Annotated[
        str,
        typer.Option(
            metavar="ISSUE", help="What the change is for, as for fix.", show_default="the commit's message"
        ),
    ] = "",
    repo: RepositoryOption = Path(),
    evidence: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write there all that the verdict rests on.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Judge again what --evidence attests, and say whether it still holds."),
    ] = False,
    test: Annotated[
        str | None, typer.Option(metavar="CMD", help="The project's test command.", show_default="found out")
    ] = None,
    suite: SuiteOption = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Run this repository's code without asking, this once.")
    ] = False,
    unsafe_no_sandbox: UnsafeOption = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line instead of text.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show more on the way.")] = False,
) -> int:
    """Judge a change, whoever made it: red before, green after, nothing broken, in clean worktrees.

    Exit codes: 0 PROVEN, 3 PASSING, 6 BROKEN, 7 INCONCLUSIVE, 2 wrong use, 130 interrupted.
    """
    from coder.cli.fix import task_for
    from coder.cli.running import run_task
    from coder.core.attestation import attestation
    from coder.wiring.approach import judging

    attested = _attested(evidence, change) if check else None
    try:
        if attested is not None:
            targets = attested.verdict.targets
            how, given = judging(
                repo,
                diff=attested.diff,
                revision=None,
                against=attested.base,
                named=targets,
                tree=attested.verdict.tree,
            )
        else:
            how, given = judging(repo, diff=_diff(change, repo), revision=change, against=against)

        def task(root: Path, config: "Config") -> "Task":
            said = attested.issue if attested else issue_text(issue) if issue else given.issue
            needs_ties = bool(attested.verdict.untied if attested else issue)
            return task_for(
                said or UNSAID, config, directory=root, base=given.base, given=True, needs_ties=needs_ties
            )

        flags: dict[str, Any] = {
            "suite": suite and suite.value,
            "test": test or (attested and _own_command(attested.test_command, repo)),
        }
        ended = run_task(
            repo,
            task,
            flags=flags,
            trusted=trust,
            unsafe=unsafe_no_sandbox,
            json=json,
            output=None,
            verbose=verbose,
            how=how,
        )
        if attested is not None:
            return _compared(attested, ended.finished)
        if evidence is not None and (known := attestation(ended.log.records)):
            _write(evidence, known.model_dump_json(indent=2))
        return ended.finished.exit_code
    except KeyboardInterrupt:
        print("Interrupted before the work began; your files are as they were.", file=sys.stderr)
        return 130


def _own_command(stored: str | None, repo: Path) -> str | None:
    """Return the test command that evidence names, shown first: a file from elsewhere decides about none that is not the repository's own.

    Raises:
        UserError: the repository does not name this command.
    """
    from coder.core.errors import UserError
    from coder.repo.git import find
    from coder.verify.project.configuration import hinted_commands

    if stored is None:
        return None
    print(f"The evidence names the test command: {stored}", file=sys.stderr)
    if stored not in {command for command, _ in hinted_commands(find(repo).root)}:
        raise UserError(
            f"This repository names no test command {stored!r}, so it was not run. If it is yours, add "
            f"--test {stored!r}."
        )
    return stored


def _diff(change: str | None, repo: Path) -> str | None:
    """The text of a diff, where the change is one: a revision of the same name comes first."""
    from coder.core.errors import UserError
    from coder.repo.git import find

    if change == "-":
        return sys.stdin.read()
    if change is None or find(repo).git.commit(change) or not Path(change).is_file():
        return None
    try:
        return Path(change).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"The diff {change!r} cannot be read: {error.strerror}.") from None


def _attested(file: Path | None, change: str | None) -> "Attestation":
    """What an evidence file says.

    Raises:
        UserError: there is none, it is none, or what it attests cannot be made again.
    """
    from pydantic import ValidationError

    from coder.core.attestation import Attestation
    from coder.core.errors import UserError

    if file is None or change is not None:
        raise UserError(
            "--check judges again what an evidence file attests: coder verify --evidence FILE.json --check"
        )
    try:
        attested = Attestation.model_validate_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"The evidence {str(file)!r} cannot be read: {error.strerror}.") from None
    except (ValidationError, UnicodeDecodeError):
        raise UserError(
            f"{str(file)!r} is no evidence of this version's format; coder verify --evidence writes it."
        ) from None
    if not attested.repeatable:
        raise UserError(
            "That verdict was given on top of uncommitted work, which nobody kept: it cannot be judged again."
        )
    return attested


def _compared(attested: "Attestation", finished: "SessionFinished") -> int:
    """Say whether a verdict still holds; the exit code."""
    from coder.core.attestation import difference

    if finished.verdict is None:
        return finished.exit_code
    if told := difference(attested.verdict, finished.verdict):
        print(f"The evidence no longer holds: {told}", file=sys.stderr)
        return finished.exit_code or DIFFERS
    print(f"The evidence still holds: {attested.verdict.label}.", file=sys.stderr)
    return 0


def _write(file: Path, text: str) -> None:
    from coder.core.errors import UserError

    try:
        file.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"The evidence could not be written to {file}: {error.strerror}. It is kept: coder log evidence "
            "last --json"
        ) from None
