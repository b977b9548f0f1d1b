"""Execution of an issue's code and import of changed modules, before and after a change."""

import ast
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent

from coder.core.errors import SandboxError
from coder.core.phases import READ_ONLY
from coder.core.ports import Execution, Limits, Sandbox
from coder.core.values import Value
from coder.python.source import parse_module
from coder.verify.project.project import Project
from coder.verify.project.roots import module_name, source_roots
from coder.verify.running.launch import TARGET

MOST = 5
SECONDS = 20.0
_FENCED = re.compile(
    r"^[ \t]*```[ \t]*(?:python|py|pycon|python3)?[ \t]*\n(?P<code>.*?)^[ \t]*```", re.MULTILINE | re.DOTALL
)
_SESSION = re.compile(r"^[ \t]*>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)


class IssueScriptResults(Value):
    """Results of the issue's scripts on both sides of a change."""

    fixed: tuple[str, ...] = ()
    """First lines of code pieces of the issue that fail on the base and succeed with the change."""
    failing: tuple[str, ...] = ()
    """First lines of those that fail on both sides."""
    lost: tuple[str, ...] = ()
    """Changed modules that could be imported before and cannot be now."""


def code_in_issue(issue: str) -> tuple[str, ...]:
    """Return the code in an issue: fenced Python, and interpreter sessions anywhere in it."""
    candidates = [dedent(match["code"]) for match in _FENCED.finditer(issue)]
    candidates += [dedent(match[0]) for match in _SESSION.finditer(_FENCED.sub("", issue))]
    return tuple(dict.fromkeys(piece for piece in candidates if ">>>" in piece or _is_code(piece)))[:MOST]


def _is_code(text: str) -> bool:
    """Tell whether the text is Python that executes anything that can fail."""
    try:
        body = parse_module(text).body
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, ast.Call | ast.Assert | ast.Raise)
        for statement in body
        for node in ast.walk(statement)
    )


class IssueScripts:
    """Runs scripts in a read-only sandbox on both sides of a change."""

    def __init__(self, project: Project, sandbox: Sandbox, scratch: Path) -> None:
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch

    def compare(self, old: Path, new: Path, changed: Sequence[str], issue: str) -> IssueScriptResults:
        """Run the code of the issue, and import the changed modules, in both trees."""
        fixed: list[str] = []
        failing: list[str] = []
        for piece in code_in_issue(issue):
            before, after = self._succeeds(piece, old), self._succeeds(piece, new)
            if before is False and after is not None:
                (fixed if after else failing).append(piece.strip().partition("\n")[0])
        return IssueScriptResults(
            fixed=tuple(fixed),
            failing=tuple(failing),
            lost=tuple(self._unimportable_modules(old, new, changed)),
        )

    def _unimportable_modules(self, old: Path, new: Path, changed: Sequence[str]) -> Iterator[str]:
        for path in changed:
            if (name := module_name(path, new)) and (old / path).is_file() and (new / path).is_file():
                code = f"import {name}"
                if self._succeeds(code, new) is False and self._succeeds(code, old):
                    yield name

    def run_request(self, request: str, tree: Path) -> str:
        """Run `coder_script.py --error` in a tree and return its output; empty if it cannot be run."""
        execution = self._run(request, tree, "--error")
        return execution.output if execution is not None and execution.exit_code == 0 else ""

    def _succeeds(self, code: str, tree: Path) -> bool | None:
        """Run code in a tree and tell whether it succeeds; None if that cannot be determined."""
        execution = self._run(code, tree)
        if execution is None or execution.exit_code is None:
            return None
        return {0: True, 1: False}.get(execution.exit_code)

    def _run(self, text: str, tree: Path, *options: str) -> Execution | None:
        """Run `coder_script.py` on a file with this text; None if the sandbox fails."""
        with tempfile.TemporaryDirectory(prefix="script-", dir=self._scratch) as place:
            file = Path(place, "piece")
            file.write_text(text, encoding="utf-8")
            argv = (str(self._project.interpreter), str(TARGET / "coder_script.py"), *options, str(file))
            try:
                return self._sandbox.run(
                    argv,
                    cwd=tree,
                    environment=self._environment(tree),
                    policy=READ_ONLY,
                    limits=Limits(wall_seconds=SECONDS),
                )
            except SandboxError:
                return None

    def _environment(self, tree: Path) -> Mapping[str, str]:
        roots = os.pathsep.join(str(root) for root in source_roots(tree) or (tree,))
        return {**self._project.environment, "PYTHONPATH": roots, "PYTHONDONTWRITEBYTECODE": "1"}
