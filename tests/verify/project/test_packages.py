"""Division of a test run among the packages of a repository."""

from pathlib import Path

import pytest

from coder.verify.layout import PackageRun, divide_run
from coder.verify.project import parse_command
from tests.builders import write

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
