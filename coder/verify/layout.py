"""Where a project keeps sources and tests, what it configures, and which packages are tested apart."""

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from configparser import ConfigParser, Error
from fnmatch import fnmatchcase
from itertools import islice, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from coder.core.paths import is_test_file, test_file_of
from coder.core.text import parse_toml
from coder.core.values import Value
from coder.files.regular_files import (
    EXCLUDED_DIRECTORIES,
    is_within,
    nearest,
    read_regular_text,
    source_files,
)

PYTEST_FILES = (
    *("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini"),
    "setup.cfg",
)
"""In pytest's own order of precedence."""
CODER_FILE = "coder.toml"
"""A repository's own settings for coder, which name its test command."""
PLUGIN_OF_OPTION = {
    "--asyncio-mode": "pytest_asyncio",
    "--benchmark": "pytest_benchmark",
    "--cov": "pytest_cov",
    "--dist": "xdist",
    "--doctest-plus": "pytest_doctestplus",
    "--ds": "pytest_django",
    "--html": "pytest_html",
    **dict.fromkeys(
        ("--mypy-pyproject-toml-file", "--mypy-ini-file", "--mypy-testing-base", "--mypy-only-local-stub"),
        "pytest_mypy_plugins",
    ),
    "--mypy": "pytest_mypy",
    "--numprocesses": "xdist",
    "--random-order": "random_order",
    "--reruns": "pytest_rerunfailures",
    "--snapshot": "syrupy",
    "--timeout": "pytest_timeout",
    "-n": "xdist",
}
IMPLICITLY_LOADED = ("conftest.py", "sitecustomize.py", "usercustomize.py")
"""Python files that run before any test without being imported by name."""
TEST_MACHINERY = ("pytest", "_pytest", "pluggy", "unittest", "iniconfig")
"""Modules of the test machinery: a project's own module of such a name at the top of a source root shadows
it.
"""
NEVER_SHADOWED = ("test", "site", "this")
"""Modules of the standard library whose names projects use for folders, and which nobody imports."""
DISTRIBUTION_OF_MODULE = {
    "xdist": "pytest-xdist", "random_order": "pytest-random-order", "yaml": "PyYAML", "PIL": "pillow",
    "bs4": "beautifulsoup4", "dateutil": "python-dateutil", "dotenv": "python-dotenv", "jwt": "PyJWT",
    "sklearn": "scikit-learn", "attr": "attrs", "OpenSSL": "pyOpenSSL", "Crypto": "pycryptodome",
    "cv2": "opencv-python-headless", "git": "GitPython", "serial": "pyserial",
}  # fmt: skip
_DISCOVERY_PATTERN = re.compile(r"\bunittest\b.*\s(?:-p|--pattern)[ =]?['\"]?([^\s'\"]+)")


def pytest_options(root: Path) -> tuple[str, dict[str, Any]]:
    """Return the name of the file that configures pytest, and its options; an empty name if there is none."""
    for name in PYTEST_FILES:
        if (options := _options_in(root / name)) is not None:
            return name, options
    return "", {}


def runs_examples(root: Path, command: str = "") -> bool:
    """Tell whether pytest runs the examples in docstrings of sources, as its options or the command say."""
    options = (pytest_options(directory)[1] for directory in (root, *nested_projects(root)))
    words = [*command.split(), *(word for each in options for word in option_words(each.get("addopts", "")))]
    return any(word.startswith(("--doctest-modules", "--doctest-plus")) for word in words)


def test_file_predicate(root: Path, command: str = "") -> Callable[[str], bool]:
    """Return a predicate that tells whether pytest, or unittest as the command starts it, collects a path.

    Text files whose examples pytest runs, by `--doctest-glob` or as one of `testpaths`, are among them.
    A pattern that fits any Python file tells nothing.
    """
    directories = (root, *nested_projects(root))
    patterns = [
        (directory, pattern)
        for directory in directories
        for pattern in option_words(pytest_options(directory)[1].get("python_files", ""))
        if pattern.strip("*") != ".py"
    ]
    patterns += [(root, match[1]) for match in _DISCOVERY_PATTERN.finditer(command)]
    texts = [
        (globs, places)
        for globs, places in (_texts_with_examples(directory, command) for directory in directories)
        if globs or any(place.is_file() for place in places)
    ]

    def has_examples(path: str) -> bool:
        return any(
            root / path in places
            or (
                any(PurePosixPath(path).match(glob) for glob in globs)
                and any((root / path).is_relative_to(place) for place in places)
            )
            for globs, places in texts
        ) and ">>>" in read_regular_text(root / path)

    def is_collected(path: str) -> bool:
        name = PurePosixPath(path).name
        is_named = any(
            fnmatchcase(name, pattern) and (root / path).is_relative_to(directory)
            for directory, pattern in patterns
        )
        if not name.endswith(".py"):
            return has_examples(path)
        return is_test_file(path) or (is_named and name != "conftest.py")

    return is_collected


def _texts_with_examples(directory: Path, command: str) -> tuple[list[str], list[Path]]:
    """Return the globs of text files whose examples pytest runs, and the places where it looks for them."""
    options = pytest_options(directory)[1]
    words = [*option_words(options.get("addopts", "")), *command.split(), ""]
    globs = [
        word.partition("=")[2] or following
        for word, following in pairwise(words)
        if word.partition("=")[0] == "--doctest-glob"
    ]
    places = [directory / place for place in option_words(options.get("testpaths", ""))]
    return globs, places or [directory]


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
RUNNER_SCRIPTS = frozenset({"manage.py", "runtests.py"})
"""Scripts that start Django's test runner."""


def configures_runner(path: str) -> bool:
    """Tell whether a file decides how tests run, for commands other than Python's own runners."""
    *folders, name = path.split("/")
    is_inside = not RUNNER_DIRECTORIES.isdisjoint(folders)
    return is_inside or name in RUNNER_FILES or RUNNER_FILE.fullmatch(name) is not None


def may_configure(path: str) -> bool:
    """Tell whether a file of this name can affect how tests run."""
    return PurePosixPath(path).name in (*PYTEST_FILES, *IMPLICITLY_LOADED, CODER_FILE)


def is_injected(old: Path, path: str) -> bool:
    """Tell whether a file loads implicitly, or shadows a module that tests rely on.

    Such files are loaded by the interpreter or by pytest on their own. `old` is the tree before the change:
    what existed there under the same name is not new.
    """
    pure = PurePosixPath(path)
    if pure.suffix in (".pth", ".pyc", ".pyo") or any(
        part.endswith((".dist-info", ".egg-info")) for part in pure.parts
    ):
        return True
    top = PurePosixPath(path.removeprefix("src/")).parts[0]
    name = top.removesuffix(".py")
    shadows = name in (*TEST_MACHINERY, *sys.stdlib_module_names) or name.startswith("coder_")
    existing = (old / root / other for root in ("", "src") for other in (name, f"{name}.py"))
    return (
        shadows
        and name not in NEVER_SHADOWED
        and (top != name or pure.suffix == ".py")
        and not any(place.exists() for place in existing)
    )


def shadows_library(root: Path) -> bool:
    """Tell whether a directory holds a module that is called like one of the standard library."""
    names = {entry.name for entry in root.iterdir()} if root.is_dir() else set()
    return any(
        f"{name}.py" in names or (name in names and os.access(root / name / "__init__.py", os.R_OK))
        for name in sys.stdlib_module_names.difference(NEVER_SHADOWED)
    )


def configuration_of_tests(root: Path, path: str) -> str:
    """Return the part of a file that affects how tests run, for comparison; empty if none does."""
    file = root / path
    name = PurePosixPath(path).name
    if name in (*IMPLICITLY_LOADED, CODER_FILE):
        return read_regular_text(file, within=root)
    if name not in PYTEST_FILES:
        return ""
    parts: list[Any] = [_options_in(file)]
    if name == "pyproject.toml":
        document = read_toml(file)
        parts += [
            document.get("tool", {}).get("coder"),
            document.get("project", {}).get("entry-points", {}).get("pytest11"),
        ]
    if name == "setup.cfg":
        parts.append(read_ini(file).get("options.entry_points", "pytest11", fallback=None))
    return json.dumps([part for part in parts if part is not None], sort_keys=True, default=str)


def needed_modules(options: dict[str, Any]) -> tuple[str, ...]:
    """Return the plugin modules without which pytest would refuse the configured options."""
    needed: dict[str, None] = {}
    words = option_words(options.get("addopts", ""))
    for word, following in pairwise([*words, ""]):
        name = following if word == "-p" else word[2:] if word.startswith("-p") else ""
        if name and not name.startswith("no:"):
            needed[name] = None
        plugins = (module for option, module in PLUGIN_OF_OPTION.items() if word.startswith(option))
        needed |= dict.fromkeys(islice(plugins, 1))
    if "asyncio_mode" in options:
        needed["pytest_asyncio"] = None
    return tuple(needed)


def needed_distributions(options: dict[str, Any]) -> tuple[str, ...]:
    """Return the names in `required_plugins`, without their versions."""
    matches = (
        re.match(r"[A-Za-z][\w.-]*", word) for word in option_words(options.get("required_plugins", ""))
    )
    return tuple(match[0] for match in matches if match)


def _options_in(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    match file.suffix:
        case ".toml" if "pytest" in file.stem:
            return dict(read_toml(file).get("pytest", {}))
        case ".toml":
            section = read_toml(file).get("tool", {}).get("pytest")
            return None if section is None else {**section, **section.get("ini_options", {})}
        case _:
            name = "tool:pytest" if file.name == "setup.cfg" else "pytest"
            parser = read_ini(file)
            if parser.has_section(name):
                return dict(parser.items(name))
            return {} if "pytest" in file.stem else None


def option_words(value: Any) -> list[str]:
    try:
        return [str(word) for word in value] if isinstance(value, list) else shlex.split(str(value))
    except ValueError:
        return str(value).split()


NOT_THE_PROJECT = frozenset(
    {
        *("benchmarks", "build", "ci", "dist", "doc", "docs", "example", "examples", "scripts", "test"),
        *("testing", "tests"),
    }
)
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
NESTED_LEVELS = 2
"""Depth to which projects inside of a project are looked for."""
VENDORED = frozenset({"build", "dist", "env", "node_modules", "site-packages", "test", "tests", "venv"})
"""Directories whose projects are copies or data of tests."""
EXTENSION_SUFFIXES = (".so", ".pyd")
NOT_MODULES = frozenset({"__init__", "conftest", "fabfile", "noxfile", "setup", "tasks", "versioneer"})


def source_roots(tree: Path) -> tuple[Path, ...]:
    """Return the directories whose children are imported by name, most specific first.

    The root of the tree is one only if packages or modules of the project lie there: otherwise a `tools/` or
    `scripts/` there would hide an installed package of that name.
    """
    declared = [tree / name for name in declared_roots(tree)]
    conventional = (
        [tree / "src"] if holds_code(tree / "src") and not (tree / "src" / "__init__.py").exists() else []
    )
    roots = [
        root for root in dict.fromkeys([*declared, *conventional]) if root.is_dir() and is_within(root, tree)
    ]
    if roots:
        return tuple(roots)
    return (tree,) if holds_code(tree) else ()


def import_roots(tree: Path) -> tuple[Path, ...]:
    """Return the source roots of a tree, then those of nested projects, as in `packages/a/src`."""
    nested = (
        root
        for directory in nested_projects(tree)
        for root in source_roots(directory)
        if is_within(root, tree)
    )
    return tuple(dict.fromkeys((*source_roots(tree), *nested)))


def nested_projects(tree: Path) -> tuple[Path, ...]:
    """Return the directories of Python projects below a tree, outermost first."""
    return tuple(
        dict.fromkeys(
            file.parent
            for depth in range(1, NESTED_LEVELS + 1)
            for name in PROJECT_FILES
            for file in sorted(tree.glob("*/" * depth + name))
            if not any(part.startswith(".") or part in VENDORED for part in file.relative_to(tree).parts)
        )
    )


def module_name(path: str, tree: Path, roots: Sequence[Path] | None = None) -> str | None:
    """Return the dotted name under which a file is imported, None if it is not a module.

    `path` is relative to `tree`; it names a source file or a compiled extension module. `roots` are the
    directories to import from; None are the source roots of the tree.
    """
    pure = PurePosixPath(path)
    if pure.suffix in EXTENSION_SUFFIXES:  # as in `fast.cpython-311-x86_64-linux-gnu.so`
        path = f"{path.removesuffix(pure.name)}{pure.name.partition('.')[0]}.py"
        pure = PurePosixPath(path)
    if pure.suffix != ".py" or not all(part.isidentifier() for part in pure.with_suffix("").parts):
        return None
    containing = [
        root
        for root in (source_roots(tree) if roots is None else roots)
        if (tree / path).is_relative_to(root)
    ]
    if containing:
        root = max(containing, key=lambda root: len(root.parts))
        parts = (tree / path).relative_to(root).with_suffix("").parts
    else:
        top = next(
            (parent for parent in pure.parents if not (tree / parent / "__init__.py").exists()),
            PurePosixPath(),
        )
        parts = pure.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or None


def holds_code(directory: Path) -> bool:
    """Tell whether packages or modules of the project lie directly in this directory."""
    if not directory.is_dir():
        return False
    if directory.name == "src" and any(directory.glob("*/*.py")):  # packages without __init__.py
        return True
    return any(is_package(child) or is_module(child) for child in directory.iterdir())


def is_package(path: Path) -> bool:
    """Tell whether a directory is a regular package of the project itself."""
    # Unlike `Path.is_file`, this is no error in a directory that must not be read.
    return os.access(path / "__init__.py", os.R_OK) and path.name not in NOT_THE_PROJECT


def is_module(path: Path) -> bool:
    """Tell whether a file is an importable module of the project, not a test or a build script."""
    return path.suffix == ".py" and path.stem not in NOT_MODULES and not path.stem.startswith("test_")


def declared_roots(tree: Path) -> Iterator[str]:
    """Yield the source directories that the build configuration declares, for the common backends."""
    tool = read_toml(tree / "pyproject.toml").get("tool", {})
    yield from filter(None, _setuptools_roots(tool.get("setuptools", {})))
    for package in tool.get("poetry", {}).get("packages", []):
        yield package.get("from", "")
    build = tool.get("hatch", {}).get("build", {})
    for section in (build, build.get("targets", {}).get("wheel", {})):
        yield from (str(PurePosixPath(package).parent) for package in section.get("packages", []))
    for name in (
        tool.get("pdm", {}).get("build", {}).get("package-dir"),
        tool.get("maturin", {}).get("python-source"),
    ):
        if name:
            yield name
    yield from _setup_file_roots(tree)


def _setuptools_roots(section: dict[str, Any]) -> Iterator[str]:
    yield section.get("package-dir", {}).get("", "")
    packages = section.get("packages", {})
    if isinstance(packages, dict):
        yield from packages.get("find", {}).get("where", [])


def _setup_file_roots(tree: Path) -> Iterator[str]:
    options = read_ini(tree / "setup.cfg")
    for line in options.get("options", "package_dir", fallback="").splitlines():
        name, _, directory = line.partition("=")
        if not name.strip() and directory.strip():
            yield directory.strip()
    yield from options.get("options.packages.find", "where", fallback="").split()
    script = read_regular_text(tree / "setup.py")
    for pattern in (
        r"package_dir\s*=\s*\{\s*['\"]{2}\s*:\s*['\"]([\w./-]+)",
        r"find_(?:namespace_)?packages\(\s*(?:where\s*=\s*)?['\"]([\w./-]+)",
    ):
        yield from re.findall(pattern, script)


def files_below(tree: Path, start: str = ".") -> Iterator[str]:
    """Yield the project's files in a directory of a tree, relative to the tree and sorted."""
    for folder, folders, names in os.walk(tree / start):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in EXCLUDED_DIRECTORIES
        )
        yield from (Path(folder, name).relative_to(tree).as_posix() for name in sorted(names))


def find_modules(tree: Path) -> Iterator[str]:
    """Return the extension modules in a tree, without those in environments and build directories."""
    return (path for path in files_below(tree) if path.endswith(EXTENSION_SUFFIXES))


def read_toml(path: Path) -> dict[str, Any]:
    """Return a parsed TOML file; empty if it does not exist or cannot be parsed."""
    try:
        return parse_toml(read_regular_text(path))
    except tomllib.TOMLDecodeError:
        return {}


def nested_table(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return a nested table of a document; empty if it is missing or is no table."""
    table: Any = document
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def read_ini(path: Path) -> ConfigParser:
    """Return a parsed INI file; empty if it does not exist or cannot be parsed."""
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(read_regular_text(path))
    except Error:
        return ConfigParser(interpolation=None)
    return parser


DEEPEST_CONFIGURATION = 3
"""Depth of directories in which packages that configure pytest are looked for."""
_PLACE_OPTIONS = ("-c", "--config-file", "--rootdir", "--confcutdir", "-s", "--start-directory", "discover")


class PackageRun(Value):
    """The part of a test run that one process can do."""

    root: str = "."
    """Working directory, relative to the tree."""
    tests: tuple[str, ...] = ()
    """Ids, files and directories to run, relative to the tree; none means all below `root`."""
    ignored: tuple[str, ...] = ()
    """Directories below `root` that other processes run."""

    @property
    def prefix(self) -> str:
        """The prefix that makes paths in `root` relative to the tree."""
        return "" if self.root == "." else f"{self.root}/"


def divide_run(tree: Path, tests: Sequence[str]) -> tuple[PackageRun, ...]:
    """Return the processes that together run `tests`, all if there are none, as users of the packages do."""
    packages = find_packages(tree)
    owners = {file: nearest(packages, file) for file in _test_files(tree)} if packages else {}
    runs: dict[str, list[str] | None] = {}
    """The tests to run by package; None for all of a package."""
    if not tests:
        runs = dict.fromkeys(sorted({*owners.values()}, key=lambda root: (root != ".", root)))
    for test in tests:
        path = test_file_of(test)
        inner = [package for package in packages if is_below(package, path)]
        own = nearest(packages, path)
        has_own = any(is_below(file, path) and owners[file] == own for file in owners)
        if (has_own or not inner) and (named := runs.setdefault(own, [])) is not None:
            named.append(test)
        runs |= dict.fromkeys(inner)
    return tuple(
        PackageRun(
            root=root,
            tests=tuple(named or ()),
            ignored=tuple(package for package in packages if package != root and is_below(package, root)),
        )
        for root, named in (runs or {".": None}).items()
    )


def find_packages(tree: Path) -> tuple[str, ...]:
    """Return the directories, relative to a tree, whose tests run by themselves where all tests run.

    Below a root that does not configure pytest, these are the packages that do, and all projects if the root
    is none itself and shares no `conftest.py` with them.
    """
    if pytest_options(tree)[0]:
        return ()
    files = _test_files(tree)
    packages = set(_configured_directories(tree, files))
    if not any((tree / name).exists() for name in ("conftest.py", *PROJECT_FILES)):
        projects = [path.relative_to(tree).as_posix() for path in nested_projects(tree)]
        packages |= {nearest(projects, path) for path in files}
    return tuple(sorted(packages - {"."}))


def _test_files(tree: Path) -> list[str]:
    is_test = test_file_predicate(tree)
    return [path for path in source_files(tree, (".py",)) if is_test(path)]


def names_place(word: str, tree: Path) -> bool:
    """Tell whether an argument of a runner names a place in a tree, or decides where it runs."""
    is_path = not word.startswith("-") and (tree / test_file_of(word)).exists()
    return is_path or word.startswith(_PLACE_OPTIONS)


def _configured_directories(tree: Path, files: Sequence[str]) -> Iterator[str]:
    """Yield the directories above test files that configure pytest."""
    above = {parent for file in files for parent in list(PurePosixPath(file).parents)[:-1]}
    for folder in sorted(above):
        is_near = len(folder.parts) <= DEEPEST_CONFIGURATION and VENDORED.isdisjoint(folder.parts)
        if is_near and pytest_options(tree / folder)[0]:
            yield folder.as_posix()


def is_below(path: str, directory: str) -> bool:
    return directory == "." or path == directory or path.startswith(f"{directory}/")
