"""The project's own linters on both sides of a change."""

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from coder.core.errors import SandboxError
from coder.core.phases import READ_ONLY
from coder.core.ports import Limits, Sandbox
from coder.core.values import Value
from coder.core.verdict import LintReport
from coder.verify.layout import nested_table, read_ini, read_toml
from coder.verify.project import Project

SECONDS = 30.0
_FINDING = re.compile(
    r"^(?:(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<text>.+)"
    r"|(?:[Ww]ould reformat:? | +--> )(?P<unformatted>.+?)(?::\d+)*)$",
    re.MULTILINE,
)


class Checker(Value):
    """A program that reports findings in files."""

    name: str
    arguments: tuple[str, ...] = ()
    """Arguments after `python -m NAME` or the program's name; the files follow."""
    files: tuple[str, ...] = ()
    """Files whose existence configures it."""
    table: str
    """Its configuration: a table below `tool` in pyproject.toml, a section of setup.cfg or tox.ini."""


CHECKERS = (
    Checker(
        name="ruff",
        arguments=("check", "--output-format=concise", "--no-cache", "--quiet"),
        files=("ruff.toml", ".ruff.toml"),
        table="ruff",
    ),
    Checker(name="ruff", arguments=("format", "--check", "--no-cache"), table="ruff.format"),
    Checker(name="flake8", files=(".flake8",), table="flake8"),
    Checker(
        name="pylint",
        arguments=("--output-format=parseable", "--score=n"),
        files=(".pylintrc", "pylintrc"),
        table="pylint",
    ),
    Checker(name="black", arguments=("--check",), table="black"),
    Checker(
        name="mypy",
        arguments=("--no-error-summary", "--hide-error-context", f"--cache-dir={os.devnull}"),
        files=("mypy.ini", ".mypy.ini"),
        table="mypy",
    ),
    Checker(
        name="bandit",
        arguments=("-q", "-f", "custom", "--msg-template", "{relpath}:{line}: {test_id} {msg}"),
        files=(".bandit",),
        table="bandit",
    ),
)


def checkers_of(root: Path) -> list[Checker]:
    """Return the checkers that a tree configures."""
    return [checker for checker in CHECKERS if _is_configured(checker, root)]


def _is_configured(checker: Checker, root: Path) -> bool:
    *around, last = checker.table.split(".")
    return (
        last in nested_table(read_toml(root / "pyproject.toml"), "tool", *around)
        or any(checker.table in read_ini(root / file) for file in ("setup.cfg", "tox.ini"))
        or any((root / file).is_file() for file in checker.files)
    )


class LinterChecks:
    """Runs a project's checkers on both sides of a change."""

    def __init__(self, project: Project, sandbox: Sandbox) -> None:
        """Prepare to run."""
        self._project = project
        self._sandbox = sandbox

    def compare(self, old: Path, new: Path, changed: Sequence[str]) -> LintReport:
        """Return findings in the changed files of the tree `new` that the tree `old` lacks.

        Nothing is written to the trees.
        """
        paths = [path for path in changed if path.endswith((".py", ".pyi")) and not path.startswith("-")]
        if not paths:
            return LintReport()
        ran: dict[str, None] = {}
        missing: dict[str, None] = {}
        findings: list[str] = []
        for checker in checkers_of(new):
            if program := self._program_of(checker):
                ran[checker.name] = None
                before, after = (self._findings(program, checker, tree, paths) for tree in (old, new))
                findings += (f"{checker.name}: {line}" for line in _new_findings(before, after))
            else:
                missing[checker.name] = None
        return LintReport(new=tuple(findings), ran=tuple(ran), missing=tuple(missing))

    def _program_of(self, checker: Checker) -> tuple[str, ...]:
        """Return how to start a checker: in the project's environment, or from its PATH; or nothing."""
        module = (str(self._project.interpreter), "-m", checker.name)
        ran = self._run((*module, "--version"), self._project.interpreter.parent)
        path = shutil.which(checker.name, path=self._project.environment.get("PATH"))
        return module if ran and ran[0] == 0 else (path,) if path else ()

    def _findings(
        self, program: Sequence[str], checker: Checker, tree: Path, paths: Sequence[str]
    ) -> list[tuple[str, str, str]]:
        """Return path, line and text of each finding in those of the files that exist."""
        files = [path for path in paths if (tree / path).is_file()]
        ran = self._run((*program, *checker.arguments, *files), tree) if files else None
        matches = _FINDING.finditer(ran[1]) if ran else ()
        found = [
            ((match["path"] or match["unformatted"]).removeprefix(f"{tree}/").removeprefix("./"), match)
            for match in matches
        ]
        return [
            (path, match["line"] or "1", (match["text"] or "is not formatted").strip())
            for path, match in found
            if path in files
        ]

    def _run(self, argv: Sequence[str], cwd: Path) -> tuple[int, str] | None:
        """Return exit code and output of a command; None if it could not do its work."""
        environment, limits = self._project.environment, Limits(wall_seconds=SECONDS)
        try:
            execution = self._sandbox.run(
                argv, cwd=cwd, environment=environment, policy=READ_ONLY, limits=limits
            )
        except SandboxError:
            return None
        return (execution.exit_code, execution.output) if execution.exit_code in (0, 1) else None


def _new_findings(
    before: Sequence[tuple[str, str, str]], after: Sequence[tuple[str, str, str]]
) -> Iterator[str]:
    """Yield findings that occur more often than before, comparing path and text only: lines move."""
    counts = Counter((path, text) for path, _, text in before)
    for path, line, text in after:
        if counts[path, text] > 0:
            counts[path, text] -= 1
        else:
            yield f"{path}:{line}: {text}"
