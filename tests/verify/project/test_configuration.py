"""Test configuration in a repository's files."""

from pathlib import Path

import pytest

from coder.verify import layout
from coder.verify.layout import (
    configuration_of_tests,
    may_configure,
    needed_distributions,
    needed_modules,
    pytest_options,
)
from tests.builders import write


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ("", {})),
        ({"pyproject.toml": "[project]"}, ("", {})),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q'"},
            ("pyproject.toml", {"ini_options": {"addopts": "-q"}, "addopts": "-q"}),
        ),
        ({"pyproject.toml": "[tool.pytest]\naddopts = ['-q']"}, ("pyproject.toml", {"addopts": ["-q"]})),
        ({"pytest.toml": "[pytest]\naddopts = ['-q']"}, ("pytest.toml", {"addopts": ["-q"]})),
        (
            {"pytest.ini": "[pytest]\naddopts = -q", "tox.ini": "[pytest]\naddopts = -v"},
            ("pytest.ini", {"addopts": "-q"}),
        ),
        ({"pytest.ini": ""}, ("pytest.ini", {})),
        ({"tox.ini": "[tox]"}, ("", {})),
        ({"setup.cfg": "[tool:pytest]\naddopts = -q"}, ("setup.cfg", {"addopts": "-q"})),
    ],
)
def test_pytests_options_are_found_as_pytest_finds_them(
    tmp_path: Path, files: dict[str, str], expected: tuple[str, object]
) -> None:
    write(tmp_path, files)
    assert pytest_options(tmp_path) == expected


@pytest.mark.parametrize(
    ("options", "modules"),
    [
        ({"addopts": "-q --strict-markers"}, ()),
        ({"addopts": "--cov=pkg --cov-report=xml"}, ("pytest_cov",)),
        ({"addopts": "-n auto --dist loadfile"}, ("xdist",)),
        ({"addopts": ["-n4", "-p", "my.plugin", "-p", "no:cacheprovider"]}, ("xdist", "my.plugin")),
        ({"asyncio_mode": "auto"}, ("pytest_asyncio",)),
        ({"addopts": "--open 'quote"}, ()),
    ],
)
def test_finds_plugins_required_by_options(options: dict[str, object], modules: tuple[str, ...]) -> None:
    assert needed_modules(options) == modules


def test_required_plugins_are_distributions() -> None:
    assert needed_distributions({"required_plugins": "pytest-django>=3.0 pytest-html"}) == (
        "pytest-django",
        "pytest-html",
    )


def test_separates_test_configuration_from_other_files(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-q'"})
    before = configuration_of_tests(tmp_path, "pyproject.toml")
    write(tmp_path, {"pyproject.toml": "[project]\nname = 'b'\n[tool.pytest.ini_options]\naddopts = '-q'"})
    assert configuration_of_tests(tmp_path, "pyproject.toml") == before
    write(tmp_path, {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q -k x'"})
    assert configuration_of_tests(tmp_path, "pyproject.toml") != before
    assert [path for path in ("a/conftest.py", "tox.ini", "a/b.py") if may_configure(path)] == [
        "a/conftest.py",
        "tox.ini",
    ]


@pytest.mark.parametrize(
    ("options", "command", "collected"),
    [
        ("addopts = --doctest-glob=*.rst", "", ["README.rst", "docs/a.rst"]),
        ("addopts = --doctest-glob *.rst\ntestpaths = docs", "", ["docs/a.rst"]),
        ("testpaths = README.rst tests", "", ["README.rst"]),
        ("", "python -m pytest --doctest-glob=docs/*.rst", ["docs/a.rst"]),
        ("addopts = --doctest-modules\ndoctest_optionflags = ELLIPSIS", "", []),
    ],
)
def test_texts_with_examples_are_collected_where_configured(
    tmp_path: Path, options: str, command: str, collected: list[str]
) -> None:
    files = {"README.rst": ">>> 1\n1\n", "docs/a.rst": ">>> 2\n2\n", "docs/words.rst": "No example.\n"}
    write(tmp_path, {**files, "pytest.ini": f"[pytest]\n{options}\n"})
    assert [*filter(layout.test_file_predicate(tmp_path, command), sorted(files))] == collected
