"""Preflight check: objections to a change before any test is run."""

from coder.core.events import FilesChanged, Verified
from coder.core.messages import UserMessage
from coder.core.state import candidate_messages
from coder.core.values.candidate import Candidate
from coder.core.values.verdict import Verdict, VerdictKind
from coder.python.lint import find_syntax_error, find_undefined_names
from coder.session.context import SessionContext
from coder.session.phase import PhaseState

MAX_FAULTS = 5


def preflight_objections(context: SessionContext, candidate: Candidate, state: PhaseState) -> str:
    """Return objections to a change, for the model; empty if it may be tested.

    Faults are reported once; the earlier failure of an equivalent change is reported each time.
    """
    failed_verdict = _earlier_failure(context, candidate)
    faults = (
        []
        if state.note
        else [fault for path in state.patch.paths for fault in _find_faults(context, candidate, path)]
    )
    if failed_verdict is None and not faults:
        return ""
    objection = context.prompts.render("objection", failed=failed_verdict, faults=faults[:MAX_FAULTS])
    is_repeated = any(
        isinstance(message, UserMessage) and message.text == objection
        for message in candidate_messages(context.log.records, candidate.id)
    )
    return "" if is_repeated and failed_verdict is None else objection


def _earlier_failure(context: SessionContext, candidate: Candidate) -> Verdict | None:
    """Return the failed verdict on an equivalent change of any candidate, None if there is none."""
    newest: dict[str, str] = {}
    failed_verdicts: dict[str, Verdict] = {}
    for record in context.log.records:
        match record.event:
            case FilesChanged(candidate=author, fingerprint=fingerprint):
                newest[author] = fingerprint
            case Verified(candidate=author, verdict=verdict) if (
                not verdict.is_deliverable and verdict.kind is not VerdictKind.INCONCLUSIVE
            ):
                failed_verdicts[newest.get(author, "")] = verdict
            case _:
                pass
    own_fingerprint = newest.get(candidate.id)
    return failed_verdicts.get(own_fingerprint) if own_fingerprint else None


def _find_faults(context: SessionContext, candidate: Candidate, path: str) -> list[str]:
    file = candidate.worktree / path
    if not path.endswith(".py") or file.is_symlink() or not file.is_file():
        return []
    after = file.read_text("utf-8", "replace")
    if error := find_syntax_error(after, path):
        return [error]
    return find_undefined_names(context.workspace(candidate).history.read_file(path) or "", after, path)
