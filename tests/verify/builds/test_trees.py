"""Verdicts on changes of C sources, in a project whose extension module was built in place, and is stale."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.core.verdict import TestReport, Verdict, VerdictKind
from coder.sandbox.process import ProcessSandbox
from coder.verify.build import Builder
from coder.verify.change import Purpose
from coder.verify.launch import TARGET
from coder.verify.run import PytestRunner
from coder.verify.verifier import WorktreeVerifier
from tests.builders import by_hand, find_project, git, repo, write
from tests.repo.opened import open_session_repository
from tests.walls import walls

pytest.importorskip("setuptools")
pytestmark = [
    pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc"),
    pytest.mark.skipif(
        not Path(sysconfig.get_path("include"), "Python.h").is_file(), reason="needs the headers of Python"
    ),
]

SETUP = (
    "from setuptools import Extension, setup\n"
    "setup(name='fast', packages=['fast'], ext_modules=[Extension('fast._add', ['fast/_add.c'])])\n"
)
HEADER = "#define OPERATOR -\n"
SOURCE = """\
#include <Python.h>
#include "operator.h"
static PyObject *add(PyObject *self, PyObject *args) {
    long a, b;
    if (!PyArg_ParseTuple(args, "ll", &a, &b)) return NULL;
    return PyLong_FromLong(a OPERATOR b);
}
static PyMethodDef methods[] = {{"add", add, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_add", NULL, -1, methods};
PyMODINIT_FUNC PyInit__add(void) { return PyModule_Create(&module); }
"""
TESTS = "from fast._add import add\n\n\ndef test_zero():\n    assert add(3, 0) == 3\n"
NEW_TESTS = TESTS + "\n\ndef test_sum():\n    assert add(2, 3) == 5\n"
BUILD = "python setup.py --quiet build_ext --inplace --force"
FIX = {"fast/operator.h": "#define OPERATOR +\n", "test_add.py": NEW_TESTS}


@pytest.fixture(scope="module")
def built_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with the module of its first commit built in place."""
    files = {
        ".gitignore": "*.so\nbuild/\n__pycache__/\n",
        "setup.py": SETUP,
        "fast/__init__.py": "",
        "fast/_add.c": SOURCE,
        "fast/operator.h": HEADER,
        "test_add.py": TESTS,
    }
    root = repo(tmp_path_factory.mktemp("built") / "r", files)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return root


@pytest.fixture
def root(built_repository: Path, tmp_path: Path) -> Path:
    """Return a copy of the built repository."""
    return shutil.copytree(built_repository, tmp_path / "r", symlinks=True)


def judge(root: Path, change: dict[str, str], command: str = "") -> tuple[Verdict, TestReport]:
    """Return the verdict on a change of HEAD, built by a command, and what a model sees of its tests."""
    environment = {"PATH": os.environ["PATH"]}
    with (
        open_session_repository(root) as repository,
        ProcessSandbox(os.environ, backend=walls(), exposed=(TARGET,)) as sandbox,
    ):
        project = find_project(root, sandbox=sandbox, environment=environment)
        limits = Limits(wall_seconds=120.0, memory_bytes=None)
        runner = PytestRunner(project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=limits)
        verifier = WorktreeVerifier(
            trees=repository,
            runner=runner,
            purpose=Purpose(),
            builder=Builder(project, sandbox=sandbox, limits=limits, command=command),
        )
        assert verifier.baseline(whole=True).problem is None
        candidate = repository.create_candidate("c1")
        write(candidate.worktree, change)
        patch = repository.candidate_patch(candidate)
        verdict = verifier.judge(patch, ())
        tests = [path for path in change if path.startswith("test_")] or ["test_add.py"]
        preview = verifier.run_tests(candidate.worktree, patch.paths, tests)
        return verdict, preview


BROKEN_BASE = {"fast/operator.h": "#define OPERATOR @\n"}
SPECIAL = {"fast/_add.c": SOURCE.replace("(a OPERATOR b)", '(getenv("PATH") ? a + b : 0)')}
DIFFERENCE = f"{TESTS}\n\ndef test_difference():\n    assert add(5, 3) == 2\n"


def operator(text: str) -> dict[str, str]:
    return {**FIX, "fast/operator.h": f"{text}\n"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("base", "change", "command", "kind", "words", "preview"),
    [
        ({}, FIX, BUILD, "FIXED", ["fast/_add"], ["passed", "passed"]),
        (
            *({}, {**SPECIAL, "test_add.py": NEW_TESTS}, BUILD, "PASSING"),
            *(["fast/_add.c:6 looks at what calls or runs it (`getenv(`)"], ["passed", "passed"]),
        ),
        ({}, operator("#define OPERATOR + 1 +"), BUILD, "BROKEN", ["test_zero"], ["failed", "failed"]),
        ({}, operator("#define OPERATOR @"), BUILD, "BROKEN", ["error: ", "operator.h"], "error: "),
        ({}, operator("#include <missing/lib.h>"), BUILD, "NOT TESTED", ["missing/lib.h"], "missing/lib.h"),
        (BROKEN_BASE, FIX, BUILD, "NOT TESTED", ["base", "fast/operator.h"], None),
        (
            *({}, FIX, "", "NOT TESTED"),
            ["fast/operator.h", "fast/_add", "`python setup.py build_ext --inplace --force`"],
            "fast/_add",
        ),
        ({"setup.py": ""}, FIX, "", "NOT TESTED", ["fast/operator.h", "fast/_add"], "fast/_add"),
        (
            *(BROKEN_BASE, {"fast/__init__.py": "VERSION = 1\n", "test_add.py": DIFFERENCE}),
            *("", "PASSING", [], ["passed", "passed"]),
        ),
    ],
    ids=[
        *("right", "asks for the environment", "wrong", "does not compile", "missing header"),
        *("base does not compile", "no command", "built by hand", "module of the checkout"),
    ],
)
def test_verdict_on_sources_of_a_module(
    root: Path,
    base: dict[str, str],
    change: dict[str, str],
    command: str,
    kind: str,
    words: list[str],
    preview: list[str] | str | None,
) -> None:
    """`preview` is how tests end before the verdict, or the problem of their run."""
    if base:
        write(root, base)
        if "setup.py" in base:
            git(root, "rm", "-qf", "setup.py")
        git(root, "commit", "-qam", "another base")
    verdict, report = judge(root, change, command)
    text = "\n".join([verdict.reason, *verdict.circumstances, *(found.text for found in verdict.findings)])
    text += "".join("".join(result.output_tail) for result in verdict.still_red)
    assert (verdict.kind.value, [word for word in words if word not in text]) == (kind, []), text
    if isinstance(preview, list):
        assert [result.outcome for result in report.results] == preview
    elif preview is not None:
        assert report.problem is not None and preview in report.problem.text


GENERATED = {
    "make.py": "text = open('value.txt').read()\nopen('value.py', 'w').write(f'VALUE = {int(text)}\\n')\n",
    "value.txt": "1",
    "test_value.py": "from value import VALUE\n\n\ndef test_value():\n    assert VALUE in (1, 2)\n",
}
NEW_VALUE = "from value import VALUE\n\n\ndef test_value():\n    assert VALUE == 2\n"


@pytest.mark.parametrize(("value", "kind"), [("2", "FIXED"), ("x", "BROKEN"), *by_hand(("3", "NOT FIXED"))])
def test_named_build_runs_on_both_sides(value: str, kind: str, tmp_path: Path) -> None:
    root = repo(tmp_path / "r", GENERATED)
    verdict, _ = judge(root, {"value.txt": value, "test_value.py": NEW_VALUE}, "python make.py")
    assert verdict.kind.value == kind, verdict.reason


def test_named_build_that_fails_on_base_is_not_tested(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {**GENERATED, "value.txt": "x"})
    verdict, _ = judge(root, {"value.txt": "2", "test_value.py": NEW_VALUE}, "python make.py")
    assert verdict.kind is VerdictKind.NOT_TESTED and "python make.py" in verdict.reason
