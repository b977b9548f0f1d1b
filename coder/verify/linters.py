"""The project's own linters on both sides, and public names that differ."""

import ast
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.errors import SandboxError
from coder.core.phases import READ_ONLY
from coder.core.ports import Execution, Limits, Sandbox
from coder.core.values import Value
from coder.core.verdict import LintReport
from coder.files.regular_files import read_regular_text
from coder.python.source import parse_module
from coder.verify.layout import nested_table, read_ini, read_toml
from coder.verify.project import Project

SECONDS = 30.0
_FINDING = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<text>.+)$", re.MULTILINE)
_UNFORMATTED = re.compile(r"^(?:[Ww]ould reformat:? | +--> )(?P<path>.+?)(?::\d+)*$", re.MULTILINE)


class Checker(Value):
    """A program that reports findings in files."""

    name: str
    arguments: tuple[str, ...]
    """Arguments after `python -m NAME` or the program's name; the files follow."""
    files: tuple[str, ...] = ()
    """Files whose existence configures it."""
    table: str = ""
    """Its table under `[tool.*]` in pyproject.toml."""
    section: str = ""
    """Its section in setup.cfg or tox.ini."""
    formats: bool = False
    whole: tuple[str, ...] = (".",)
    """Arguments that stand for the whole project in place of files."""
    cache: tuple[str, ...] = ()
    """Arguments before its cache directory."""


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
DEFAULT_CHECKER = RUFF.model_copy(
    update={"arguments": (*RUFF.arguments, "--isolated", "--select=E9,F,B,S", "--ignore=S101")}
)
"""For projects without a checker: the rules of pyflakes, bugbear and bandit, in ruff."""


def checkers_of(root: Path) -> tuple[Checker, ...]:
    return tuple(
        checker for checker in CHECKERS if any(part is not None for part in _configuration(checker, root))
    )


def reconfigured_checkers(old: Path, new: Path) -> tuple[Checker, ...]:
    """Return the checkers that both trees configure, but differently."""
    before = checkers_of(old)
    candidates = (checker for checker in checkers_of(new) if checker in before)
    return tuple(
        checker for checker in candidates if _configuration(checker, old) != _configuration(checker, new)
    )


def _configuration(checker: Checker, root: Path) -> list[object]:
    """Return what configures a checker in each place that may; None where nothing does."""
    *around, last = checker.table.split(".")
    inis = [read_ini(root / file) for file in ("setup.cfg", "tox.ini")]
    files = [root / name for name in checker.files]
    return [
        nested_table(read_toml(root / "pyproject.toml"), "tool", *around).get(last),
        *(dict(ini[checker.section]) if checker.section in ini else None for ini in inis),
        *(read_regular_text(file) if file.is_file() else None for file in files),
    ]


class LinterChecks:
    """Runs a project's checkers on both sides of a change."""

    def __init__(self, project: Project, sandbox: Sandbox, scratch: Path) -> None:
        """Prepare to run; `scratch` is a directory outside of any tree, writable for sandboxed commands."""
        self._project = project
        self._sandbox = sandbox
        self._cache = scratch / "checks"

    def compare(self, old: Path, new: Path, changed: Sequence[str]) -> LintReport:
        """Return findings in the changed files of the tree `new` that the tree `old` lacks.

        Nothing is written to the trees.
        """
        paths = [
            path
            for path in changed
            if path.endswith((".py", ".pyi")) and (new / path).is_file() and not path.startswith("-")
        ]
        checkers = checkers_of(new) or (DEFAULT_CHECKER,)
        is_configured = checkers != (DEFAULT_CHECKER,)
        findings: list[str] = []
        ran, missing = [], []
        for checker in checkers if paths else ():
            program = self._command_of(checker)
            if program is None:
                missing += [checker.name] if is_configured else []
                continue
            ran.append(checker.name)
            before = self._findings(program, checker, old, [path for path in paths if (old / path).is_file()])
            findings += [
                f"{checker.name}: {line}"
                for line in _new_findings(before, self._findings(program, checker, new, paths))
            ]
        commands_by_effect: dict[str, list[str]] = {"fixed": [], "failing": [], "broken": []}
        for checker in (
            reconfigured_checkers(old, new) if not any(path.endswith(".py") for path in changed) else ()
        ):
            command, effect = self._effect_of_configuration(checker, old, new)
            commands_by_effect.setdefault(effect, []).append(command)
        effects = {name: tuple(commands_by_effect[name]) for name in ("fixed", "failing", "broken")}
        return LintReport(
            new=tuple(findings),
            ran=tuple(dict.fromkeys(ran)),
            missing=tuple(dict.fromkeys(missing)),
            **effects,
        )

    def _effect_of_configuration(self, checker: Checker, old: Path, new: Path) -> tuple[str, str]:
        """Return the command of a checker and how a change of its configuration affects the whole project."""
        command = (checker.name, *checker.arguments[: 1 if checker.name == "ruff" else 0], *checker.whole)
        program = self._command_of(checker)
        passes = [self._passes(program, checker, tree) if program else None for tree in (old, new)]
        effects = {
            (False, True): "fixed",
            (False, False): "failing",
            (True, False): "broken",
            (None, True): "fixed",
            (True, None): "broken",
        }
        return " ".join(command), effects.get((passes[0], passes[1]), "")

    def _passes(self, program: Sequence[str], checker: Checker, tree: Path) -> bool | None:
        """Tell whether a checker passes on the whole project.

        None if it cannot run, as with a configuration that it rejects.
        """
        cache = self._cache_options(checker, ())
        execution = self._execute((*program, *checker.arguments, *cache, *checker.whole), cwd=tree)
        return execution.exit_code == 0 if execution is not None and execution.exit_code in (0, 1) else None

    def _command_of(self, checker: Checker) -> tuple[str, ...] | None:
        """Return how to start a checker: in the project's environment, or from its PATH.

        None if it is not installed.
        """
        module = (str(self._project.interpreter), "-m", checker.name)
        if self._run((*module, "--version"), cwd=self._project.interpreter.parent) is not None:
            return module
        path = shutil.which(checker.name, path=self._project.environment.get("PATH"))
        return (path,) if path else None

    def _findings(
        self, program: Sequence[str], checker: Checker, tree: Path, files: Sequence[str]
    ) -> list[tuple[str, str, str]]:
        """Return path, line and text of each finding in these files."""
        cache = self._cache_options(checker, files)
        command = (*program, *checker.arguments, *cache, *files)
        output = self._run(command, cwd=tree, accept=(0, 1)) if files else None
        if output is None:
            return []
        if checker.formats:
            paths = [match["path"].removeprefix(f"{tree}/") for match in _UNFORMATTED.finditer(output)]
            return [(path, "1", "is not formatted") for path in paths]
        matches = [
            (match["path"].removeprefix(f"{tree}/").removeprefix("./"), match)
            for match in _FINDING.finditer(output)
        ]
        return [(path, match["line"], match["text"].strip()) for path, match in matches if path in files]

    def _cache_options(self, checker: Checker, files: Sequence[str]) -> tuple[str, ...]:
        """Return the options for the cache directory that both sides share, without entries of `files`.

        The sides differ in these files, and modification times would not tell them apart.
        """
        if not checker.cache:
            return ()
        directory = self._cache / checker.name
        directory.mkdir(parents=True, exist_ok=True)
        stems = {PurePosixPath(path).name.partition(".")[0] for path in files}
        for entry in directory.rglob("*"):
            if entry.is_file() and entry.name.partition(".")[0] in stems:
                entry.unlink()
        return (*checker.cache, str(directory))

    def _run(self, argv: Sequence[str], *, cwd: Path, accept: Sequence[int] = (0,)) -> str | None:
        """Return the output of a command, None if it cannot run or its exit code is not accepted."""
        execution = self._execute(argv, cwd=cwd)
        return execution.output if execution is not None and execution.exit_code in accept else None

    def _execute(self, argv: Sequence[str], *, cwd: Path) -> Execution | None:
        limits = Limits(wall_seconds=SECONDS)
        try:
            return self._sandbox.run(
                argv, cwd=cwd, environment=self._project.environment, policy=READ_ONLY, limits=limits
            )
        except SandboxError:
            return None


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


def api_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Describe removed public names and incompatible signatures, half a sentence each; texts by path.

    Added names are compatible, and so are new optional parameters at the end.
    """
    changes = []
    for path in sorted(old):
        before, after = _public_api(old[path]), _public_api(new.get(path, ""))
        if before is None or after is None:
            continue
        for name, parameters in before.items():
            if name not in after:
                changes.append(f"the public name `{name}` of {path} is gone")
            elif not _is_compatible(parameters, after[name]):
                changes.append(
                    f"the signature of `{name}` in {path} has changed: "
                    f"`({', '.join(parameters)})` → `({', '.join(after[name])})`"
                )
    return changes


def _is_compatible(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Tell whether every call that matched the old parameters matches the new ones."""
    added = [parameter for parameter in after if parameter not in before]
    return [parameter for parameter in after if parameter in before] == [*before] and all(
        "=" in word or word.startswith("*") for word in added
    )


def _public_api(text: str) -> dict[str, tuple[str, ...]] | None:
    """Return the parameters of each public function and method, empty for other names.

    None if the text does not parse.
    """
    try:
        return dict(_public_names(parse_module(text).body, ""))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _public_names(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if (
                not name.startswith("_") or name == "__init__"
            ):
                yield prefix + name, _parameters(node.args)
            case ast.ClassDef(name=name, body=methods) if not name.startswith("_"):
                yield prefix + name, ()
                yield from _public_names(methods, f"{prefix}{name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
                not name.startswith("_")
            ):
                yield prefix + name, ()


def _parameters(arguments: ast.arguments) -> tuple[str, ...]:
    """Return parameter names in order.

    `=` marks an optional one, stars are as in the source, and `, named` marks a keyword-only one.
    """
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = len(positional) - len(arguments.defaults)
    parameters = [f"{argument.arg}{'=' * (place >= needed)}" for place, argument in enumerate(positional)]
    parameters += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(f"{argument.arg}, named{'=' * (default is not None)}")
    parameters += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return tuple(parameters)
