"""Fresh eyes on a change: readers with briefs of their own, and repairs of nothing but what they flag."""

import asyncio
from collections.abc import Callable, Sequence

from coder.core.errors import LimitReached, ModelError
from coder.core.events import FilesChanged, Warned
from coder.core.notes import Findings
from coder.core.state import named_tests
from coder.core.values.candidate import Candidate, Patch
from coder.session.context import Kit, Strategy
from coder.strategies.candidate_status import good, stands
from coder.strategies.review.review_phase import opinion
from coder.strategies.review.review_targets import flagged
from coder.strategies.verify_phase import judge

Mend = Callable[[tuple[Findings, ...], Patch], Strategy]


Readers = Callable[[Patch], Sequence[str]]


def reviewed(strategy: Strategy, mend: Mend, *, readers: Readers, rounds: int) -> Strategy:
    """A strategy whose good change is read by those that `readers` says; what they flag is mended, and read again by them and by all
    whom it concerns then, up to `rounds` times.

    What is no longer good, or cannot be mended, is taken back: what they found then goes into the evidence as advice.
    """

    async def whole(kit: Kit, candidate: Candidate) -> Candidate:
        candidate = await strategy(kit, candidate)
        read_already, objecting = "", tuple[str, ...]()
        for number in range(1, rounds + 2):
            patch = await asyncio.to_thread(kit.repository.patch, candidate)
            asked = dict.fromkeys((*readers(patch), *objecting))
            if patch.tree == read_already or not (asked and good(kit, candidate)):
                return candidate
            found = await asyncio.gather(*(opinion(kit, candidate, reader) for reader in asked))
            wanted = tuple(
                item for item in found if item is not None and not item.approve and flagged(item, patch)
            )
            read_already = patch.tree
            objecting = tuple(
                reader
                for reader, one in zip(asked, found, strict=True)
                if one is not None and not one.approve
            )
            if not wanted or number > rounds:
                return candidate
            try:
                await mend(wanted, patch)(kit, candidate)
            except (ModelError, LimitReached) as error:
                kit.log.append(Warned(text=f"What was found is not mended: {error}"))
            if not await stands(kit, candidate):
                await _take_back(kit, candidate, patch)
                return candidate
        return candidate

    return whole


async def _take_back(kit: Kit, candidate: Candidate, patch: Patch) -> None:
    await asyncio.to_thread(kit.repository.rollback, candidate, patch.tree)
    kit.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
    await judge(kit, candidate, patch, named_tests(kit.log.records, candidate.id))
