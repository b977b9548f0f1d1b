"""A workspace over a directory, whose ports are fakes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

from coder.core.errors import GitError, ToolError
from coder.core.notes import Note
from coder.core.ports import Execution, Limits, Progress
from coder.core.values import Policy
from coder.core.verdict import TestReport
from coder.index.index import SymbolIndex
from coder.tools.tool import Tool
from coder.workspace.workspace import Workspace
from tests.builders import write


@dataclass
class FakeSandbox:
    """Sandbox that answers every command with the same end, or with the command, and records its calls."""

    end: Execution | None = None
    calls: list[tuple[tuple[str, ...], Path, float]] = field(default_factory=list)
    environments: list[Mapping[str, str] | None] = field(default_factory=list)
    policies: list[Policy | None] = field(default_factory=list)
    stopped: bool = False

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        on_line: Progress | None = None,
        private: Path | None = None,
        cut: Event | None = None,
    ) -> Execution:
        self.calls.append((tuple(argv), cwd, (limits or Limits()).wall_seconds))
        self.environments.append(environment)
        self.policies.append(policy)
        return self.end or Execution(exit_code=0, output=" ".join(argv), seconds=0.0)

    def select_builds(self, private: Path, content: str) -> None:
        raise AssertionError("only test runners select what is built")

    def share_builds(self, private: Path) -> None:
        raise AssertionError("only test runners share what they build")

    def stop(self) -> None:
        self.stopped = True


@dataclass
class FakeHistory:
    """History that records its queries."""

    def log(
        self,
        *,
        path: str | None = None,
        lines: tuple[int, int] | None = None,
        word: str | None = None,
        count: int = 10,
    ) -> str:
        return f"log {path} {lines} {word} {count}"

    def show(self, revision: str, path: str | None = None) -> str:
        if revision == "gone":
            raise GitError("There is no commit 'gone' in this repository.")
        return f"show {revision} {path}: changed src/box.py:3"


@dataclass
class FakeTests:
    """A run and a baseline, with a record of the requested runs."""

    report: TestReport
    before: TestReport
    calls: list[tuple[str, ...]] = field(default_factory=list)
    base_calls: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, tests: tuple[str, ...], progress: Progress) -> TestReport:
        self.calls.append(tests)
        return self.report

    def baseline(self, tests: tuple[str, ...], progress: Progress) -> TestReport:
        self.base_calls.append(tests)
        return self.before


def workspace(
    root: Path,
    files: Mapping[str, str] | None = None,
    *,
    sandbox: FakeSandbox | None = None,
    tests: FakeTests | None = None,
    history: FakeHistory | None = None,
    only: tuple[str, ...] = (),
) -> Workspace:
    """Return a workspace over `root`, with these files written into it."""
    write(root, files or {})
    (root / ".git").mkdir(parents=True, exist_ok=True)
    empty_report = TestReport(command="pytest")
    fake_tests = tests or FakeTests(report=empty_report, before=empty_report)
    return Workspace(
        root=root,
        sandbox=sandbox or FakeSandbox(end=Execution(exit_code=0, output="", seconds=0.5)),
        history=history or FakeHistory(),
        run=fake_tests.run,
        baseline=fake_tests.baseline,
        index=SymbolIndex(root),
        only=only,
    )


def call_tool(tool: Tool, space: Workspace, /, **arguments: object) -> str:
    """Call a tool as a model does: arguments as JSON."""
    text = tool.function(space, **tool.validate_arguments(json.dumps(arguments)))
    assert isinstance(text, str)
    return text


def make_note(tool: Tool, space: Workspace, /, **arguments: object) -> Note:
    """Call a tool that hands over a note."""
    note = tool.function(space, **tool.validate_arguments(json.dumps(arguments)))
    assert not isinstance(note, str)
    return note


def call_refused_tool(tool: Tool, space: Workspace, **arguments: object) -> str:
    """Return the text of the ToolError that the call must raise."""
    with pytest.raises(ToolError) as error:
        call_tool(tool, space, **arguments)
    return str(error.value)
