"""The person's own look at a fix before it is delivered: whole, in part, or not at all."""

import asyncio
from collections.abc import Collection

from coder.core.errors import UserError
from coder.core.events import FilesChanged, Verified, Warned
from coder.core.state import named_tests
from coder.core.values.candidate import Candidate, Patch
from coder.core.values.hunk import Hunk
from coder.core.values.verdict import Verdict
from coder.patching import PatchError, apply
from coder.patching.git_hunks import hunks, rebuilt
from coder.permissions.risk import high_risk
from coder.session.context import Kit
from coder.session.delivery.removable_hunks import droppable

LONGEST_SHOWN = 3_000
DELIVER, DROP = "deliver", "drop"


async def clear(kit: Kit, patch: Patch, verdict: Verdict) -> Verdict | None:
    """The verdict with a note on what asks for a person's review by name; None where the person, asked, wants none of it.

    Where nobody can be asked, it is delivered all the same (a branch harms nobody), never merged, and said in report and evidence.
    """
    named = _named(patch)
    if not named:
        return verdict
    if kit.reviews or (kit.approval.attended and not kit.task.dry_run):
        if (
            not kit.reviews
            and await kit.approval.ask(_question(patch, named), options=(DELIVER, DROP), default=DROP)
            != DELIVER
        ):
            return None
        note = f"reviewed by a person: {named}"
    else:
        note = f"no person has reviewed {named}"
        announce(kit, patch)
    return verdict.model_copy(update={"notes": (*verdict.notes, note)})


def announce(kit: Kit, patch: Patch) -> None:
    """Name the files of a change that deserve a person's look; nothing where there are none."""
    if named := _named(patch):
        kit.log.append(Warned(text=f"Look twice at {named}."))


def unreviewed(kit: Kit, patch: Patch) -> str:
    """The files that ask for a review, where nobody could be asked for it."""
    return "" if kit.reviews or kit.approval.attended else _named(patch)


def _named(patch: Patch) -> str:
    return ", ".join(f"{path} ({kind})" for path, kind in high_risk(patch.paths).items())


def _question(patch: Patch, named: str) -> str:
    risky = high_risk(patch.paths)
    parts: list[Hunk] = [hunk for hunk in hunks(patch.diff) if hunk.path in risky]
    shown = "\n".join(f"{hunk.path}\n{hunk.body.rstrip()}" for hunk in parts)
    cut = f"{shown[:LONGEST_SHOWN]}\n[...]" if len(shown) > LONGEST_SHOWN else shown
    return f"{cut}\nThe fix changes {named}. Deliver it?"


async def review(
    kit: Kit, candidate: Candidate, patch: Patch, verdict: Verdict
) -> tuple[Patch, Verdict] | None:
    """What the person accepts of a change, with the verdict on just that; None where it is nothing.

    A part of a change is another change: it is made anew in the candidate's worktree and verified again.

    Raises:
        UserError: the part does not fit without the rest.
    """
    accepted = await kit.approval.review(patch.diff, droppable(patch.diff, verdict.guarded))
    if len(accepted) == len(hunks(patch.diff)):
        return patch, verdict
    if not accepted:
        return None
    try:
        part, again = await part_of(kit, candidate, patch, accepted)
    except PatchError as error:
        raise UserError(
            f"What you accepted does not fit without the rest, so nothing was delivered. {error}"
        ) from None
    announced(kit, candidate, part, again)
    return part, again


async def part_of(
    kit: Kit, candidate: Candidate, patch: Patch, accepted: Collection[int]
) -> tuple[Patch, Verdict]:
    """Make some hunks of a change alone, in the candidate's worktree, and judge that.

    Raises:
        PatchError: they do not fit without the rest; the worktree is as it was before any change.
    """
    await asyncio.to_thread(kit.repository.rollback, candidate, candidate.base)
    await asyncio.to_thread(apply, rebuilt(patch.diff, accepted), candidate.worktree)
    part = await asyncio.to_thread(kit.repository.patch, candidate)
    again = await asyncio.to_thread(
        kit.verifier.verify, part, named_tests(kit.log.records, candidate.id), kit.log.progress(candidate.id)
    )
    return part, again.model_copy(update={"tree": part.tree})


def announced(kit: Kit, candidate: Candidate, part: Patch, verdict: Verdict) -> None:
    """Tell what is left of a change, and what it is worth."""
    kit.log.append(FilesChanged(candidate=candidate.id, paths=part.paths, diff=part.diff))
    kit.log.append(Verified(candidate=candidate.id, attempt=1, verdict=verdict))
