"""Benchmark suites: folders of tasks, each with an issue, a repository and hidden tests.

NAME/task.toml      the fields of `TaskFacts`, such as title and test (a command): all optional
NAME/issue.md       the issue, as a user writes it
NAME/repository/    the repository's files
NAME/hidden/        tests, put over the fixed repository and run there
NAME/script.jsonl   answers of the model `scripted`: optional. A line with `when` is reserved for requests
                    that hold these words, such as those of a planner, a reviewer or a branch, so that one
                    script serves every strategy.

A suite may be made of the known fixes of public benchmarks, rows of SWE-bench. A fix is a task if its tests
are red on the code before it and green on the code with it, here and twice. Then its issue, its tests and the
tests' names become a folder of a suite; the code comes from the checkout.
"""

import ast
import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError

from coder.core.errors import CoderError, UserError
from coder.core.paths import is_test_file, is_test_path, test_file_of
from coder.core.text import explain_invalid_value
from coder.core.values import Value
from coder.core.verdict import TestReport
from coder.repo.git import find_checkout
from coder.repo.repository import SessionRepository, export_tree
from coder.repo.worktrees import apply_to_tree, changed_entries, compose_tree
from coder.verify.run import PytestRunner
from coder.wiring.project_runtime import ProjectRuntime
from coder.wiring.session import RuntimeOptions, open_runtime

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


REPEATS = 2
INSTANCE = re.compile(r"\w[\w.-]*")
"""Names of instances, which become names of folders."""
Report = Callable[[str], None]


def make_benchmark(
    rows: Iterable[Mapping[str, Any]],
    folder: Path,
    *,
    checkouts: Path,
    only: Sequence[str],
    options: RuntimeOptions,
    report: Report,
) -> None:
    """Make a suite of rows of SWE-bench, each with a checkout below `checkouts`.

    A checkout is called like the instance or like its repository (owner__name).
    """
    for row in rows:
        name = str(row.get("instance_id", ""))
        if (only and name not in only) or (folder / name / "task.toml").is_file():
            continue
        try:
            place, base = _find_row_checkout(row, checkouts)
            with open_runtime(place, **options) as (repository, runtime):
                reason = prepare_task(row, base, repository, runtime, folder / name)
        except CoderError as error:
            reason = str(error)
        report(f"skipped {name}: {reason}" if reason else f"task {name}")


def read_rows(file: Path, report: Report) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines.

    What is no row is reported and left out.

    Raises:
        UserError: it cannot be read.
    """
    try:
        entries: list[Any] = [_parse_json(line) for line in file.read_bytes().splitlines()]
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from None
    rows: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(entries, 1):
        name = entry.get("instance_id") if isinstance(entry, dict) else None
        if entry == "":
            continue
        if not isinstance(name, str) or not INSTANCE.fullmatch(name):
            report(f"skipped line {number}: no row of SWE-bench, which is a JSON object with an instance_id")
        elif name in rows:
            report(f"skipped line {number}: there is another row of {name} before it")
        else:
            rows[name] = entry
    return [*rows.values()]


def _parse_json(line: bytes) -> object:
    """Return the value of a line; empty text for an empty line, None if it is no JSON."""
    try:
        return json.loads(line) if line.strip() else ""
    except (ValueError, RecursionError):
        return None


# fixes


def is_runnable_test(path: str) -> bool:
    """Tell whether a path is a file of tests, and not just something that tests use."""
    if path.endswith((".py", ".pyi")):
        return is_test_file(path)
    return is_test_path(path) and path.endswith((".go", ".rs", ".js", ".ts", ".jsx", ".tsx", ".java", ".rb"))


def _apply_patches(
    row: Mapping[str, Any], base: str, repository: SessionRepository
) -> tuple[str, tuple[str, ...]]:
    """Return the tree with the patches of a row, and the paths of its tests.

    Raises:
        UserError: a field is missing, or a patch does not apply to the base.
    """
    git, root = repository.user_checkout.git, repository.root
    tree, tests = base, tuple[str, ...]()
    for field in ("test_patch", "patch"):
        patched = apply_to_tree(git, str(row.get(field) or ""), onto=tree, root=root)
        if patched is None:
            raise UserError(f"its {field} does not apply to {base[:10]}")
        if field == "test_patch":
            tests = tuple(changed_entries(git, old=git.resolve_tree(base), new=patched))
        tree = patched
    if not row.get("problem_statement") or not tests:
        raise UserError("it has no problem_statement, or no test_patch")
    return tree, tests


def _parse_names(value: object) -> tuple[str, ...]:
    """Return the names of tests: a list, or text of one in JSON or Python, as the data sets differ."""
    if isinstance(value, str):
        try:
            value = _read_literal(value)
        except (ValueError, SyntaxError):
            raise UserError("its FAIL_TO_PASS or PASS_TO_PASS is no list of tests") from None
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _read_literal(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text)


def _find_row_checkout(row: Mapping[str, Any], checkouts: Path) -> tuple[Path, str]:
    """Return the checkout of a row's repository, and its base there."""
    repository = str(row.get("repo", "")).replace("/", "__")
    instance = checkouts / str(row["instance_id"])
    place = instance if instance.is_dir() else checkouts / repository
    if not place.is_dir():
        raise UserError(f"there is no checkout {instance.name} or {repository} in {checkouts}")
    checkout = find_checkout(place)
    base = checkout.git.resolve_commit(str(row.get("base_commit") or "HEAD"))
    if base is None and place == instance:
        base = checkout.head  # a checkout made for this instance alone
    if base is None:
        raise UserError(f"{place} lacks its base_commit {str(row.get('base_commit'))[:10]}")
    return place, base


# tasks


def prepare_task(
    row: Mapping[str, Any], base: str, repository: SessionRepository, runtime: ProjectRuntime, folder: Path
) -> str:
    """Write the fix of a row as a task if its tests are red before and green after it; else return why not.

    Raises:
        UserError: it is no fix of the base.
    """
    git, issue = repository.user_checkout.git, str(row.get("problem_statement") or "")
    fixed_tree, tests = _apply_patches(row, base, repository)
    named_failing = _parse_names(row.get("FAIL_TO_PASS") or row.get("fail_to_pass"))
    named_passing = _parse_names(row.get("PASS_TO_PASS") or row.get("pass_to_pass"))
    entries = changed_entries(git, old=git.text("mktree"), new=git.resolve_tree(fixed_tree))
    hidden = [path for path in tests if path in entries]
    files = [path for path in hidden if is_runnable_test(path)]
    if not files:
        return "none of its tests can be run by itself"
    before_tree = compose_tree(git, old=base, new=fixed_tree, paths=tests)
    with repository.checkout(before_tree) as place:
        runner = runtime.runner()
        if not runtime.project.command.is_selective:
            return f"`{runtime.project.command.text}` cannot run single test files"
        before = [runner.run(place, files) for _ in range(REPEATS)]
    after = _run_tests(repository, runner, fixed_tree, files)
    if problem := next((report.problem for report in after if report.problem), None):
        return f"with the fix, its tests do not run here: {problem.text.splitlines()[0]}"
    failing, passing = _compare_runs(before, after)
    if named_failing:
        known = match_benchmark_names((*failing, *passing))
        wanted = {name: known(name) for name in named_failing}
        if missing := [name for name, ids in wanted.items() if not set(ids) & set(failing)]:
            count = f"{len(missing)} of {len(wanted)} tests are"
            return f"{count} not red before and green after it here, such as {missing[0]}"
        failing = [id for ids in wanted.values() for id in ids if id in failing]
        named = {id for name in named_passing for id in known(name)}
        passing = [id for id in passing if id in named]
    if not failing:
        return "no test is red before and green after it"
    facts = {
        "title": issue.partition("\n")[0].strip(),
        "test": shlex.join(
            [f"{name}={value}" for name, value in runtime.project.command.environment.items()]
            + [*_absolute_command(runtime)]
        ),
        "checkout": str(repository.root),
        "tree": base,
        "fail_to_pass": list(dict.fromkeys(failing)),
        "pass_to_pass": list(dict.fromkeys(passing)),
    }
    for path in hidden:
        target = folder / "hidden" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(git.call("cat-file", "blob", entries[path].blob).stdout)
    (folder / "issue.md").write_text(f"{issue}\n", encoding="utf-8")
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in facts.items())  # JSON's texts are TOML's
    (folder / "task.toml").write_text("".join(lines), encoding="utf-8")
    return ""


def _absolute_command(runtime: ProjectRuntime) -> tuple[str, ...]:
    """Return the test command of a project with its interpreter, for copies that have no environment."""
    command, interpreter = runtime.project.command, str(runtime.project.interpreter)
    if not command.uses_interpreter or command.argv[0].startswith("/"):
        return command.argv
    return (interpreter, *command.argv)


def _run_tests(
    repository: SessionRepository, runner: PytestRunner, tree: str, files: Sequence[str]
) -> list[TestReport]:
    with repository.checkout(tree) as place:
        return [runner.run(place, files) for _ in range(REPEATS)]


def _compare_runs(before: Sequence[TestReport], after: Sequence[TestReport]) -> tuple[list[str], list[str]]:
    """Return the tests that are green after and never before, and those that are green in all runs."""
    before_sets, after_sets = [*map(_find_green, before)], [*map(_find_green, after)]
    always = set[str].intersection(*after_sets)
    failing = sorted(always - set[str].union(*before_sets))
    return failing, sorted(always & set[str].intersection(*before_sets))


def _find_green(report: TestReport) -> set[str]:
    return {result.id for result in report.results if result.green}


def match_benchmark_names(ids: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a function from a benchmark's name of a test to our ids of it.

    Names are ids of pytest, `method (module.Class)` of unittest, or, as for SymPy, bare functions.
    """
    by_words: dict[tuple[str, ...], list[str]] = {}
    for id in ids:
        for variant in dict.fromkeys((id, id.partition("[")[0])):  # a bare function names all its parameters
            words = _id_words(variant)
            for start in range(len(words)):
                by_words.setdefault(words[start:], []).append(id)

    def find(name: str) -> tuple[str, ...]:
        match = re.match(r"(\w+) \(([\w.]+)\)", name)
        if match is None:
            words = _id_words(name)
        else:
            owner = match[2].removesuffix(f".{match[1]}")
            words = (*owner.split("."), match[1])
        return tuple(by_words.get(words, ()))

    return find


def _id_words(id: str) -> tuple[str, ...]:
    """Return the parts of a test's id: folders, module, classes, function with its parameters."""
    path, _, rest = id.partition("::")
    if not rest:
        return (path,)
    return (*re.sub(r"\.\w+$", "", path).split("/"), *rest.split("::"))
