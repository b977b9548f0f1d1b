"""Cases of the repair benchmark: a faulty tree, the tests that detect the fault, and the correct files."""

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.faults import fault
from benchmarks.suites import Suite, newly_failing
from coder.core.paths import is_test_path

MOST_FAILING = 12
"""A fault that more tests detect is too easy."""
ENDLESS_SECONDS = 20.0
"""A faulty program whose tests run longer does not end."""
HELPERS = ("/__init__.py", "/conftest.py")
SMALLEST = 400
"""Minimum length in characters of a source file for a fault."""
SAID = re.compile(r"\b(error|bug|fix|issue|mistake|incorrect|fault|defect|flaw)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One fault; the tree is a directory of its own that is not in git yet."""

    kind: str
    """`single`, `double`, `real`, `classic` or `quixbugs`."""
    name: str
    tree: Path
    failing: tuple[str, ...]
    right: dict[str, str]
    """Correct source files, by path."""
    expected: tuple[str, ...]
    """Tests that pass on the right files."""
    suite: Suite
    note: str = ""


def copy_tree(source: Path, target: Path) -> Path:
    """Return the tree without its history and caches."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        source,
        target,
        ignore=shutil.ignore_patterns(".git", "__pycache__", ".venv", ".tox", "*.egg-info"),
        symlinks=True,
    )
    return target


def classic(folder: Path, scratch: Path, suite: Suite) -> Iterator[Case]:
    """Yield algorithms with one wrong line each."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        tree = copy_tree(place, scratch / place.name)
        file = tree / f"{place.name}.py"
        number, _, line = (tree / "right.txt").read_text(encoding="utf-8").rstrip("\n").partition(":")
        (tree / "right.txt").unlink()
        wrong = file.read_text(encoding="utf-8")
        lines = wrong.splitlines(keepends=True)
        lines[int(number) - 1] = f"{line}\n"
        file.write_text("".join(lines), encoding="utf-8")
        before = suite.results(tree)
        file.write_text(wrong, encoding="utf-8")
        tests = newly_failing(before, suite.results(tree))
        right = {file.name: "".join(lines)}
        yield Case(
            kind="classic",
            name=place.name,
            tree=tree,
            failing=tests,
            right=right,
            expected=passing_tests(before),
            suite=suite,
            note=line.strip(),
        )


def quixbugs(repository: Path, scratch: Path, suite: Suite) -> Iterator[Case]:
    """Yield the programs of a checkout of QuixBugs, each alone with its tests."""
    suite = replace(suite, seconds=ENDLESS_SECONDS)
    for file in sorted((repository / "python_programs").glob("*.py")):
        right = repository / "correct_python_programs" / file.name
        test = repository / "python_testcases" / f"test_{file.name}"
        if not (right.is_file() and test.is_file()):
            continue
        tree = scratch / file.stem
        shutil.rmtree(tree, ignore_errors=True)
        (tree / "python_programs").mkdir(parents=True)
        for folder in ("json_testcases", "python_testcases"):
            (tree / folder).mkdir()
        shutil.copy(repository / "conftest.py", tree)
        for helper in ("load_testdata.py", "node.py"):
            shutil.copy(repository / "python_testcases" / helper, tree / "python_testcases")
        text = test.read_text(encoding="utf-8")
        (tree / "python_testcases" / test.name).write_text(
            re.sub(r"\bcorrect_python_programs\b", "python_programs", text), "utf-8"
        )
        data = repository / "json_testcases" / f"{file.stem}.json"
        if data.is_file():
            shutil.copy(data, tree / "json_testcases")
        program = tree / "python_programs" / file.name
        shutil.copy(right, program)
        before = suite.results(tree)
        shutil.copy(file, program)
        after = suite.results(tree)
        failing = passing_tests(before) if after is None else newly_failing(before, after)
        rights = {f"python_programs/{file.name}": right.read_text(encoding="utf-8")}
        expected = passing_tests(before)
        yield Case(
            kind="quixbugs",
            name=file.stem,
            tree=tree,
            failing=failing,
            right=rights,
            expected=expected,
            suite=suite,
        )


def mutants(
    project: Path, scratch: Path, suite: Suite, *, seed: int, count: int, edits: int
) -> Iterator[Case]:
    """Yield seeded faults that some tests detect, each of two by itself as well: no repair is possible for
    what no test detects.
    """
    rng = random.Random(f"{seed}-{project.name}-{edits}")
    tree = copy_tree(project, scratch / project.name)
    before = suite.results(tree)
    sources = [
        path for path in sorted(tree.rglob("*.py")) if _is_suitable(path.relative_to(tree).as_posix(), path)
    ]
    count_done = 0
    for _ in range(count * 12 if before and sources else 0):
        file = rng.choices(sources, [path.stat().st_size for path in sources])[0]
        right = file.read_text(encoding="utf-8")
        if count_done == count or (mutant := fault(right, rng, edits=edits)) is None:
            continue
        is_detected = len(mutant.alone) == 1 or all(
            _failing(tree, file, text, before, suite) for text in mutant.alone
        )
        tests = _failing(tree, file, mutant.text, before, suite)
        if is_detected and 0 < len(tests) <= MOST_FAILING:
            count_done += 1
            name = f"{project.name}-{count_done}"
            kind = "single" if edits == 1 else "double"
            copy = copy_tree(tree, scratch / f"{name}-{kind}")
            path = file.relative_to(tree).as_posix()
            note = f"{mutant.kinds} in {path}"
            yield Case(
                kind=kind,
                name=name,
                tree=copy,
                failing=tests,
                right={path: right},
                expected=passing_tests(before),
                suite=suite,
                note=note,
            )
        file.write_text(right, encoding="utf-8")


def _failing(
    tree: Path, file: Path, text: str, before: dict[str, str] | None, suite: Suite
) -> tuple[str, ...]:
    file.write_text(text, encoding="utf-8")
    return newly_failing(before, suite.results(tree))


def _is_suitable(name: str, path: Path) -> bool:
    excluded = ("docs/", "examples/", "benchmark", "bin/", "setup.py", "noxfile", "_version", "conftest")
    return (
        not is_test_path(name)
        and not any(part in name for part in excluded)
        and path.stat().st_size > SMALLEST
    )


def mine_fixes(
    history: Path, scratch: Path, suite: Suite, *, count: int, depth: int, lines: int
) -> Iterator[Case]:
    """Yield fixes that add and remove at most so many `lines` and came with a test.

    The case is the fix's parent with the fix's tests. A fix is a commit that says so, in the words that
    B. Ray et al. looked for ("A Large Scale Study of Programming Languages and Code Quality in GitHub", FSE
    2014): a commit that adds a feature comes with a failing test as well.
    """
    count_done = 0
    for commit in _git(history, "log", "--no-merges", f"-{depth}", "--format=%H").split():
        if count_done == count:
            return
        if (changed_files := _small_fix(history, commit, lines)) and (
            case := _mined_case(history, commit, changed_files, scratch, suite)
        ):
            count_done += 1
            yield case


def _small_fix(history: Path, commit: str, lines: int) -> tuple[str, ...]:
    """Return the source files of a fix that adds and removes at most so many lines of one or two of them,
    and changes tests; else nothing.
    """
    if SAID.search(_git(history, "log", "-1", "--format=%B", commit)) is None:
        return ()
    # The history may lack some objects.
    numstat = _git(
        history, "diff-tree", "-r", "--numstat", "--no-renames", "--root", commit, allow_failure=True
    )
    rows = [line.split("\t") for line in numstat.splitlines()[1:]]
    python = [
        (added, removed, path) for added, removed, path in rows if path.endswith(".py") and added.isdigit()
    ]
    tests = [path for _, _, path in python if is_test_path(path)]
    sources = [(int(added), int(removed), path) for added, removed, path in python if not is_test_path(path)]
    is_small = (
        sum(added for added, *_ in sources) <= lines and sum(removed for _, removed, _ in sources) <= lines
    )
    return tuple(path for *_, path in sources) if tests and 1 <= len(sources) <= 2 and is_small else ()


def _mined_case(
    history: Path, commit: str, changed_files: tuple[str, ...], scratch: Path, suite: Suite
) -> Case | None:
    name = f"{history.resolve().name}-{commit[:9]}"
    fixed = scratch / f"{name}-fixed"
    if not _unpack(history, commit, fixed):
        return None
    tree = copy_tree(fixed, scratch / name)
    right = {
        path: (fixed / path).read_text(encoding="utf-8") for path in changed_files if (fixed / path).is_file()
    }
    old = {path: _git(history, "show", f"{commit}^:{path}", allow_failure=True) for path in changed_files}
    if set(right) != set(changed_files) or not all(old.values()):
        return None
    for path, text in old.items():
        (tree / path).write_text(text, encoding="utf-8")
    tests = [
        path
        for path in _git(history, "diff-tree", "-r", "--name-only", commit).split()
        if is_test_path(path) and not path.endswith(HELPERS)
    ]
    present = [path for path in tests if (tree / path).is_file() and path.endswith(".py")]
    before = suite.results(fixed, present) if present else None
    reds = newly_failing(before, suite.results(tree, present)) if before else ()
    if reds and len(right) > 1:
        right = _required_files(right, old, fixed=fixed, tree=tree, suite=suite, tests=present, reds=reds)
    expected = passing_tests(suite.results(fixed)) if reds else ()
    shutil.rmtree(fixed)
    note = _git(history, "log", "-1", "--format=%s", commit).strip()
    if not expected:
        shutil.rmtree(tree)
        return None
    return Case(
        kind="real",
        name=name,
        tree=tree,
        failing=reds,
        right=right,
        expected=expected,
        suite=suite,
        note=note,
    )


def _required_files(
    right: dict[str, str],
    old: dict[str, str],
    *,
    fixed: Path,
    tree: Path,
    suite: Suite,
    tests: list[str],
    reds: tuple[str, ...],
) -> dict[str, str]:
    """Return the files without which a test stays red; the tree is given the others (a version, a list of
    thanks) as they are after the fix.
    """
    needed = dict(right)
    for path, text in right.items():
        (fixed / path).write_text(old[path], encoding="utf-8")
        if len(needed) > 1 and {*reds} <= {*passing_tests(suite.results(fixed, tests))}:
            del needed[path]
            (tree / path).write_text(text, encoding="utf-8")
        (fixed / path).write_text(text, encoding="utf-8")
    return needed


def _unpack(history: Path, commit: str, target: Path) -> bool:
    """Unpack a commit; return False if the history does not hold all of its files."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    packed = subprocess.run(["git", "-C", str(history), "archive", commit], capture_output=True, check=False)
    return (
        packed.returncode == 0
        and subprocess.run(["tar", "-x", "-C", str(target)], input=packed.stdout, check=False).returncode == 0
    )


def _git(directory: Path, *arguments: str, allow_failure: bool = False) -> str:
    result = subprocess.run(
        ["git", "-C", str(directory), *arguments], capture_output=True, text=True, check=not allow_failure
    )
    return result.stdout if result.returncode == 0 else ""


def passing_tests(results: dict[str, str] | None) -> tuple[str, ...]:
    return tuple(test for test, outcome in (results or {}).items() if outcome == "PASSED")


def module_of(path: str) -> str:
    """Return the importable name of a source file."""
    return re.sub(r"(/__init__)?\.py$", "", path.removeprefix("src/")).replace("/", ".")
