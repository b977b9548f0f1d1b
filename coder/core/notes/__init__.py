"""Typed notes: each phase ends with one."""

from typing import Annotated, Literal

from pydantic import Field

from coder.core.notes.research import Evaluation, ResearchPlan, ResearchReport, ResearchResult
from coder.core.values.base import Value


class Sites(Value):
    """Locate's note: where the change belongs."""

    kind: Literal["sites"] = "sites"
    summary: str
    places: tuple[str, ...] = ()
    """`path`, `path:line` or `path::Qualified.name`, most likely first."""
    tests: tuple[str, ...] = ()
    """Ids of tests that fail already because of the issue."""


class Reproduction(Value):
    """Reproduce's note: the tests that fail because of the issue and for no other reason."""

    kind: Literal["reproduction"] = "reproduction"
    summary: str
    tests: tuple[str, ...]
    unrelated_tests: tuple[str, ...] = ()
    """Ids of tests that the model says are not about the issue."""


class Step(Value):
    """One small change of a plan."""

    intent: str
    """What is true of the code afterwards."""
    files: tuple[str, ...] = ()
    """Paths that it changes."""
    check: str = ""
    """What shows it done: a test's id, or a sentence."""


class Component(Value):
    """One module of code to build, with its interface and its tests."""

    name: str
    """Unique in its plan: letters, digits, hyphens and underscores."""
    purpose: str
    path: str
    """Its module, relative to the repository's root."""
    api: tuple[str, ...] = ()
    """Public interface, one signature each, such as `def load(path: Path) -> list[Task]`."""
    dependencies: tuple[str, ...] = ()
    """Names of the components that it imports."""
    tests: tuple[str, ...] = ()
    """Paths of its test files."""

    @property
    def files(self) -> tuple[str, ...]:
        """Paths that belong to it: its tests, then its module."""
        return (*self.tests, self.path)


class Plan(Value):
    """The planner's note: the remaining steps of a fix, in order, or the components of code to build."""

    kind: Literal["plan"] = "plan"
    summary: str
    steps: tuple[Step, ...] = ()
    components: tuple[Component, ...] = ()


class Done(Value):
    """Edit's and repair's note: the change is made."""

    kind: Literal["done"] = "done"
    summary: str
    """Description of the new behaviour, fit for a commit subject; empty where an earlier note says it."""
    unrelated_tests: tuple[str, ...] = ()
    """Ids of tests that the model says are not about the issue."""


class Diagnosis(Value):
    """Diagnose's note: why the last attempt failed and what to change."""

    kind: Literal["diagnosis"] = "diagnosis"
    summary: str
    places: tuple[str, ...] = ()
    start_over: bool = False
    """Undo what was changed outside the tests, and try another way."""
    unrelated_tests: tuple[str, ...] = ()
    """Ids of tests that the model says are not about the issue."""


Severity = Literal["blocker", "major", "minor"]


class Finding(Value):
    """One thing that a reviewer holds against a change."""

    severity: Severity
    path: str
    line: int = 0
    """In the changed file, from 1; 0 is the file as a whole."""
    text: str

    @property
    def place(self) -> str:
        """`path:line`, or the path of a finding on the whole file."""
        return f"{self.path}:{self.line}" if self.line else self.path


class Findings(Value):
    """Review's note: the verdict of an independent reviewer."""

    kind: Literal["findings"] = "findings"
    summary: str
    approve: bool
    """False requests changes before this goes anywhere."""
    findings: tuple[Finding, ...] = ()


class GiveUp(Value):
    """The end without a fix: what is known, for the next attempt."""

    kind: Literal["give_up"] = "give_up"
    summary: str
    places: tuple[str, ...] = ()
    """Suspected places, most suspicious first."""


class WrittenAnswer(Value):
    """The note of a question: the answer."""

    kind: Literal["answer"] = "answer"
    summary: str
    """Markdown."""


Note = Annotated[
    Sites
    | Reproduction
    | Plan
    | Done
    | Diagnosis
    | Findings
    | GiveUp
    | WrittenAnswer
    | ResearchPlan
    | ResearchResult
    | Evaluation
    | ResearchReport,
    Field(discriminator="kind"),
]
