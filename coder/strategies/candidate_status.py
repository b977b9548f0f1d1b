"""Where a candidate stands, told from the log and its worktree."""

import asyncio

from coder.core.state import gave_up, verdicts
from coder.core.values.candidate import Candidate
from coder.core.values.verdict import VerdictKind
from coder.session.context import Kit
from coder.strategies.phases import has_source


def given_up(kit: Kit, candidate: Candidate) -> bool:
    """Is giving up its newest note?"""
    return gave_up(kit.log.records, candidate.id)


def good(kit: Kit, candidate: Candidate) -> bool:
    """May its change be delivered?"""
    judged = verdicts(kit.log.records, candidate.id)
    return bool(judged) and judged[-1].good


def mendable(kit: Kit, candidate: Candidate) -> bool:
    """Was its newest change judged and found wanting, so that another one may do better?"""
    judged = verdicts(kit.log.records, candidate.id)
    return bool(judged) and not judged[-1].good and judged[-1].kind is not VerdictKind.INCONCLUSIVE and not given_up(kit, candidate)


async def red(kit: Kit, candidate: Candidate) -> bool:
    """Was its change, as it is now, judged and found wanting?"""
    judged = verdicts(kit.log.records, candidate.id)
    return bool(judged) and not judged[-1].good and judged[-1].tree == (await asyncio.to_thread(kit.repository.patch, candidate)).tree


async def stands(kit: Kit, candidate: Candidate) -> bool:
    """Is its change, as it is now, judged and good?"""
    judged = verdicts(kit.log.records, candidate.id)
    return bool(judged) and judged[-1].good and judged[-1].tree == (await asyncio.to_thread(kit.repository.patch, candidate)).tree


async def fresh(kit: Kit, candidate: Candidate) -> bool:
    """Has it changed the code in a way that nobody has judged?"""
    patch = await asyncio.to_thread(kit.repository.patch, candidate)
    return has_source(patch) and all(verdict.tree != patch.tree for verdict in verdicts(kit.log.records, candidate.id))
