"""Test configuration, packages and import roots in a repository's files."""

import os
from pathlib import Path

import pytest

from coder.core.text import parse_json, parse_toml
from coder.verify import layout
from coder.verify.layout import (
    PackageRun,
    configuration_of_tests,
    divide_run,
    import_roots,
    may_configure,
    module_name,
    needed_distributions,
    needed_modules,
    pytest_options,
    source_roots,
)
from coder.verify.project import find_hints, parse_command
from coder.verify.select import select_test_files
from tests.builders import projects, write


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
        ({"addopts": "--mypy-ini-file=mypy.ini"}, ("pytest_mypy_plugins",)),
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


@pytest.mark.parametrize(("files", "roots", "_given"), projects("hints/roots.txt"))
def test_finds_import_roots(tmp_path: Path, files: dict[str, str], roots: list[str], _given: str) -> None:
    write(tmp_path, files)
    assert [root.relative_to(tmp_path).as_posix() for root in source_roots(tmp_path)] == roots


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/pkg/module.py", "pkg.module"),
        ("src/pkg/__init__.py", "pkg"),
        ("other/deep/module.py", "deep.module"),
        ("src/pkg/data.json", None),
        ("src/pkg/not-a-name.py", None),
    ],
)
def test_module_name_matches_import(tmp_path: Path, path: str, name: str | None) -> None:
    write(tmp_path, {"src/pkg/__init__.py": "", "other/deep/__init__.py": ""})
    assert module_name(path, tmp_path) == name


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_passes_over_directory_that_must_not_be_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "data/x": ""})
    (tmp_path / "data").chmod(0)
    try:
        assert source_roots(tmp_path) == (tmp_path,)
    finally:
        (tmp_path / "data").chmod(0o700)


DEEP = "[" * 100_000
FILES = {
    **dict.fromkeys(("package.json", "setup.cfg", "tox.ini", ".pre-commit-config.yaml"), DEEP),
    **dict.fromkeys(("pyproject.toml", "coder.toml", "Cargo.toml", "a.js"), f"x = {DEEP}"),
    **{"tsconfig.json": '{"extends":' * 50_000, "pnpm-workspace.yaml": f"packages: {DEEP}"},
    **{"pom.xml": "<a>" * 50_000, "noxfile.py": f"x = {'(' * 5_000}", "minus.py": f"x = {'-' * 200_000}1\n"},
    "test_a.py": f"import minus\nx = {DEEP}\ndef test_a(): pass\n",
}  # fmt: skip


@pytest.mark.parametrize("parse", [parse_json, lambda text: parse_toml(f"x = {text}")])
def test_too_deep_documents_are_wrong_ones(parse: object) -> None:
    assert callable(parse)
    with pytest.raises(ValueError, match="too deep"):
        parse(DEEP)


def test_project_with_deep_files_is_read_as_without_them(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    assert pytest_options(tmp_path)[0] == ""
    assert import_roots(tmp_path) == (tmp_path,)
    assert len(divide_run(tmp_path, ())) == 1
    assert not any("pytest" in hint.command for hint in find_hints(tmp_path))
    assert select_test_files(tmp_path, tmp_path, ["minus.py"]) is not None


OWN = "[tool.pytest.ini_options]\npythonpath = ['.']\n"
PROJECT = "[project]\nname = 'p'\n"
A, B = "a/tests/test_calc.py", "b/tests/test_calc.py"
WHOLE = {"a": (), "b": ()}


def both(name: str, text: str = "") -> dict[str, str]:
    return {f"a/{name}": text, f"b/{name}": text}


@pytest.mark.parametrize(
    ("files", "parts"),
    [
        (both("tests/test_calc.py") | both("pyproject.toml", OWN), WHOLE),
        (both("tests/test_calc.py") | both("pyproject.toml", PROJECT), WHOLE),
        (both("tests/test_calc.py") | both("tests/__init__.py") | both("setup.py"), WHOLE),
        ({A: "", "b/tests/test_other.py": ""} | both("tox.ini", "[pytest]\n"), WHOLE),
        ({A: "import utils", "b/test_b.py": "import utils"} | both("utils.py") | both("setup.py"), WHOLE),
        ({"tests/test_it.py": ""} | both("tests/test_calc.py") | both("pytest.ini"), {".": (), **WHOLE}),
        ({"packages/a/tests/test_calc.py": "", "packages/b/tests/test_calc.py": ""}
         | {f"packages/{name}/pyproject.toml": OWN for name in "ab"},
         {"packages/a": (), "packages/b": ()}),
        # One process runs them all:
        (both("tests/test_calc.py") | both("setup.py") | {"conftest.py": ""}, {".": ()}),
        (both("tests/test_calc.py") | both("setup.py") | {"pyproject.toml": PROJECT}, {".": ()}),
        (both("tests/test_calc.py") | both("setup.py") | {"pytest.ini": "[pytest]\n"}, {".": ()}),
        (both("tests/test_calc.py") | both("pkg/__init__.py"), {".": ()}),
        ({"tests/test_it.py": "", "src/p/__init__.py": "", "pyproject.toml": OWN}, {".": ()}),
    ],
)  # fmt: skip
def test_packages_run_by_themselves(
    tmp_path: Path, files: dict[str, str], parts: dict[str, tuple[str, ...]]
) -> None:
    write(tmp_path, files)
    assert [(run.root, run.tests) for run in divide_run(tmp_path, ())] == [*parts.items()]


@pytest.mark.parametrize(
    ("tests", "runs"),
    [
        ([f"{A}::test_x", "b"], [("a", (f"{A}::test_x",)), ("b", ())]),
        ([A, "test_top.py"], [("a", (A,)), (".", ("test_top.py",))]),
        ([], [(".", ()), ("a", ()), ("b", ())]),
    ],
)
def test_tests_run_in_their_packages(
    tmp_path: Path, tests: list[str], runs: list[tuple[str, tuple[str, ...]]]
) -> None:
    write(tmp_path, {"test_top.py": "", **both("tests/test_calc.py"), **both("pyproject.toml", OWN)})
    assert [(run.root, run.tests) for run in divide_run(tmp_path, tests)] == runs


@pytest.mark.parametrize(
    "text", ["pytest a", "pytest -c a/pyproject.toml", "python -m unittest discover -s a"]
)
def test_command_that_names_a_place_runs_there(tmp_path: Path, text: str) -> None:
    write(tmp_path, {**both("tests/test_calc.py"), **both("pyproject.toml", OWN)})
    command = parse_command(text, Path("/usr/bin/python"), root=tmp_path)
    assert command.divide(tmp_path, (A,)) == (PackageRun(tests=(A,)),)
