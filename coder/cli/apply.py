"""`coder apply`: apply a session's fix to the current branch, or a diff to the files."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from coder.cli.options import (
    AttemptOption,
    RepositoryOption,
    SessionArgument,
    decode_input,
    is_at_terminal,
    refuse_conflicts,
)
from coder.cli.running import confirm_change
from coder.core.errors import UserError
from coder.core.text import sanitize_text
from coder.repo.git import find_checkout

if TYPE_CHECKING:
    from coder.api import ChangedFile
    from coder.core.values import Delivery
    from coder.core.verdict import Verdict

WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="[FILE|-|ID]",
        help="A diff in a file or on standard input; or a session's id, `last` or `session:ID`.",
    ),
]
CheckOption = Annotated[bool, typer.Option("--check", help="Say what would happen, and write nothing.")]
ReverseOption = Annotated[bool, typer.Option("--reverse", "-R", help="Take the change back.")]
APPLIED_FILE = "applied"
"""File in the directory of a session whose diff was applied to the files of the checkout."""


def apply(
    what: WhatArgument = "-",
    check: CheckOption = False,
    reverse: ReverseOption = False,
    attempt: AttemptOption = None,
    candidate: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="The Nth of the edits that pass and between which no test decides."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not show a session's fix first.")] = False,
    repo: RepositoryOption = Path(),
) -> int:
    """Bring a session's fix onto the current branch, or a diff out of any chat into the files: all of it, or
    nothing.

    A diff may be damaged, fenced, in prose: what is unambiguous is applied as it was meant, the rest is
    refused with the reason. It changes files only; nothing is staged or committed. A bare word is a session
    only where no such file exists. A fix whose base is no longer HEAD is applied as UNVERIFIED:
    coder verify HEAD judges it there.
    On a terminal a session's fix is shown first.
    With --attempt it is one of the changes that a session tried and did not deliver, with --candidate one of
    the edits that a search without a model offered.
    """
    refuse_conflicts({"attempt": attempt, "candidate": candidate})
    if attempt is not None or candidate is not None:
        name = "last" if what == "-" else what
        return _apply_tried(repo, name, attempt, candidate, check=check, reverse=reverse)
    text = _read_diff(what)
    id = what.removeprefix("session:")
    if text is None:
        if is_at_terminal() and sys.stderr.isatty() and not (yes or check or reverse):
            sentence = _apply_reviewed(repo, id)
        else:
            sentence = apply_session(repo, id, check=check, reverse=reverse)
        print(sanitize_text(sentence))
    else:
        _apply_diff(repo, text, check=check, reverse=reverse)
    return 0


class DeliveredSession(NamedTuple):
    directory: Path
    delivery: "Delivery"
    verdict: "Verdict | None"
    earlier: "tuple[Delivery, ...]"
    """Commits that were delivered before in its conversation, the oldest first."""


def find_delivered(repo: Path, id: str) -> DeliveredSession:
    """Return a session of this repository that delivered something, even if it was killed while it did.

    Raises:
        UserError: the session is unknown, or it delivered nothing.
    """
    from coder.repo.checkout import has_delivery
    from coder.session.log import boundary_events, find_session
    from coder.wiring.conversations import earlier_deliveries, recover_sessions

    recover_sessions()
    checkout = find_checkout(repo)
    directory = find_session(
        id, repository=checkout.root, delivered=lambda delivery: has_delivery(checkout.git, delivery)
    )
    finished = boundary_events(directory)[1]
    if finished is None or finished.delivery is None:
        raise UserError(
            f"Session {directory.name} delivered no fix. What it tried: coder log show {directory.name}"
        )
    return DeliveredSession(directory, finished.delivery, finished.verdict, earlier_deliveries(directory))


def _read_diff(what: str) -> str | None:
    """Return the text of the diff; None if `what` names a session."""
    path = Path(what)
    if what == "-":
        text = decode_input(_read_stdin())
        if not text.strip():
            raise UserError("No diff came on standard input. To apply the newest fix: coder apply last")
        return text
    if what.startswith("session:") or (what.startswith("coder/") and not path.exists()):
        return None
    try:
        return decode_input(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        if path.name == what and not path.suffix:
            return None
        raise UserError(
            f"There is no file {what!r}. A diff on standard input is `-`, a session `session:ID`."
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(
            f"{what!r} cannot be read: {error.strerror if isinstance(error, OSError) else error}."
        ) from None


def _read_stdin() -> bytes:
    if sys.stdin.isatty():
        print("Paste the diff, end with Ctrl-D.", file=sys.stderr)
    return sys.stdin.buffer.read()


def _apply_tried(
    repo: Path, name: str, attempt: int | None, candidate: int | None, *, check: bool, reverse: bool
) -> int:
    """Bring a change that a session tried or offered into the files, and say what is known of it."""
    from coder.permissions.secrets import PLACEHOLDER
    from coder.session.log import find_session, read_records
    from coder.session.report import find_attempt, find_offer
    from coder.wiring.conversations import recover_sessions

    recover_sessions()
    root = find_checkout(repo).root
    records = list(read_records(find_session(name.removeprefix("session:"), repository=root)))
    if candidate is not None:
        diff, known = find_offer(records, candidate), f"Candidate {candidate} passes the tests."
    else:
        assert attempt is not None
        tried = find_attempt(records, attempt)
        diff, known = tried.diff, f"Attempt {attempt} was {tried.verdict.label}: {tried.verdict.reason}"
    if PLACEHOLDER.search(diff):
        raise UserError("The stored diff holds masked secrets: it cannot be applied.")
    _apply_diff(repo, diff, check=check, reverse=reverse)
    if not (check or reverse):
        print(f"{known} Judge it: coder verify")
    return 0


def _apply_diff(repo: Path, text: str, *, check: bool, reverse: bool) -> None:
    from coder import api

    applied = api.apply(text, directory=repo, check=check, reverse=reverse)
    for file in applied.files:
        print(sanitize_text(_describe_change(file)))
    for hunk in applied.done:
        print(f"{sanitize_text(hunk)} is there already.")
    for fault in applied.syntax_errors:
        print(f"Warning: Python no longer parses. {sanitize_text(fault)}", file=sys.stderr)
    file_count = f"{len(applied.files)} file{'s' if len(applied.files) > 1 else ''}"
    print(
        f"{file_count} would be changed; nothing was written."
        if check
        else f"{file_count} changed; nothing was staged or committed."
    )


def _describe_change(file: "ChangedFile") -> str:
    """Describe a change, such as `src/box.py  +3 -1`."""
    kind = f" ({file.kind})" if file.kind in ("new", "deleted") else ""
    name = f"{file.renamed_from} -> {file.path}" if file.renamed_from else file.path
    return f"{name}{kind}  +{file.added} -{file.removed}"


def _apply_reviewed(repo: Path, id: str) -> str:
    """Show what a session delivered, and apply it if the user agrees; return a sentence."""
    from coder.core.verdict_summary import summary_text
    from coder.repo.checkout import apply_diff, preview_commit
    from coder.ui.lines import PipedConsole, print_diff

    session = find_delivered(repo, id)
    diff, verdict = session.delivery.diff, session.verdict
    if commit := session.delivery.commit:
        diff, is_delivered = preview_commit(repo, commit, [earlier.commit for earlier in session.earlier])
        verdict = verdict if is_delivered else None
    else:
        apply_diff(repo, diff, check=True)
    print_diff(PipedConsole(highlight=False), sanitize_text(diff))
    if verdict is not None:
        print(sanitize_text(summary_text(verdict)))
    return _bring(repo, session) if confirm_change("Apply it?") else "Nothing was applied."


def apply_session(repo: Path, id: str, *, check: bool = False, reverse: bool = False) -> str:
    """Bring what a session delivered onto the current branch, or a diff into the files; return a sentence.

    Raises:
        UserError: it does not fit, or there is nothing to apply.
    """
    session = find_delivered(repo, id)
    if not reverse:
        return _bring(repo, session, check=check)
    if session.delivery.commit:
        raise UserError(
            f"This session's fix is the commit {session.delivery.commit[:10]}. Take it back with: coder undo "
            f"{id}"
        )
    return _take_out(repo, session, check=check)


def _bring(repo: Path, session: DeliveredSession, *, check: bool = False) -> str:
    from coder.repo.checkout import apply_commit, apply_diff, check_commit

    if commit := session.delivery.commit:
        bring = check_commit if check else apply_commit
        return bring(repo, commit, [earlier.commit for earlier in session.earlier])
    sentence = apply_diff(repo, session.delivery.diff, check=check)
    if not check:
        (session.directory / APPLIED_FILE).touch()
    return _name_change(session, sentence)


def _take_out(repo: Path, session: DeliveredSession, *, check: bool = False) -> str:
    """Take the diff that a session delivered, and `coder apply` applied, out of the files."""
    from coder.patching.git_hunks import split_git_diff
    from coder.repo.checkout import apply_diff

    name, diff, applied = session.directory.name, session.delivery.diff, session.directory / APPLIED_FILE
    files = ", ".join(dict.fromkeys(hunk.path for hunk in split_git_diff(diff)))
    if not applied.exists():
        raise UserError(
            f"Session {name} delivered a change of {files} that `coder apply` has not applied. Nothing was "
            f"changed. If you applied it otherwise: coder log diff {name} | coder apply --reverse -"
        )
    sentence = apply_diff(repo, diff, check=check, reverse=True)
    if not check:
        applied.unlink()
    return _name_change(session, sentence)


def _name_change(session: DeliveredSession, sentence: str) -> str:
    """Return a sentence on the change of a session with its name and files."""
    from coder.patching.git_hunks import split_git_diff

    files = ", ".join(dict.fromkeys(hunk.path for hunk in split_git_diff(session.delivery.diff)))
    return f"Session {session.directory.name}, {files}: {sentence[0].lower()}{sentence[1:]}"


def undo(
    id: SessionArgument,
    repo: RepositoryOption = Path(),
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take a fix back: its branch, commit and note; by a revert where the current branch holds it."""
    delivery = find_delivered(repo, id).delivery
    description = (
        f"the branch {delivery.branch} with {delivery.commit[:10]}"
        if delivery.branch
        else "the diff, out of the working tree"
    )
    question = f"Undo {description}? Where the current branch holds the fix, it is reverted."
    print(undo_session(repo, id) if yes or confirm_change(question) else "Nothing was changed.")


def undo_session(repo: Path, id: str) -> str:
    """Take back what a session delivered; return a sentence.

    Raises:
        UserError: it cannot be taken back; nothing was changed.
    """
    from coder.repo.checkout import undo_delivery

    session = find_delivered(repo, id)
    delivery = session.delivery
    if not delivery.branch:
        return _take_out(repo, session)
    on_same_branch = [earlier.commit for earlier in session.earlier if earlier.branch == delivery.branch]
    return undo_delivery(
        repo, branch=delivery.branch, commit=delivery.commit, earlier="".join(on_same_branch[-1:])
    )
