"""Test configuration of a repository: pytest options and plugins."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from coder.core.paths import is_test_file
from coder.files.regular_files import read_regular_text
from coder.verify.project.roots import read_ini, read_toml

PYTEST_FILES = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
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
"""Distribution names that differ from the module name."""
_DISCOVERY_PATTERN = re.compile(r"\bunittest\b.*\s(?:-p|--pattern)[ =]?['\"]?([^\s'\"]+)")


def pytest_options(root: Path) -> tuple[str, dict[str, Any]]:
    """Return the name of the file that configures pytest, and its options; an empty name if there is none."""
    for name in PYTEST_FILES:
        if (options := _options_in(root / name)) is not None:
            return name, options
    return "", {}


def test_file_predicate(root: Path, command: str = "") -> Callable[[str], bool]:
    """Return a predicate that tells whether pytest, or unittest as the command starts it, collects a path.

    A pattern that fits any Python file tells nothing.
    """
    configured = _split_option(pytest_options(root)[1].get("python_files", ""))
    patterns = [
        *(pattern for pattern in configured if pattern.strip("*") != ".py"),
        *(match[1] for match in _DISCOVERY_PATTERN.finditer(command)),
    ]

    def is_collected(path: str) -> bool:
        name = PurePosixPath(path).name
        is_named = any(fnmatchcase(name, pattern) for pattern in patterns)
        return is_test_file(path) or (is_named and name.endswith(".py") and name != "conftest.py")

    return is_collected


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
    words = _split_option(options.get("addopts", ""))
    for index, word in enumerate(words):
        name = (
            words[index + 1]
            if word == "-p" and index + 1 < len(words)
            else word[2:]
            if word.startswith("-p")
            else ""
        )
        if name and not name.startswith("no:"):
            needed[name] = None
        for option, module in PLUGIN_OF_OPTION.items():
            if (
                word == option
                or (option.startswith("--") and word.startswith(option))
                or (option == "-n" and word[:2] == "-n" and word[2:])
            ):
                needed[module] = None
    if "asyncio_mode" in options:
        needed["pytest_asyncio"] = None
    return tuple(needed)


def needed_distributions(options: dict[str, Any]) -> tuple[str, ...]:
    """Return the names in `required_plugins`, without their versions."""
    matches = (
        re.match(r"[A-Za-z][\w.-]*", word) for word in _split_option(options.get("required_plugins", ""))
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


def _split_option(value: Any) -> list[str]:
    try:
        return [str(word) for word in value] if isinstance(value, list) else shlex.split(str(value))
    except ValueError:
        return str(value).split()
