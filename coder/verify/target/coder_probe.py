"""Prints, as one JSON line, what the interpreter that runs it can import: `coder_probe.py [MODULE...] [-- DISTRIBUTION...]`.

Stdlib only, Python 3.8 or later.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys


def has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> None:
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    found = {
        "python": sys.version.split()[0],
        "pytest": version("pytest") if has_module("pytest") else None,
        "has_cov": has_module("pytest_cov"),
        "missing_modules": [
            name for name in words[:split] if not has_module(name) and not has_module(f"_pytest.{name}")
        ],
        "missing_distributions": [name for name in words[split + 1 :] if version(name) is None],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
