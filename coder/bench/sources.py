"""Suites made of the known fixes of public benchmarks, rows of SWE-bench.

A fix is a task if its tests are red on the code before it and green on the code with it, here and twice. Then
its issue, its tests and the tests' names become a folder of a suite; the code comes from the checkout.
"""

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from coder.core.errors import CoderError, UserError
from coder.core.paths import is_test_file, is_test_path
from coder.core.verdict import TestReport
from coder.repo.git import find_checkout
from coder.repo.repository import SessionRepository
from coder.repo.worktrees import apply_to_tree, changed_entries, compose_tree
from coder.verify.run import PytestRunner
from coder.wiring.project_runtime import ProjectRuntime
from coder.wiring.session import RuntimeOptions, open_runtime

REPEATS = 2
INSTANCE = re.compile(r"\w[\w.-]*")
"""Names of instances, which become names of folders."""
SKIPPED = "skipped.jsonl"
"""Rows that are no task here, and why."""
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
        _note(name, reason, folder, report)


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


def _note(name: str, reason: str, folder: Path, report: Report) -> None:
    report(f"skipped {name}: {reason}" if reason else f"task {name}")
    if reason:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / SKIPPED).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"name": name, "reason": reason}, ensure_ascii=False) + "\n")
