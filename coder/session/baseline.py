"""The suite on the untouched base, measured while other things happen."""

import asyncio

from coder.core.events import BaselineMeasured
from coder.core.values.candidate import Candidate
from coder.core.values.verdict import TestReport
from coder.session.context import Kit


async def baseline(
    kit: Kit, candidate: Candidate, *, wait_seconds: float | None = None, whole: bool = False
) -> TestReport | None:
    """The report; None if it takes longer than `wait_seconds`, and then it goes on being measured.

    A suite that takes long is cut off, or not tried; the `whole` one has all of its time.
    """
    measuring = asyncio.ensure_future(
        asyncio.to_thread(kit.verifier.baseline, kit.log.progress(candidate.id), whole=whole)
    )
    done, _ = await asyncio.wait({measuring}, timeout=wait_seconds)
    if not done:
        return None
    report = measuring.result()
    measured = BaselineMeasured(
        command=report.command,
        counts=report.counts,
        failing=tuple(result.id for result in report.reds),
        seconds=report.seconds,
        problem=report.problem.text if report.problem else "",
    )
    if measured not in [
        record.event for record in kit.log.records if isinstance(record.event, BaselineMeasured)
    ]:
        kit.log.append(measured)
    return report
