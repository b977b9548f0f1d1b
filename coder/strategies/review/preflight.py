"""The cheap review: what can be said against a change before any test is run."""

from coder.core.events import FilesChanged, Verified
from coder.core.messages import UserMessage
from coder.core.state import conversation
from coder.core.values.candidate import Candidate
from coder.core.values.verdict import Verdict, VerdictKind
from coder.python.lint import syntax_error, undefined_names
from coder.session.context import Kit
from coder.session.phase import Standing

SHOWN = 5


def objections(kit: Kit, candidate: Candidate, standing: Standing) -> str:
    """Words for the model, which it hears once; empty where the change may be tested."""
    failed = _failed_before(kit, candidate)
    faults = (
        []
        if standing.note
        else [fault for path in standing.patch.paths for fault in _faults(kit, candidate, path)]
    )
    if failed is None and not faults:
        return ""
    told = kit.prompts.render("objection", failed=failed, faults=faults[:SHOWN])
    said = any(
        isinstance(message, UserMessage) and message.text == told
        for message in conversation(kit.log.records, candidate.id)
    )
    return "" if said and failed is None else told


def _failed_before(kit: Kit, candidate: Candidate) -> Verdict | None:
    """The verdict on a change that means the same as this one, of any candidate, where it was red."""
    newest: dict[str, str] = {}
    failed: dict[str, Verdict] = {}
    for record in kit.log.records:
        match record.event:
            case FilesChanged(candidate=who, fingerprint=meaning):
                newest[who] = meaning
            case Verified(candidate=who, verdict=verdict) if (
                not verdict.good and verdict.kind is not VerdictKind.INCONCLUSIVE
            ):
                failed[newest.get(who, "")] = verdict
            case _:
                pass
    mine = newest.get(candidate.id)
    return failed.get(mine) if mine else None


def _faults(kit: Kit, candidate: Candidate, path: str) -> list[str]:
    file = candidate.worktree / path
    if not path.endswith(".py") or file.is_symlink() or not file.is_file():
        return []
    after = file.read_text("utf-8", "replace")
    if broken := syntax_error(after, path):
        return [broken]
    return undefined_names(kit.workspace(candidate).history.file(path) or "", after, path)
