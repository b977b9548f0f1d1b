"""Test commands in a project's files."""

from pathlib import Path

import pytest

from coder.verify.project import find_hints
from tests.builders import projects, write

WORKFLOW = "jobs:\n  test:\n    steps:\n      - run: python manage.py test\n"


@pytest.mark.parametrize(("files", "commands", "_given"), projects("hints/commands.txt"))
def test_finds_test_commands(tmp_path: Path, files: dict[str, str], commands: list[str], _given: str) -> None:
    write(tmp_path, files)
    assert [hint.command for hint in find_hints(tmp_path)] == commands


def test_jobs_are_weak_hints(tmp_path: Path) -> None:
    write(tmp_path, {".github/workflows/ci.yml": WORKFLOW, "Makefile": "test:\n\tpytest\n"})
    assert [(hint.source, hint.is_weak) for hint in find_hints(tmp_path)] == [
        ("the test target in Makefile", False),
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
