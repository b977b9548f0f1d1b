"""Fresh eyes on a change: readers with briefs of their own, and repairs of nothing but what they flag."""

import asyncio
from collections.abc import Callable, Sequence

from coder.core.candidate import Candidate, Patch
from coder.core.events import FilesChanged
from coder.core.notes import Findings
from coder.core.risk import high_risk
from coder.core.state import named_tests
from coder.loop.kit import Kit, Strategy
from coder.strategies.flagged import flagged
from coder.strategies.judge import judge
from coder.strategies.reading import opinion
from coder.strategies.standing import good

Mend = Callable[[tuple[Findings, ...], Patch], Strategy]


def risky(patch: Patch) -> bool:
    """Does it touch files that ask for another look, green or not?"""
    return bool(high_risk(patch.paths))


def reviewed(
    strategy: Strategy, mend: Mend, *, readers: Sequence[str], rounds: int, when: Callable[[Patch], bool] = lambda _patch: True
) -> Strategy:
    """A strategy whose good change is read by each of `readers`; what they flag is mended and read again, up to `rounds` times.

    A mended change that is no longer good is taken back: what they found then goes into the evidence as advice.
    """

    async def whole(kit: Kit, candidate: Candidate) -> Candidate:
        candidate = await strategy(kit, candidate)
        read_already = ""
        for number in range(1, rounds + 2):
            patch = await asyncio.to_thread(kit.repository.patch, candidate)
            if patch.tree == read_already or not (good(kit, candidate) and when(patch)):
                return candidate
            read_already = patch.tree
            found = await asyncio.gather(*(opinion(kit, candidate, reader) for reader in readers))
            wanted = tuple(one for one in found if one is not None and not one.approve and flagged(one, patch))
            if not wanted or number > rounds:
                return candidate
            await mend(wanted, patch)(kit, candidate)
            if not good(kit, candidate):
                await _take_back(kit, candidate, patch)
                return candidate
        return candidate

    return whole


async def _take_back(kit: Kit, candidate: Candidate, patch: Patch) -> None:
    await asyncio.to_thread(kit.repository.rollback, candidate, patch.tree)
    kit.log.append(FilesChanged(candidate=candidate.id, paths=patch.paths, diff=patch.diff))
    await judge(kit, candidate, patch, named_tests(kit.log.records, candidate.id))
