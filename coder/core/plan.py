"""Plans as Markdown, for a user to read and edit."""

import re
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

from coder.core.notes import Component, Plan, Step
from coder.core.paths import is_test_path

PLAN_HEADING, COMPONENTS_HEADING = "## The plan", "## The components"
STEP_PATTERN = re.compile(r"\d+[.)]\s+(?P<intent>\S.*)")
DETAIL_PATTERN = re.compile(r"\s*[-*]\s+(?P<name>[^:]*):(?P<text>.*)")
NAME_PATTERN = re.compile(r"[A-Za-z][\w-]*")
FORMAT_HINT = (
    "a step is a line `1. what is true then`, and below it, if you like, `- files: "
    "a.py` and `- seen by: a test`"
)
COMPONENT_HINT = (
    "a component is a line `1. name: purpose`, and below it `- path: a.py`, `- tests: tests/test_a.py` and, "
    "if you like, `- api: def f() -> int` (one a line) and `- needs: other`"
)
MOST_COMPONENTS = 12


def format_plan(plan: Plan) -> str:
    """Render a plan as Markdown, in the form that `parse_plan` reads."""
    lines = [COMPONENTS_HEADING if plan.components else PLAN_HEADING, _join_lines(plan.summary), ""]
    for number, step in enumerate(plan.steps, start=1):
        lines.append(f"{number}. {_join_lines(step.intent)}")
        lines += [f"   - files: {', '.join(step.files)}"] if step.files else []
        lines += [f"   - seen by: {_join_lines(step.check)}"] if step.check else []
    for number, component in enumerate(plan.components, start=1):
        lines.append(f"{number}. {component.name}: {_join_lines(component.purpose)}")
        lines.append(f"   - path: {component.path}")
        lines += [f"   - api: {_join_lines(signature)}" for signature in component.api]
        lines += [f"   - needs: {', '.join(component.dependencies)}"] if component.dependencies else []
        lines += [f"   - tests: {', '.join(component.tests)}"] if component.tests else []
    return "\n".join(lines)


def parse_plan(text: str) -> Plan:
    """Parse a plan: a heading and a summary, where present, then its steps or components in their order.

    Under the heading of components, or where a first one has a path, they are components.

    Raises:
        ValueError: it is not a plan; the message is half a sentence with the cause and the line.
    """
    lines = text.splitlines()
    if any(line.strip() == COMPONENTS_HEADING or line.strip(" -*").startswith("path:") for line in lines):
        return _parse_components(lines)
    summary: list[str] = []
    steps: list[Step] = []
    for number, line in enumerate(lines, start=1):
        if match := STEP_PATTERN.fullmatch(line.rstrip()):
            steps.append(Step(intent=match["intent"]))
        elif steps and line.strip():
            steps[-1] = _add_detail(steps[-1], line, number)
        elif line.strip() and not line.startswith("#"):
            summary.append(line.strip())
    if not steps:
        raise ValueError(f"there is no step in it; {FORMAT_HINT}")
    return Plan(summary=" ".join(summary) or steps[0].intent, steps=tuple(steps))


def find_plan_fault(plan: Plan) -> str:
    """Return why the components of a plan cannot be built, in half a sentence; empty if they can."""
    return next(_plan_faults(plan.components), "")


def order_components(components: Sequence[Component]) -> tuple[Component, ...]:
    """Return components so that each follows those that it imports.

    Raises:
        ValueError: they import each other in a circle.
    """
    by_name = {component.name: component for component in components}
    graph = {component.name: component.dependencies for component in components}
    try:
        return tuple(by_name[name] for name in TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise ValueError(f"{' needs '.join(reversed(error.args[1]))}: a circle") from None


def _plan_faults(components: Sequence[Component]) -> Iterator[str]:
    if not 1 <= len(components) <= MOST_COMPONENTS:
        yield f"it needs one to {MOST_COMPONENTS} components; {COMPONENT_HINT}"
    names = {component.name for component in components}
    owners: dict[str, str] = {}
    for component in components:
        if (
            not NAME_PATTERN.fullmatch(component.name)
            or sum(other.name == component.name for other in components) > 1
        ):
            yield f"{component.name!r} is no unique name of letters, digits, hyphens and underscores"
        if unknown := [name for name in component.dependencies if name not in names]:
            yield f"{component.name} needs {', '.join(unknown)}, which no component is called"
        if not component.tests:
            yield f"{component.name} has no tests"
        for path in component.files:
            if fault := _path_fault(path, is_test=path != component.path):
                yield f"{component.name}: {path!r} {fault}"
            elif owners.setdefault(path, component.name) != component.name:
                yield f"{path} belongs to {owners[path]} and to {component.name}"
    try:
        order_components(components)
    except ValueError as error:
        yield str(error)


def _path_fault(path: str, *, is_test: bool) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or str(pure) != path or pure.suffix != ".py":
        return "is no path of a Python file, relative to the repository's root"
    if is_test_path(path) != is_test:
        return "is no test file" if is_test else "is a test file"
    return ""


def _parse_components(lines: Sequence[str]) -> Plan:
    summary: list[str] = []
    components: list[dict[str, list[str]]] = []
    for number, line in enumerate(lines, start=1):
        if match := STEP_PATTERN.fullmatch(line.rstrip()):
            name, _, purpose = match["intent"].partition(":")
            components.append({"name": [name.strip(" `*")], "purpose": [purpose.strip()]})
        elif components and line.strip():
            _add_component_detail(components[-1], line, number)
        elif line.strip() and not line.startswith("#"):
            summary.append(line.strip())
    plan = Plan(summary=" ".join(summary), components=tuple(map(_build_component, components)))
    if fault := find_plan_fault(plan):
        raise ValueError(fault)
    return plan if plan.summary else plan.model_copy(update={"summary": plan.components[0].purpose})


def _add_component_detail(component: dict[str, list[str]], line: str, number: int) -> None:
    match DETAIL_PATTERN.fullmatch(line):
        case None if line[:1].isspace() and not line.lstrip().startswith(("- ", "* ")):
            component["purpose"].append(line.strip())
        case found if found and (name := found["name"].strip().lower()) in ("path", "api", "needs", "tests"):
            words = [found["text"].strip()] if name == "api" else found["text"].split(",")
            component.setdefault(name, []).extend(words)
        case _:
            raise ValueError(
                f"line {number} belongs to no component: {line.strip()[:60]!r}; {COMPONENT_HINT}"
            )


def _build_component(details: Mapping[str, Sequence[str]]) -> Component:
    return Component(
        name=details["name"][0],
        purpose=" ".join(details["purpose"]).strip(),
        path=next(iter(_paths(details.get("path", ()))), ""),
        api=tuple(signature.strip("`") for signature in details.get("api", ())),
        dependencies=_paths(details.get("needs", ())),
        tests=_paths(details.get("tests", ())),
    )


def _add_detail(step: Step, line: str, number: int) -> Step:
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
