"""Benchmark suites: folders of tasks, each with an issue, a repository and hidden tests.

NAME/task.toml      the fields of `TaskFacts`, such as title and test (a command): all optional
NAME/issue.md       the issue, as a user writes it
NAME/repository/    the repository's files
NAME/hidden/        tests, put over the fixed repository and run there
NAME/script.jsonl   answers of the model `scripted`: optional. A line with `when` is reserved for requests
                    that hold these words, such as those of a planner, a reviewer or a branch, so that one
                    script serves every strategy.
"""

import shutil
import tomllib
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from pydantic import ConfigDict, ValidationError

from coder.core.errors import UserError
from coder.core.paths import test_file_of
from coder.core.text import explain_invalid_value
from coder.core.values import Value
from coder.repo.repository import export_tree

BUILT_IN = {"starter": "suite", "challenges": "challenges"}
"""Folders of the suites that coder includes: repairs, and code to build (strategy `build`)."""
CACHE_DIRECTORIES = ("__pycache__", ".pytest_cache")


class TaskFacts(Value):
    """Contents of task.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str = ""
    about: str = ""
    """Sort of task, in a word or two."""
    solvable: bool = True
    """False if the task cannot be solved, and the right result is to deliver nothing."""
    test: str | None = None
    """Test command; None is pytest on the interpreter that coder runs on."""
    checkout: str = ""
    """Path of the checkout that the repository's files come from, instead of repository/."""
    tree: str = ""
    """Commit or tree of these files."""
    fail_to_pass: tuple[str, ...] = ()
    """Hidden tests that fail before the fix; empty if all hidden tests count."""
    pass_to_pass: tuple[str, ...] = ()
    """Hidden tests that pass before and after the fix."""


class SuiteTask(Value):
    """One task of a suite."""

    name: str
    folder: Path
    facts: TaskFacts

    @property
    def issue(self) -> str:
        return (self.folder / "issue.md").read_text(encoding="utf-8").strip()

    @property
    def script(self) -> Path:
        return self.folder / "script.jsonl"

    @property
    def hidden_tests(self) -> tuple[str, ...]:
        """Paths of the hidden test files, relative to the repository's root."""
        if self.facts.fail_to_pass:
            known = (*self.facts.fail_to_pass, *self.facts.pass_to_pass)
            return tuple(dict.fromkeys(map(test_file_of, known)))
        paths = (
            path
            for path in sorted(_files(self.folder / "hidden"))
            if path.suffix == ".py" and path.stem.startswith("test_")
        )
        return tuple(path.relative_to(self.folder / "hidden").as_posix() for path in paths)

    def digest(self) -> str:
        """Return a digest of everything in the task."""
        hash_ = sha256()
        for path in sorted(_files(self.folder)):
            hash_.update(
                path.relative_to(self.folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
            )
        return hash_.hexdigest()[:16]

    def unpack(self, directory: Path) -> None:
        """Copy the repository's files into a directory, without their history."""
        if self.facts.checkout:
            export_tree(Path(self.facts.checkout), self.facts.tree, directory)
            return
        ignored = shutil.ignore_patterns(*CACHE_DIRECTORIES, ".git")
        shutil.copytree(self.folder / "repository", directory, ignore=ignored)

    def reveal(self, directory: Path) -> None:
        """Copy the hidden tests into a directory."""
        shutil.copytree(
            self.folder / "hidden",
            directory,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns(*CACHE_DIRECTORIES),
        )


def load_suite(suite: str, only: Sequence[str] = ()) -> tuple[SuiteTask, ...]:
    """Return the tasks of a suite in the order of their names; coder includes `starter` and `challenges`.

    Raises:
        UserError: there is no such suite, or one of its tasks is incomplete.
    """
    folder = (
        Path(str(files("coder.bench") / BUILT_IN[suite]))
        if suite in BUILT_IN and not Path(suite).is_dir()
        else Path(suite)
    )
    if not folder.is_dir():
        names = " or ".join(f"`{name}`" for name in BUILT_IN)
        raise UserError(
            f"There is no suite {suite!r}: it is a folder of tasks, or {names}, which coder brings along."
        )
    tasks = [_load_task(path) for path in sorted(folder.iterdir()) if (path / "issue.md").is_file()]
    if not tasks:
        raise UserError(f"{folder} holds no task: each is a folder with issue.md, repository/ and hidden/.")
    if unknown := sorted({*only} - {task.name for task in tasks}):
        raise UserError(
            f"{folder} holds no task {unknown[0]!r}. There are: {', '.join(task.name for task in tasks)}."
        )
    return tuple(task for task in tasks if not only or task.name in only)


def _load_task(folder: Path) -> SuiteTask:
    try:
        text = (folder / "task.toml").read_text(encoding="utf-8") if (folder / "task.toml").is_file() else ""
        task = SuiteTask(
            name=folder.name, folder=folder.resolve(), facts=TaskFacts.model_validate(tomllib.loads(text))
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{folder / 'task.toml'}: {error}") from None
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(map(str, fault["loc"]))
        raise UserError(f"{folder / 'task.toml'}: {name}: {explain_invalid_value(fault['msg'])}") from None
    if not (folder / "repository").is_dir() and not task.facts.checkout:
        raise UserError(f"{folder} has no repository/.")
    if not task.hidden_tests:
        raise UserError(
            f"{folder / 'hidden'} holds no tests (test_*.py), so nobody could say whether the task is solved."
        )
    return task


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not {*path.parts} & {*CACHE_DIRECTORIES}]
