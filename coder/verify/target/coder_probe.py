"""Probe of what an interpreter can import, printed as one line of JSON.

Usage: `coder_probe.py [MODULE...] [-- DISTRIBUTION...]`. Standard library only, Python 3.8 or later.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
from contextlib import suppress
from pathlib import Path


def has_module(name: str) -> bool:
    """Tell whether a module can be found."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def installed_version(distribution: str) -> str | None:
    """Return the version of an installed distribution, None if it is missing."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_distributions() -> list[str]:
    """Return the distributions on the search path as `name-version`, sorted."""
    names: set[str] = set()
    for directory in sys.path:
        with suppress(OSError):
            paths = [*Path(directory).iterdir()]
            names.update(path.stem for path in paths if path.suffix in (".dist-info", ".egg-info"))
    return sorted(names)


def main() -> None:
    """Print the result of the probe."""
    words = sys.argv[1:]
    separator = words.index("--") if "--" in words else len(words)
    result = {
        "python": sys.version.split()[0],
        "pytest": installed_version("pytest") if has_module("pytest") else None,
        "distributions": installed_distributions(),
        "has_cov": has_module("pytest_cov"),
        "missing_modules": [
            name for name in words[:separator] if not has_module(name) and not has_module(f"_pytest.{name}")
        ],
        "missing_distributions": [name for name in words[separator + 1 :] if installed_version(name) is None],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
