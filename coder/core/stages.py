"""Wall-clock time of a session by stage, told from the times of its records."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from coder.core.events import (
    BaselineMeasured,
    MessageFinished,
    PlanAnswered,
    QuestionAnswered,
    Record,
    ReviewAnswered,
    ToolFinished,
    Verified,
)
from coder.core.messages import AssistantMessage
from coder.core.values.verdict import Verdict


def stage_seconds(records: Sequence[Record], *, total: float) -> Mapping[str, float]:
    """Return seconds by stage; they add up to `total`, the seconds of the whole session.

    Stages are `model`, `tools`, `your answers`, those of the verdicts, `checks` (of a verdict beside test
    runs) and `other`.
    Time between two records belongs to the later one, so that branches in parallel count once.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    for earlier, later in pairwise(records):
        gap = (later.at - earlier.at).total_seconds()
        match later.event:
            case MessageFinished(message=AssistantMessage()):
                seconds["model"] += gap
            case ToolFinished():
                seconds["tools"] += gap
            case BaselineMeasured():
                seconds["base"] += gap
            case QuestionAnswered() | ReviewAnswered() | PlanAnswered():
                seconds["your answers"] += gap
            case Verified(verdict=verdict):
                for stage, spent in _verdict_stages(verdict, gap).items():
                    seconds[stage] += spent
    shown = {stage: spent for stage, spent in seconds.items() if spent > 0}
    return {**shown, "other": max(0.0, total - sum(shown.values()))}


def _verdict_stages(verdict: Verdict, gap: float) -> Mapping[str, float]:
    """Split the seconds before a verdict by its stages, and call the rest its checks."""
    spent = sum(verdict.stages.values())
    scale = min(1.0, gap / spent) if spent else 0.0
    split = {stage: seconds * scale for stage, seconds in verdict.stages.items()}
    return {**split, "checks": gap - sum(split.values())}
