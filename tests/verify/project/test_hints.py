"""Test commands in a project's files."""

from pathlib import Path

import pytest

from coder.verify.project import find_hints
from tests.builders import write

WORKFLOW = """
jobs:
  test:
    name: run pytest on all versions
    steps:
      - run: pip install pytest
      - run: python -m pytest tests --strict-markers
      - name: Django
        run: |
          python manage.py test
          pytest --python ${{ matrix.python }}
"""
SETENV = """\
setenv =
    PYTHONPATH = {toxinidir}/src
    COVERAGE_FILE = {toxworkdir}/.coverage
    HOME = {toxinidir}
    py39: OLD = 1
    {[base]setenv}
    MODE = quick and dirty
"""


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({"pyproject.toml": "[tool.coder]\ntest = 'make check'"}, ["make check"]),
        (
            {"tox.ini": "[testenv]\ncommands =\n  pip check\n  pytest tests {posargs:-v}\n"},
            ["pytest tests -v"],
        ),
        (
            {"tox.ini": "[testenv]\nchangedir = tests\ncommands =\n    {envpython} runtests.py {posargs}\n"},
            ["python tests/runtests.py"],
        ),
        ({"tox.ini": "[testenv]\ncommands = pytest {envtmpdir}\n"}, []),
        (
            {"tox.ini": f"[testenv]\n{SETENV}changedir = tests\ncommands = python runtests.py\n"},
            ["PYTHONPATH=src MODE='quick and dirty' python tests/runtests.py"],
        ),
        ({"tox.ini": f"[testenv]\n{SETENV}    TOOL = pytest\ncommands = sphinx-build {{envtmpdir}}\n"}, []),
        (
            {"tox.toml": "[env_run_base]\nset_env = {A = 'b', B = 3}\ncommands = [['pytest']]"},
            ["A=b B=3 pytest"],
        ),
        ({"tox.toml": "[env_run_base]\ncommands = [['pytest', '-q']]"}, ["pytest -q"]),
        (
            {"Makefile": "all: test\n\techo\ntest: build\n\t@$(PYTHON) -m pytest $(ARGS)\nlint:\n\tpytest\n"},
            ["python -m pytest"],
        ),
        (
            {"justfile": "test *args:\n    cd tests && ./runtests.py\n", "tests/runtests.py": ""},
            ["python tests/runtests.py"],
        ),
        (
            {".github/workflows/ci.yml": WORKFLOW},
            ["python -m pytest tests --strict-markers", "python manage.py test"],
        ),
        ({".gitlab-ci.yml": "test:\n  script:\n    - python -m unittest\n"}, ["python -m unittest"]),
        ({"tests/runtests.py": "import django\n"}, ["python tests/runtests.py"]),
        ({"manage.py": "DJANGO_SETTINGS_MODULE"}, ["python manage.py test"]),
        ({"bin/test": "#!/usr/bin/env python"}, ["python bin/test"]),
        ({"pyproject.toml": "[tool]\ncoder = 3\n"}, []),
    ],
)
def test_finds_test_commands(tmp_path: Path, files: dict[str, str], commands: list[str]) -> None:
    write(tmp_path, files)
    assert [hint.command for hint in find_hints(tmp_path)] == commands


def test_jobs_are_weak_hints(tmp_path: Path) -> None:
    write(tmp_path, {".github/workflows/ci.yml": WORKFLOW, "Makefile": "test:\n\tpytest\n"})
    assert [(hint.source, hint.is_weak) for hint in find_hints(tmp_path)] == [
        ("the test target in Makefile", False),
        (".github/workflows/ci.yml", True),
        (".github/workflows/ci.yml", True),
    ]


@pytest.mark.parametrize(
    ("makefile", "commands"),
    [
        ("test: t\n\t./t\n", ["make test"]),
        ("all:\n\tcc a.c\n\n.PHONY: check\ncheck: all\n\t./run\n", ["make check"]),
        ("test := 3\nall:\n\tcc a.c\n", []),
    ],
)
def test_targets_of_a_makefile_run_the_tests_where_no_python_is(
    tmp_path: Path, makefile: str, commands: list[str]
) -> None:
    write(tmp_path, {"Makefile": makefile, "a.c": "", "tests/test_a.c": ""})
    assert [hint.command for hint in find_hints(tmp_path)] == commands
    write(tmp_path, {"tests/test_a.py": ""})
    assert not any(hint.command.startswith("make") for hint in find_hints(tmp_path))
