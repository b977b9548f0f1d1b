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
    builds = any(
        line.strip() == COMPONENTS_HEADING or line.strip(" -*").startswith("path:") for line in lines
    )
    summary: list[str] = []
    items: list[dict[str, list[str]]] = []
    for number, line in enumerate(lines, start=1):
        if match := STEP_PATTERN.fullmatch(line.rstrip()):
            items.append({"": [match["intent"]]})
        elif items and line.strip():
            _add_detail(items[-1], line, number, builds=builds)
        elif line.strip() and not line.startswith("#"):
            summary.append(line.strip())
    plan = Plan(
        summary=" ".join(summary),
        steps=() if builds else tuple(map(_build_step, items)),
        components=tuple(map(_build_component, items)) if builds else (),
    )
    if (
        fault := find_plan_fault(plan)
        if builds
        else ""
        if items
        else f"there is no step in it; {FORMAT_HINT}"
    ):
        raise ValueError(fault)
    first = plan.components[0].purpose if builds else plan.steps[0].intent
    return plan if plan.summary else plan.model_copy(update={"summary": first})


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


def _add_detail(item: dict[str, list[str]], line: str, number: int, *, builds: bool) -> None:
    """Add a line below a step or component: one more of its text, or a detail by its name."""
    known = ("path", "api", "needs", "tests") if builds else ("files", "seen by", "check")
    found = DETAIL_PATTERN.fullmatch(line)
    if found and (name := found["name"].strip().lower()) in known:
        item.setdefault(name, []).append(found["text"].strip())
    elif found is None and line[:1].isspace() and not line.lstrip().startswith(("- ", "* ")):
        item[""].append(line.strip())
    else:
        kind, hint = ("component", COMPONENT_HINT) if builds else ("step", FORMAT_HINT)
        raise ValueError(f"line {number} belongs to no {kind}: {line.strip()[:60]!r}; {hint}")


def _build_step(details: Mapping[str, Sequence[str]]) -> Step:
    checks = [*details.get("seen by", ()), *details.get("check", ())]
    return Step(
        intent=" ".join(details[""]), files=_paths(details.get("files", ())), check="".join(checks[-1:])
    )


def _build_component(details: Mapping[str, Sequence[str]]) -> Component:
    name, _, purpose = details[""][0].partition(":")
    return Component(
        name=name.strip(" `*"),
        purpose=" ".join((purpose.strip(), *details[""][1:])).strip(),
        path=next(iter(_paths(details.get("path", ()))), ""),
        api=tuple(signature.strip("`") for signature in details.get("api", ())),
        dependencies=_paths(details.get("needs", ())),
        tests=_paths(details.get("tests", ())),
    )


def _paths(lists: Sequence[str]) -> tuple[str, ...]:
    """Split lists at their commas."""
    return tuple(path for word in ",".join(lists).split(",") if (path := word.strip().strip("`")))


def _join_lines(text: str) -> str:
    """Join the text into one line, where Markdown that starts a line has no effect."""
    return " ".join(text.split())
