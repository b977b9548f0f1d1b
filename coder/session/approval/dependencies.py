"""Packages that tests lack, on the base or for a change: the user is asked, and no attempt is spent on them."""

import asyncio

from coder.core.events import Warned
from coder.core.values.candidate import Candidate
from coder.core.values.verdict import TestReport
from coder.session.baseline import baseline
from coder.session.context import Kit

INSTALL, GO_ON = "install", "go on without"


async def equipped(
    kit: Kit, candidate: Candidate, report: TestReport | None, *, wait_seconds: float
) -> TestReport | None:
    """Return the base's report, made anew where the user let packages be installed for it; unattended nothing is."""
    if report is None or not await offer_missing_packages(kit, report):
        return report
    return await baseline(kit, candidate, wait_seconds=wait_seconds)


async def offer_missing_packages(kit: Kit, report: TestReport) -> bool:
    """Offer to install the packages that red tests lack, and return whether they are there now."""
    lacking = kit.equipment.lacks(report) if kit.equipment is not None else ()
    if kit.equipment is None or not lacking:
        return False
    question = (
        f"Tests cannot run: {', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not installed for "
        "the project's interpreter. "
        "Install from the package index into an environment of coder's own? Yours stays as it is."
    )
    if await kit.approval.ask(question, options=(INSTALL, GO_ON), default=GO_ON) != INSTALL:
        return False
    if problem := await asyncio.to_thread(kit.equipment.install, lacking):
        kit.log.append(Warned(text=f"{', '.join(lacking)} could not be installed: {problem}"))
        return False
    return True
