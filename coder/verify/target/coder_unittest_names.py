"""Ids of unittest's tests: `path/to/test_file.py::Class::method`, with the path relative to the tested tree.

Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

# ruff: noqa: PTH100, PTH113, PTH118 - a test may have replaced pathlib
from __future__ import annotations

import os
import re
import sys
from typing import Any

from coder_failure import is_inside, relative  # type: ignore[import-not-found]  # on the import path of the run

FIXTURE = re.compile(r"(?P<name>\w+) \((?P<owner>[\w.<>]+)\)")
"""Id of the placeholder for a failed fixture of a class or module."""
PLACEHOLDERS = ("_FailedTest", "ModuleSkipped")
"""Classes of tests that stand for a module that could not be imported, or skipped itself."""


def test_id(test: Any, tree: str) -> str:
    """Return the id of a test; the runner's own label if its file lies outside of the tree."""
    if is_placeholder(test):
        return module_path(test._testMethodName, tree) or str(test._testMethodName)
    example = getattr(test, "_dt_test", None)
    if example is not None and example.filename and is_inside((relative(example.filename, tree), 0, "")):
        return f"{relative(example.filename, tree)}::{example.name}"
    path = path_in_tree(module_file(type(test).__module__), tree)
    method = getattr(test, "_testMethodName", "")
    if not path or not method:
        return str(test.id())
    return "::".join([path, *type(test).__qualname__.split("."), method])


def is_placeholder(test: Any) -> bool:
    """Tell whether a test stands for a module without loaded tests."""
    return type(test).__name__ in PLACEHOLDERS and hasattr(test, "_testMethodName")


def class_name(test: Any) -> str:
    """Return the dotted name by which unittest's messages name the class of a test."""
    return f"{type(test).__module__}.{type(test).__qualname__}"


def module_path(name: str, tree: str) -> str:
    """Return the file of a module by its dotted name, relative to the tree; empty if there is none.

    The module need not be importable.
    """
    stem = name.replace(".", os.sep)
    for entry in sys.path:
        for ending in (".py", os.sep + "__init__.py"):
            file = os.path.join(os.path.abspath(entry or "."), stem + ending)
            path = path_in_tree(file, tree)
            if path and os.path.isfile(file):
                return path
    return ""


def path_in_tree(file: str, tree: str) -> str:
    """Return the path of a file relative to the tree; empty if it lies outside of it."""
    path = relative(os.path.abspath(file), tree) if file else ""
    return path if path and is_inside((path, 0, "")) else ""


def module_file(name: str) -> str:
    """Return the file of an imported module, empty if there is none."""
    path = getattr(sys.modules.get(name), "__file__", None)
    return path if isinstance(path, str) else ""
