"""The project's own linters, formatters, type checkers and security scanners: what they find in a change that they did not find before."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.errors import SandboxError
from coder.core.policy import READ_ONLY
from coder.core.ports.sandbox import Execution, Limits, Sandbox
from coder.core.values.base import Value
from coder.core.values.verdict import Checked
from coder.verify.project.project import Project
from coder.verify.project.roots import read_ini, read_text, read_toml

SECONDS = 30.0
_FOUND = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<text>.+)$", re.MULTILINE)
_UNFORMATTED = re.compile(r"^(?:[Ww]ould reformat:? | +--> )(?P<path>.+?)(?::\d+)*$", re.MULTILINE)


class Checker(Value):
    """One program that reads files and complains."""

    name: str
    arguments: tuple[str, ...]
    """After `python -m NAME` or the program's name; the files follow."""
    files: tuple[str, ...] = ()
    """Whose being there configures it."""
    table: str = ""
    """Of `[tool.*]` in pyproject.toml."""
    section: str = ""
    """Of setup.cfg or tox.ini."""
    formats: bool = False
    whole: tuple[str, ...] = (".",)
    """What stands for the files where the whole project is meant."""
    cache: tuple[str, ...] = ()
    """Arguments before the directory in which it may remember what it has checked."""


RUFF = Checker(
    name="ruff",
    arguments=("check", "--output-format=concise", "--no-cache", "--quiet"),
    files=("ruff.toml", ".ruff.toml"),
    table="ruff",
)
CHECKERS = (
    RUFF,
    Checker(name="ruff", arguments=("format", "--check", "--no-cache"), table="ruff.format", formats=True),
    Checker(name="flake8", arguments=(), files=(".flake8",), section="flake8"),
    Checker(
        name="pylint",
        arguments=("--output-format=parseable", "--score=n"),
        files=(".pylintrc", "pylintrc"),
        table="pylint",
    ),
    Checker(name="black", arguments=("--check",), table="black", formats=True),
    Checker(
        name="mypy",
        arguments=("--no-error-summary", "--hide-error-context", "--no-sqlite-cache"),
        cache=("--cache-dir",),
        files=("mypy.ini", ".mypy.ini"),
        table="mypy",
        section="mypy",
    ),
    Checker(
        name="bandit",
        arguments=("-q", "-f", "custom", "--msg-template", "{relpath}:{line}: {test_id} {msg}"),
        files=(".bandit",),
        whole=("-r", "."),
        table="bandit",
    ),
)
USUAL = RUFF.model_copy(
    update={"arguments": (*RUFF.arguments, "--isolated", "--select=E9,F,B,S", "--ignore=S101")}
)
"""Where a project has none of its own: pyflakes', bugbear's and bandit's rules, in ruff."""


def checkers_of(root: Path) -> tuple[Checker, ...]:
    """Those that the project configures."""
    tables = read_toml(root / "pyproject.toml").get("tool", {})
    sections = {name for file in ("setup.cfg", "tox.ini") for name in read_ini(root / file)}
    return tuple(checker for checker in CHECKERS if _configured(checker, root, tables, sections))


def concerned(old: Path, new: Path) -> tuple[Checker, ...]:
    """Those that both trees configure, each in its own way."""
    before = checkers_of(old)
    there = (checker for checker in checkers_of(new) if checker in before)
    return tuple(checker for checker in there if _configuration(checker, old) != _configuration(checker, new))


def _configuration(checker: Checker, root: Path) -> object:
    found: object = read_toml(root / "pyproject.toml").get("tool", {})
    for name in checker.table.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    inis = [read_ini(root / file) for file in ("setup.cfg", "tox.ini")]
    sections = [dict(ini[checker.section]) if checker.section in ini else None for ini in inis]
    return found, sections, [read_text(root / name) for name in checker.files]


def _configured(checker: Checker, root: Path, tables: Mapping[str, object], sections: set[str]) -> bool:
    found: object = tables
    for name in checker.table.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return (
        found is not None
        or checker.section in sections
        or any((root / name).is_file() for name in checker.files)
    )


class Checks:
    """Runs a project's checkers on both sides of a change."""

    def __init__(self, project: Project, sandbox: Sandbox, scratch: Path) -> None:
        """`scratch` is a directory outside of any tree that sandboxed commands may write."""
        self._project = project
        self._sandbox = sandbox
        self._cache = scratch / "checks"

    def compared(self, old: Path, new: Path, changed: Sequence[str]) -> Checked:
        """What checkers find in the changed files of the tree `new` and not in the tree `old`; trees are left as they are."""
        there = [
            path
            for path in changed
            if path.endswith((".py", ".pyi")) and (new / path).is_file() and not path.startswith("-")
        ]
        checkers = checkers_of(new) or (USUAL,)
        own = checkers != (USUAL,)
        told: list[str] = []
        ran, missing = [], []
        for checker in checkers if there else ():
            program = self._program(checker)
            if program is None:
                missing += [checker.name] if own else []
                continue
            ran.append(checker.name)
            before = self._found(program, checker, old, [path for path in there if (old / path).is_file()])
            told += [
                f"{checker.name}: {line}"
                for line in _fresh(before, self._found(program, checker, new, there))
            ]
        ends: dict[str, list[str]] = {"mended": [], "failing": [], "broken": []}
        for checker in concerned(old, new) if not any(path.endswith(".py") for path in changed) else ():
            command, end = self._ends(checker, old, new)
            ends.setdefault(end, []).append(command)
        found = {name: tuple(ends[name]) for name in ("mended", "failing", "broken")}
        return Checked(
            new=tuple(told), ran=tuple(dict.fromkeys(ran)), missing=tuple(dict.fromkeys(missing)), **found
        )

    def _ends(self, checker: Checker, old: Path, new: Path) -> tuple[str, str]:
        """What a change of its configuration alone does to a checker's run over the whole project."""
        words = (checker.name, *checker.arguments[: 1 if checker.name == "ruff" else 0], *checker.whole)
        program = self._program(checker)
        passes = [self._passes(program, checker, tree) if program else None for tree in (old, new)]
        known = {
            (False, True): "mended",
            (False, False): "failing",
            (True, False): "broken",
            (None, True): "mended",
            (True, None): "broken",
        }
        return " ".join(words), known.get((passes[0], passes[1]), "")

    def _passes(self, program: Sequence[str], checker: Checker, tree: Path) -> bool | None:
        """None where it cannot be run, as with a configuration that it refuses."""
        cache = (*checker.cache, str(self._remembered(checker, ()))) if checker.cache else ()
        done = self._done((*program, *checker.arguments, *cache, *checker.whole), cwd=tree)
        return done.exit_code == 0 if done is not None and done.exit_code in (0, 1) else None

    def _program(self, checker: Checker) -> tuple[str, ...] | None:
        """How it is started: in the project's environment, else as found on its PATH."""
        if (
            self._run(
                (str(self._project.interpreter), "-m", checker.name, "--version"),
                cwd=self._project.interpreter.parent,
            )
            is not None
        ):
            return (str(self._project.interpreter), "-m", checker.name)
        found = shutil.which(checker.name, path=self._project.environment.get("PATH"))
        return (found,) if found else None

    def _found(
        self, program: Sequence[str], checker: Checker, tree: Path, files: Sequence[str]
    ) -> list[tuple[str, str, str]]:
        """Path, line and text of each finding in these files."""
        cache = (*checker.cache, str(self._remembered(checker, files))) if checker.cache else ()
        output = (
            self._run((*program, *checker.arguments, *cache, *files), cwd=tree, accept=(0, 1))
            if files
            else ""
        )
        if output is None:
            return []
        if checker.formats:
            paths = [match["path"].removeprefix(f"{tree}/") for match in _UNFORMATTED.finditer(output)]
            return [(path, "1", "is not formatted") for path in paths]
        matches = [
            (match["path"].removeprefix(f"{tree}/").removeprefix("./"), match)
            for match in _FOUND.finditer(output)
        ]
        return [(path, match["line"], match["text"].strip()) for path, match in matches if path in files]

    def _remembered(self, checker: Checker, files: Sequence[str]) -> Path:
        """A directory that both sides share, which knows nothing of the files in which they differ: times would not tell these apart."""
        place = self._cache / checker.name
        place.mkdir(parents=True, exist_ok=True)
        stems = {_stem(path) for path in files}
        for entry in place.rglob("*"):
            if entry.is_file() and entry.name.partition(".")[0] in stems:
                entry.unlink()
        return place

    def _run(self, argv: Sequence[str], *, cwd: Path, accept: Sequence[int] = (0,)) -> str | None:
        """What it prints; None where it does not run."""
        done = self._done(argv, cwd=cwd)
        return done.output if done is not None and done.exit_code in accept else None

    def _done(self, argv: Sequence[str], *, cwd: Path) -> Execution | None:
        limits = Limits(wall_seconds=SECONDS)
        try:
            return self._sandbox.run(
                argv, cwd=cwd, environment=self._project.environment, policy=READ_ONLY, limits=limits
            )
        except SandboxError:
            return None


def _stem(path: str) -> str:
    return PurePosixPath(path).name.partition(".")[0]


def _fresh(before: Sequence[tuple[str, str, str]], after: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """What is there more often than before: lines move, so only path and text are compared."""
    known = Counter((path, text) for path, _, text in before)
    for path, line, text in after:
        if known[path, text] > 0:
            known[path, text] -= 1
        else:
            yield f"{path}:{line}: {text}"
