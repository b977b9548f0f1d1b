"""Baseline: the test suite on the untouched base, measured in the background."""

import asyncio

from coder.core.events import BaselineMeasured
from coder.core.values.candidate import Candidate
from coder.core.values.verdict import TestReport
from coder.session.context import SessionContext


async def measure_baseline(
    context: SessionContext, candidate: Candidate, *, wait_seconds: float | None = None, whole: bool = False
) -> TestReport | None:
    """Measure the baseline and log it; return None if it takes longer than `wait_seconds`.

    It is then still measured in the background. A slow suite is cut off or not tried, the sooner where the
    change to be judged exists already; with `whole` it has all of its time.
    """
    progress = context.log.progress_listener(candidate.id)
    task = asyncio.ensure_future(
        asyncio.to_thread(context.verifier.baseline, progress, whole=whole, brief=context.task.given)
    )
    done, _ = await asyncio.wait({task}, timeout=wait_seconds)
    if not done:
        return None
    report = task.result()
    event = BaselineMeasured(
        command=report.command,
        counts=report.outcome_counts,
        failing=tuple(result.id for result in report.project_failures),
        denied=tuple(dict.fromkeys(result.denied for result in report.failures if result.denied)),
        seconds=report.seconds,
        problem=report.problem.text if report.problem else "",
    )
    if event not in [
        record.event for record in context.log.records if isinstance(record.event, BaselineMeasured)
    ]:
        context.log.append(event)
    return report
