"""Plans as Markdown, for a user to read and edit."""

import re
from collections.abc import Sequence

from coder.core.notes import Plan, Step

PLAN_HEADING = "## The plan"
STEP_PATTERN = re.compile(r"\d+[.)]\s+(?P<intent>\S.*)")
DETAIL_PATTERN = re.compile(r"\s*[-*]\s+(?P<name>[^:]*):(?P<text>.*)")
FORMAT_HINT = (
    "a step is a line `1. what is true then`, and below it, if you like, `- files: "
    "a.py` and `- seen by: a test`"
)


def format_plan(plan: Plan) -> str:
    """Render a plan as Markdown, in the form that `read` parses."""
    lines = [PLAN_HEADING, _join_lines(plan.summary), ""]
    for number, step in enumerate(plan.steps, start=1):
        lines.append(f"{number}. {_join_lines(step.intent)}")
        lines += [f"   - files: {', '.join(step.files)}"] if step.files else []
        lines += [f"   - seen by: {_join_lines(step.check)}"] if step.check else []
    return "\n".join(lines)


def parse_plan(text: str) -> Plan:
    """Parse a plan: a heading and a summary, where present, then its steps in the order of their lines.

    Raises:
        ValueError: it is not a plan; the message is half a sentence with the cause and the line.
    """
    summary: list[str] = []
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if match := STEP_PATTERN.fullmatch(line.rstrip()):
            steps.append(Step(intent=match["intent"]))
        elif steps and line.strip():
            steps[-1] = _add_detail(steps[-1], line, number)
        elif line.strip() and not line.startswith("#"):
            summary.append(line.strip())
    if not steps:
        raise ValueError(f"there is no step in it; {FORMAT_HINT}")
    return Plan(summary=" ".join(summary) or steps[0].intent, steps=tuple(steps))


def _add_detail(step: Step, line: str, number: int) -> Step:
    """Return the step with one more line of its text added."""
    match DETAIL_PATTERN.fullmatch(line):
        case None if line[:1].isspace() and not line.lstrip().startswith(("- ", "* ")):
            return step.model_copy(update={"intent": f"{step.intent} {line.strip()}"})
        case found if found and found["name"].strip().lower() == "files":
            return step.model_copy(update={"files": _paths(found["text"].split(","))})
        case found if found and found["name"].strip().lower() in ("seen by", "check"):
            return step.model_copy(update={"check": found["text"].strip()})
        case _:
            raise ValueError(f"line {number} belongs to no step: {line.strip()[:60]!r}; {FORMAT_HINT}")


def _paths(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for word in words if (path := word.strip().strip("`")))


def _join_lines(text: str) -> str:
    """Join the text into one line, where Markdown that starts a line has no effect."""
    return " ".join(text.split())
