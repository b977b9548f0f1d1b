"""Observation of the test process beside results, and the files that decide how tests run."""

import re
from collections.abc import Collection, Iterator, Sequence

from coder.core.paths import is_test_path
from coder.core.text import join_first
from coder.core.verdict import TestResult
from coder.verify.runners.adapter import json_object

SHOWN = 3
RUNNER_FILES = frozenset(
    {
        *("Makefile", "GNUmakefile", "makefile", "justfile", "Justfile", "Taskfile.yml", "Rakefile"),
        *("coder.toml", "package.json", "tox.ini", "noxfile.py", "manage.py", ".rspec"),
        *("spec_helper.rb", "rails_helper.rb", "go.mod", "go.work", "Cargo.toml", "build.rs"),
        *("rust-toolchain", "rust-toolchain.toml", "pom.xml", "mvnw", "gradlew", "gradle.properties"),
        *("CMakeLists.txt", "CMakePresets.json", "CTestConfig.cmake", "CTestCustom.cmake"),
        *("Directory.Build.props", "Directory.Build.targets"),
    }
)
"""Files that decide how tests run and what is reported, for commands other than Python's own runners."""
RUNNER_FILE = re.compile(
    r"(?:jest|vitest|vite|ava)\.(?:config|preset|workspace)\.\w+|karma\.conf\.\w+|\.mocharc\.\w+"
    r"|(?:build|settings|init)\.gradle(?:\.kts)?|phpunit(?:\.dist)?\.xml(?:\.dist)?"
    r"|.+\.(?:csproj|fsproj|vbproj|runsettings)"
    r"|(?:ts|js)config(?:\..+)?\.json|\.(?:babelrc|swcrc)(?:\.\w+)?|(?:build|bundle|compile|transpile)\.[cm]?[jt]s"
    r"|(?:babel|esbuild|rollup|rspack|swc|tsdown|tsup|webpack)\.config(?:\.\w+)+"
)
"""The same, of which there are several names; also configurations of compilers that run before tests."""
RUNNER_DIRECTORIES = frozenset({".cargo", ".mvn"})
"""Directories that hold nothing but configuration of build tools."""
DESCRIPTIONS = frozenset(
    {
        *("version", "description", "keywords", "author", "contributors", "license", "repository", "bugs"),
        *("homepage", "funding", "dependencies", "devDependencies", "peerDependencies", "engines"),
        *("optionalDependencies", "peerDependenciesMeta", "packageManager", "files", "publishConfig"),
        *("bin", "browser", "exports", "main", "module", "sideEffects", "types", "typings"),
    }
)
"""Entries of package.json that say nothing about how tests run: both sides use the installed packages, and
what its users load is the product.
"""
RUNNER_SCRIPTS = frozenset({"manage.py", "runtests.py"})
"""Scripts that start Django's test runner."""


def new_harness_access(on_base: Collection[str], on_change: Collection[str]) -> Iterator[str]:
    """Yield what only the change does to the machinery that observes its tests, half a sentence."""
    if added := sorted({*on_change} - {*on_base}):
        yield f"the change reaches into the test process ({join_first(added, SHOWN)})"


def contradicting_observation(green: TestResult, red: TestResult | None) -> str:
    """Return how the observed run of a test contradicts its green result; empty if it does not.

    `red` is the same test on the base: a function observed there must be observed on the change as well.
    """
    was_observed = red is not None and red.body is not None and red.body.started > 0
    if green.body is None:
        return "its function could be seen on the base and not on the change" if was_observed else ""
    if green.body.started > 0 and green.body.ended == 0:
        return "its function was seen to raise"
    return "its function never ran" if was_observed and green.body.started == 0 else ""


def changed_runner_files(command: str, changed: Sequence[str], *, is_indirect: bool) -> list[str]:
    """Return the changed files that decide how the command runs tests.

    The command names them; if its results are known `is_indirect`ly, those in a fixed list count too. Under
    our recorder only scripts that start the runner can affect the results.
    """
    words = {word.strip("'\"./") for word in command.split()}
    named = [path for path in changed if path.lstrip("./") in words and not is_test_path(path)]
    if not is_indirect:
        return [path for path in named if path.rpartition("/")[2] in RUNNER_SCRIPTS]
    return [path for path in changed if path in named or _configures_runner(path)]


def runs_alike(old: str, new: str) -> bool:
    """Tell whether two texts of a package.json differ in nothing but packages and descriptions."""
    before, after = json_object(old), json_object(new)
    kept = (
        {key: value for key, value in each.items() if key not in DESCRIPTIONS} for each in (before, after)
    )
    return bool(before and after) and next(kept) == next(kept)


def _configures_runner(path: str) -> bool:
    *folders, name = path.split("/")
    is_inside = not RUNNER_DIRECTORIES.isdisjoint(folders)
    return is_inside or name in RUNNER_FILES or RUNNER_FILE.fullmatch(name) is not None
