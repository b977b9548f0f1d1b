"""Stages of a build in the log."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from coder.core.errors import LimitReached, ModelError
from coder.core.events import StageChanged
from coder.core.phases import StageState
from coder.session.context import SessionContext

PLAN, GENERATE, INTEGRATE = "PLAN", "GENERATE", "INTEGRATE"


@dataclass
class StageOutcome:
    """The end of a stage, as its work sets it."""

    state: StageState = "done"
    remark: str = ""


@contextmanager
def log_stage(context: SessionContext, stage: str, component: str = "") -> Iterator[StageOutcome]:
    """Log that a stage, or the work on one component in it, runs and how it ends."""
    context.log.append(StageChanged(stage=stage, component=component, state="running"))
    outcome = StageOutcome()
    try:
        yield outcome
    except (ModelError, LimitReached) as error:
        context.log.append(StageChanged(stage=stage, component=component, state="failed", remark=str(error)))
        raise
    context.log.append(
        StageChanged(stage=stage, component=component, state=outcome.state, remark=outcome.remark)
    )
