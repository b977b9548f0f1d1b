"""Installation of packages that tests lack, after the user agreed; no repair attempt is spent on them."""

import asyncio

from coder.core.events import Warned
from coder.core.values.candidate import Candidate
from coder.core.values.verdict import TestReport
from coder.session.baseline import measure_baseline
from coder.session.context import SessionContext

INSTALL, GO_ON = "install", "go on without"


async def ensure_dependencies(
    context: SessionContext, candidate: Candidate, report: TestReport | None, *, wait_seconds: float
) -> TestReport | None:
    """Return the base's report, measured again if the user let missing packages be installed.

    Without a user to ask, nothing is installed.
    """
    if report is None or not await offer_missing_packages(context, report):
        return report
    return await measure_baseline(context, candidate, wait_seconds=wait_seconds)


async def offer_missing_packages(context: SessionContext, report: TestReport) -> bool:
    """Offer to install the packages that failing tests lack, and return whether they were installed."""
    missing = context.equipment.missing_packages(report) if context.equipment is not None else ()
    if context.equipment is None or not missing:
        return False
    question = (
        f"Tests cannot run: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed for "
        "the project's interpreter. "
        "Install from the package index into an environment of coder's own? Yours stays as it is."
    )
    if await context.approval.ask(question, options=(INSTALL, GO_ON), default=GO_ON) != INSTALL:
        return False
    if problem := await asyncio.to_thread(context.equipment.install, missing):
        context.log.append(Warned(text=f"{', '.join(missing)} could not be installed: {problem}"))
        return False
    return True
