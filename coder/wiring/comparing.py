"""Comparison of the behavior of two states of a repository, or of one state in two environments."""

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from coder.behavior.comparison import BehaviorComparison
from coder.behavior.runs import find_changed_code
from coder.core.errors import UserError
from coder.core.paths import is_test_path
from coder.core.ports import Progress
from coder.files.regular_files import project_files, read_texts
from coder.repo.history import resolve_change
from coder.verify.change import ChangeSplit
from coder.verify.layout import test_file_predicate
from coder.verify.select import select_test_files
from coder.wiring.project_runtime import ProjectRuntime
from coder.wiring.session import RuntimeOptions, open_runtime
from coder.workspace.workspace import format_count


def compare_behavior(
    directory: Path,
    *,
    revision: str | None,
    against: str | None = None,
    tests: Sequence[str] = (),
    environment: Path | None = None,
    seconds: float,
    progress: Progress | None = None,
    **options: Unpack[RuntimeOptions],
) -> tuple[str, BehaviorComparison | None]:
    """Compare what the calls of tests give before and after a change, and return what was compared.

    The change is that of `resolve_change`; with another virtual `environment` for it and no revision, the
    uncommitted work is compared with itself. Without `tests` the calls are those of the tests that reach the
    change. The answers may take so many `seconds`. None if no call was recorded on both sides.

    Raises:
        UserError: the repository cannot be worked on, or there is nothing to compare.
    """
    interpreter = _find_interpreter(environment) if environment is not None else None
    change = None
    if interpreter is None or revision is not None or against is not None:
        change = resolve_change(directory, revision=revision, against=against)
    label = f"{change.label}" if change else "the work tree"
    if environment is not None:
        label += f", with {environment}"
    base = change.base if change else None
    with open_runtime(directory, base=base, **options) as (repository, runtime):
        tree = change.tree if change else repository.base_tree
        split = ChangeSplit(repository, tree)
        with split.checkout("tests") as old, split.checkout("change") as new:
            _check_recorded(runtime)
            chosen = tests or _reaching_tests(runtime, split, old=old, new=new)
            if progress is not None:
                progress(
                    f"comparing the calls of {format_count(len(chosen), 'test' if tests else 'test file')}"
                )
            sources = [path for path in split.sources if path.endswith(".py")]
            code = find_changed_code(read_texts(old, sources), read_texts(new, sources))
            runs = runtime.behavior_runs(seconds=seconds, interpreter=interpreter)
            comparison = runs.compare(
                old, new, code, tests=chosen, run_seconds=runtime.limits.wall_seconds or seconds
            )
    return label, comparison


def _find_interpreter(environment: Path) -> Path:
    candidates = (environment, *(environment / place for place in ("bin/python", "Scripts/python.exe")))
    for candidate in candidates:
        if candidate.is_file():
            return candidate.absolute()
    raise UserError(f"{environment} is no virtual environment: it has no bin/python.")


def _check_recorded(runtime: ProjectRuntime) -> None:
    if (problem := runtime.project.problem) is not None:
        raise UserError(problem.text)
    if not runtime.project.command.is_recorded:
        raise UserError(
            "Behavior is compared for pytest, unittest and Django's runner alone, and the tests run with "
            f"`{runtime.project.command.text}`. If there are Python tests: --test 'python -m pytest'."
        )


def _reaching_tests(runtime: ProjectRuntime, split: ChangeSplit, *, old: Path, new: Path) -> list[str]:
    """Return the test files that reach a change, nearest first; all of them where that may be any."""
    command = runtime.project.command.text
    selection = select_test_files(old, new, split.changed)
    if selection is not None and (files := [file for file in selection.files if (old / file).is_file()]):
        return files
    is_test = test_file_predicate(old, command)
    return [path for path in project_files(old) if path.endswith(".py") and is_test(path)] or [
        path for path in project_files(old) if path.endswith(".py") and is_test_path(path)
    ]
