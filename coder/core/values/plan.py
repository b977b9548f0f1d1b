"""A plan as Markdown: written for a person to read and edit, and read again."""

import re
from collections.abc import Sequence

from coder.core.notes import Plan, Step

HEADING = "## The plan"
STEP = re.compile(r"\d+[.)]\s+(?P<intent>\S.*)")
DETAIL = re.compile(r"\s*[-*]\s+(?P<name>[^:]*):(?P<text>.*)")
SHAPE = "a step is a line `1. what is true then`, and below it, if you like, `- files: a.py` and `- seen by: a test`"


def written(plan: Plan) -> str:
    """A plan as Markdown, in the shape that `read` understands."""
    lines = [HEADING, _flat(plan.summary), ""]
    for number, step in enumerate(plan.steps, start=1):
        lines.append(f"{number}. {_flat(step.intent)}")
        lines += [f"   - files: {', '.join(step.files)}"] if step.files else []
        lines += [f"   - seen by: {_flat(step.check)}"] if step.check else []
    return "\n".join(lines)


def read(text: str) -> Plan:
    """The plan in a text: a heading and an idea, where it has them, then its steps in the order of their lines.

    Raises:
        ValueError: it is none; the message says in half a sentence what is wrong, and in which line.
    """
    idea: list[str] = []
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if found := STEP.fullmatch(line.rstrip()):
            steps.append(Step(intent=found["intent"]))
        elif steps and line.strip():
            steps[-1] = _detailed(steps[-1], line, number)
        elif line.strip() and not line.startswith("#"):
            idea.append(line.strip())
    if not steps:
        raise ValueError(f"there is no step in it; {SHAPE}")
    return Plan(summary=" ".join(idea) or steps[0].intent, steps=tuple(steps))


def _detailed(step: Step, line: str, number: int) -> Step:
    """The step with what one more line says of it."""
    match DETAIL.fullmatch(line):
        case None if line[:1].isspace() and not line.lstrip().startswith(("- ", "* ")):
            return step.model_copy(update={"intent": f"{step.intent} {line.strip()}"})
        case found if found and found["name"].strip().lower() == "files":
            return step.model_copy(update={"files": _paths(found["text"].split(","))})
        case found if found and found["name"].strip().lower() in ("seen by", "check"):
            return step.model_copy(update={"check": found["text"].strip()})
        case _:
            raise ValueError(f"line {number} belongs to no step: {line.strip()[:60]!r}; {SHAPE}")


def _paths(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for word in words if (path := word.strip().strip("`")))


def _flat(text: str) -> str:
    """One line: what would begin a line of Markdown means nothing in the middle of one."""
    return " ".join(text.split())
