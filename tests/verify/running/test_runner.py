"""Runs of real pytest in small trees."""

import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from coder.core.verdict import RunProblem, TestReport
from coder.verify.run import CUT_SHORT
from tests.builders import by_hand, write, write_tree
from tests.verify.conftest import Run
from tests.verify.fakes import outcomes

CALC = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": (
        "from calc import add\n\n\ndef test_add():\n    print('adding')\n    assert add(1, 2) == 3\n"
    ),
}


def list_files(place: Path) -> set[str]:
    return {path.relative_to(place).as_posix() for path in place.rglob("*")}


def test_failure_has_assertion_frames_and_output(tmp_path: Path, make_runner: Run) -> None:
    root = write_tree(tmp_path, CALC)
    before = list_files(root)
    report = make_runner(root).run(root)
    assert list_files(root) == before
    (result,) = report.failures
    assert (result.id, result.outcome, result.when) == ("tests/test_calc.py::test_add", "failed", "call")
    assert result.failure is not None
    assert result.failure.type == "AssertionError"
    assert result.failure.message.startswith("assert -1 == 3")
    assert [(frame.path, frame.line, frame.function) for frame in result.failure.frames] == [
        ("tests/test_calc.py", 6, "test_add")
    ]
    assert ">    6     assert add(1, 2) == 3" in result.failure.text
    assert "--- Captured stdout call ---\nadding" in result.failure.text
    assert (report.problem, report.exit_code, report.by_exit_code) == (None, 1, False)


@pytest.mark.thorough
def test_cut_run_keeps_results_and_tells_what_it_waited_for(tmp_path: Path, make_runner: Run) -> None:
    tests = "import time\n\n\ndef test_a():\n    pass\n\n\ndef test_b():\n    time.sleep(60)\n"
    root, cut = write_tree(tmp_path, {"test_it.py": tests}), threading.Event()

    def cut_after_first(line: str) -> None:
        if line.startswith("1 of 2"):
            cut.set()

    report = make_runner(root).run(root, progress=cut_after_first, cut=cut)
    assert outcomes(report) == {"test_it.py::test_a": "passed", "test_it.py::test_b": "failed"}
    assert (report.selected, report.problem) == (2, CUT_SHORT)


def test_reports_every_outcome(tmp_path: Path, make_runner: Run) -> None:
    code = """
import os, sys, unittest
import pytest

@pytest.fixture
def broken():
    raise ValueError("setup")

@pytest.fixture
def leaky():
    yield
    raise ValueError("teardown")

def test_passes(): pass
def test_fails(): assert False
def test_errors(broken): pass
def test_errors_late(leaky): pass
def test_skips(): pytest.skip("not here")
@pytest.mark.xfail
def test_xfails(): assert False
@pytest.mark.xfail
def test_xpasses(): pass
@pytest.mark.xfail(strict=True)
def test_strict(): pass
def test_exits(): sys.exit(0)
def test_wanders(tmp_path): os.chdir(tmp_path)
def test_forges(monkeypatch):
    monkeypatch.setattr(os, "getpid", None)
    monkeypatch.setattr(os, "write", None)
@pytest.mark.parametrize("text", ["a b", "x[y]::z", "\\n", "ä", "/"])
def test_odd(text): assert text != "a b"
class TestCase(unittest.TestCase):
    def test_equal(self): self.assertEqual(1, 2)
    def test_subtests(self):
        for number in (1, 2):
            with self.subTest(number=number):
                self.assertEqual(number, 1)
"""
    stopping = {"pytest.ini": "[pytest]\naddopts = -x\n", "test_a_bad.py": "import nowhere"}
    root = write_tree(tmp_path, {"test_all.py": code, **stopping})
    runner = make_runner(root, command="pytest --exitfirst")
    report = runner.run(root)
    assert report.problem is None
    assert outcomes(report) == {
        "test_a_bad.py": "error in collect",
        "test_all.py::test_passes": "passed",
        "test_all.py::test_fails": "failed",
        "test_all.py::test_errors": "error in setup",
        "test_all.py::test_errors_late": "error in teardown",
        "test_all.py::test_skips": "skipped",
        "test_all.py::test_xfails": "xfailed",
        "test_all.py::test_xpasses": "xpassed",
        "test_all.py::test_strict": "failed",
        "test_all.py::test_exits": "failed",
        "test_all.py::test_wanders": "passed",
        "test_all.py::test_forges": "passed",
        "test_all.py::test_odd[a b]": "failed",
        "test_all.py::test_odd[x[y]::z]": "passed",
        "test_all.py::test_odd[\\n]": "passed",
        "test_all.py::test_odd[\\xe4]": "passed",
        "test_all.py::test_odd[/]": "passed",
        "test_all.py::TestCase::test_equal": "failed",
        "test_all.py::TestCase::test_subtests": "failed",
    }
    reds = {
        result.id.rpartition("::")[2]: result.failure.type for result in report.failures if result.failure
    }
    assert reds["test_a_bad.py"] == "ModuleNotFoundError"
    assert reds["test_exits"] == "SystemExit"
    assert reds["test_strict"] == "XPASS(strict)"
    assert reds["test_subtests"] == "AssertionError"
    ids = [result.id for result in report.results]
    assert [result.id for result in runner.run(root, ids).results] == ids
    assert outcomes(
        runner.run(root, [f"{root}/test_all.py::test_odd[x[y]::z]", "./test_all.py::TestCase"])
    ) == {
        "test_all.py::test_odd[x[y]::z]": "passed",
        "test_all.py::TestCase::test_equal": "failed",
        "test_all.py::TestCase::test_subtests": "failed",
    }


def problem_text(report: TestReport, kind: str) -> str:
    assert isinstance(report.problem, RunProblem)
    assert report.problem.kind == kind, report
    return report.problem.text


INNER = """\
import os, subprocess, sys

def test_it(tmp_path):
    (tmp_path / 'test_in.py').write_text('def test_in(): pass')
    assert not [name for name in os.environ if name.startswith(('CODER', 'PYTEST_ADDOPTS'))]
    assert subprocess.call([sys.executable, '-m', 'pytest', str(tmp_path)]) == 0
"""
ALONE = "import os\ndef test_alone(): assert 'PYTEST_XDIST_WORKER' not in os.environ\n"
ALONE += "def test_red(): assert 1 == 2"
WORKERS = {
    f"{file}::{name}": end
    for file in ("test_x.py", "test_y.py")
    for name, end in (("test_alone", "passed"), ("test_red", "failed"))
}
DIES = "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): pass"
SLEEPS = "import time\ndef test_a(): pass\ndef test_b(): time.sleep(60)"
LATE = {
    "conftest.py": "import time\ndef pytest_sessionfinish(): time.sleep(60)",
    "test_it.py": "def test_a(): pass",
}
IN_NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}',
    "a.test.js": "require('node:test')('30', () => { throw new Error('no'); });\n",
}
PLUGIN = {
    "pytest.ini": "[pytest]\naddopts = -p testing.two",
    "testing/two.py": "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n",
    "test_it.py": "def test_two(two):\n    assert two == 2\n",
}
A, B = "test_it.py::test_a", "test_it.py::test_b"
PASSES = "def test_a(): pass\n"


@pytest.mark.parametrize(
    ("files", "command", "options", "expected", "problem"),
    [
        (
            *({"test_it.py": DIES}, None, {}, {A: "passed", B: "error"}),
            f"crash: The test process ended with exit code 0 while {B} was running, after 1 of 3 tests.",
        ),
        (
            *({"test_it.py": SLEEPS}, None, {"timeout_seconds": 3.0}, {A: "passed"}),
            f"timeout: The tests did not end within 3 s; the limit came after 1 of 2 tests, in {B}.",
        ),
        (LATE, None, {"timeout_seconds": 3.0}, {A: "passed"}, ""),
        ({"calc.py": ""}, None, {}, {}, "no_tests: "),
        (
            *({"calc.py": ""}, None, {"tests": ["tests/test_gone.py::test_a"]}, {}),
            "no_tests: None of the tests asked for exists: tests/test_gone.py::test_a.",
        ),
        (
            *({"a[1]/test_a.py": PASSES, "test_b.py": PASSES}, None),
            *({"tests": ["a[1]/test_a.py::test_a"]}, {"a[1]/test_a.py::test_a": "passed"}, ""),
        ),
        pytest.param(
            *(IN_NODE, None, {"tests": ["a.test.js::32"]}, {}, "no_tests: None of the tests"),
            marks=pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
        ),
        (PLUGIN, None, {}, {"test_it.py::test_two": "passed"}, ""),
        ({"run.sh": "exit 0"}, "sh run.sh", {}, {"sh run.sh": "passed"}, ""),
        ({"run.sh": "exit 3"}, "sh run.sh", {}, {"sh run.sh": "failed"}, ""),
        *by_hand(
            (CALC, "pytest --no-such-option", {}, {}, "usage: "),
            ({"test_out.py": INNER}, None, {}, {"test_out.py::test_it": "passed"}, ""),
            ({"test_x.py": ALONE, "test_y.py": ALONE}, "pytest -n 2", {}, WORKERS, ""),
        ),
    ],
    ids=[
        *("dead process", "time limit", "time limit after the last test", "no test", "test that is gone"),
        *("brackets in a path", "failing run without the named tests", "plugin of the repository"),
        *("exit code 0", "exit code 3", "wrong option", "pytest that a test starts", "no workers of xdist"),
    ],
)
def test_outcomes_and_problems(
    tmp_path: Path,
    make_runner: Run,
    plugin_venv: Path,
    files: dict[str, str],
    command: str | None,
    options: dict[str, Any],
    expected: dict[str, str],
    problem: str,
) -> None:
    venv = plugin_venv if command == "pytest -n 2" else None
    report = make_runner(write_tree(tmp_path, files), command=command, venv=venv).run(tmp_path, **options)
    assert outcomes(report) == expected
    assert report.by_exit_code is (command == "sh run.sh")
    found = f"{report.problem.kind}: {report.problem.text}" if report.problem else ""
    assert found.startswith(problem) and bool(found) is bool(problem), found
    assert command != "pytest --no-such-option" or "unrecognized arguments: --no-such-option" in found


ENDLESS = {
    "calc.py": (
        "def spin(turns):\n    while turns:\n        [turn for turn in range(100)]\n    return 'done'\n"
    ),
    "test_it.py": (
        "from calc import spin\ndef test_a(): assert spin(0)\ndef test_b(): spin(1)\n"
        "def test_c():\n    try: spin(2)\n    except Exception: pass\ndef test_d(): assert spin(0)\n"
    ),
}


@pytest.mark.parametrize("options", ["", *by_hand(" -n 2")])
def test_endless_test_is_red_and_others_run(
    tmp_path: Path, make_runner: Run, plugin_venv: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    monkeypatch.setattr("coder.verify.run.TEST_SECONDS", 0.3)
    root = write_tree(tmp_path, ENDLESS)
    report = make_runner(root, command=f"pytest{options}", venv=plugin_venv).run(root)
    red = {"test_it.py::test_b": "failed", "test_it.py::test_c": "failed"}
    assert (outcomes(report), report.problem) == (
        {"test_it.py::test_a": "passed", "test_it.py::test_d": "passed", **red},
        None,
    )
    failure = report.failures[0].failure
    assert failure is not None
    assert (failure.type, failure.message) == (
        "TooLong",
        "the test did not end within 0.3 s of processor time",
    )
    assert any((frame.path, frame.function) == ("calc.py", "spin") for frame in failure.frames)


@pytest.mark.thorough
def test_slow_test_among_slow_ones_is_not_endless(
    tmp_path: Path, make_runner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coder.verify.run.TEST_SECONDS", 0.5)
    busy = (
        "import time\ndef busy(seconds):\n    began = time.process_time()\n"
        "    while time.process_time() - began < seconds: pass\n"
    )
    root = write_tree(tmp_path, {"test_it.py": f"{busy}def test_a(): busy(0.2)\ndef test_b(): busy(1.0)\n"})
    assert outcomes(make_runner(root).run(root)) == {
        "test_it.py::test_a": "passed",
        "test_it.py::test_b": "passed",
    }


PACKAGE = "def answer():\n    return {}\n"
PROJECT = (
    "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n[project]\n"
    "name = '{}'\nversion = '1'\n"
)
LAYOUTS = {"src": "src/{}/__init__.py", "flat": "{}/__init__.py"}


@pytest.mark.parametrize("layout", ["src", *by_hand("flat")])
def test_worktree_tests_its_own_code_despite_installation(
    tmp_path: Path, make_runner: Run, plugin_venv: Path, layout: str
) -> None:
    name = f"editable_{layout}"
    source = LAYOUTS[layout].format(name)
    files = {
        "pyproject.toml": PROJECT.format(name),
        "tests/test_it.py": f"import {name}\ndef test_it(): assert {name}.answer() == 42\n",
    }
    checkout = write_tree(tmp_path / "checkout", {**files, source: PACKAGE.format(41)})
    worktree = write_tree(tmp_path / "worktree", {**files, source: PACKAGE.format(42)})
    python = str(plugin_venv / "bin" / "python")
    packages = next(plugin_venv.glob("lib/python*/site-packages"))
    if layout == "src":  # what pip would take seconds for
        (packages / f"__editable__.{name}-1.pth").write_text(f"{checkout}/src\n")
    else:
        options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index", "-e", str(checkout)]
        subprocess.run([python, "-m", "pip", "install", *options], check=True, capture_output=True)
    finder = [*packages.glob(f"__editable__*{name}*finder.py")]
    assert bool(finder) is (layout == "flat"), "both of setuptools' editable styles are meant to be tried"
    installed = subprocess.run(
        [python, "-c", f"import {name}; print({name}.answer())"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert installed.stdout == "41\n"

    runner = make_runner(checkout, command="pytest", venv=plugin_venv)
    report = runner.run(worktree, expect_loaded=[source])
    assert (outcomes(report), report.problem) == ({"tests/test_it.py::test_it": "passed"}, None)

    thief = f"import sys\nsys.path.insert(0, {str((checkout / source).parent.parent)!r})\n"
    write_tree(worktree, {"conftest.py": thief})
    message = problem_text(runner.run(worktree, expect_loaded=[source]), "wrong_code")
    assert str(checkout / source) in message
    assert str(worktree / source) in message
    assert f"imported {name} " in message


def test_files_in_private_home_are_no_harness_access(tmp_path: Path, make_runner: Run) -> None:
    save = (
        "import pathlib, tempfile\n\n\ndef save():\n"
        "    pathlib.Path(tempfile.mkdtemp(), 'a').write_text('x')\n"
    )
    peek = "def peek():\n    return open('/proc/self/cmdline').read()\n"
    test = "from store import save\nfrom look import peek\n\n\ndef test_both():\n    save()\n    peek()\n"
    root = write_tree(tmp_path, {"store.py": save, "look.py": peek, "test_store.py": test})
    report = make_runner(root).run(root, ["test_store.py::test_both"], observe=True)
    assert (report.reached, report.results[0].body and report.results[0].body.ended) == (
        ("look.py: open",),
        1,
    )


def test_trees_of_other_content_build_elsewhere(tmp_path: Path, make_runner: Run) -> None:
    script = 'if [ -e "$GOCACHE" ]; then echo "not ok 1 - seen"; else echo "ok 1 - new"; fi\n'
    files = {"run.sh": f'echo 1..1\n{script}mkdir -p "$GOCACHE"\n', "calc.py": "X = 1\n"}
    trees = {name: write_tree(tmp_path / name, files) for name in ("base", "change", "again")}
    write(trees["change"], {"calc.py": "X = 2\n"})
    runner = make_runner(trees["base"], command="sh run.sh")
    seen = {name: [result.id for result in runner.run(tree).results] for name, tree in trees.items()}
    assert seen == {"base": ["new"], "change": ["new"], "again": ["seen"]}


@pytest.mark.parametrize("command", ["python -m pytest", "python -m unittest"])
def test_modules_named_like_standard_library_lie_beside_code(
    tmp_path: Path, make_runner: Run, command: str
) -> None:
    own = "import sys\n\nprint('mine', file=sys.stderr)\n"
    code = "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n"
    files = {
        **dict.fromkeys(("random.py", "types.py", "logging.py"), own),
        "calc.py": "def add(a, b):\n    return a + b\n",
        "test_calc.py": f"{code}    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
    }
    root = write_tree(tmp_path, files)
    runner = make_runner(root, command=command)
    report = runner.run(root)
    assert (report.problem, outcomes(report)) == (None, {"test_calc.py::T::test_add": "passed"})
    assert runner.run_plainly(root, ["test_calc.py::T::test_add"], timeout_seconds=60) == 0


def test_plain_run_leaves_other_tests_of_command_out(tmp_path: Path, make_runner: Run) -> None:
    root = write_tree(
        tmp_path,
        {
            "tests/test_a.py": "def test_a(): pass\n",
            "tests/test_b.py": "def test_b(): assert 0\n",
        },
    )
    runner = make_runner(root, command="python -m pytest -k tests tests/")
    assert runner.run_plainly(root, ["tests/test_a.py::test_a"], timeout_seconds=60) == 0
    assert runner.run_plainly(root, ["tests/test_b.py::test_b"], timeout_seconds=60) == 1


def test_thread_that_does_not_end_is_not_waited_for(
    tmp_path: Path, make_runner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coder.verify.launch.LINGER_SECONDS", 0.2)
    code = (
        "import threading, time\n\n\n"
        "def test_it():\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n"
    )
    root = write_tree(tmp_path, {"test_it.py": code})
    runner = make_runner(root)
    report = runner.run(root)
    assert (report.problem, report.exit_code) == (None, 0)
    assert "outlived them by 0.2 s" in report.output
    assert runner.run_plainly(root, ["test_it.py::test_it"], timeout_seconds=60) == 0


FILES = {
    "conftest.py": (
        "import pathlib, pytest\n\n\n"
        "@pytest.fixture(scope='session')\ndef shared():\n"
        "    with pathlib.Path('made.txt').open('a') as file:\n        file.write('x')\n"
        "    yield\n    pathlib.Path('made.txt').unlink()\n"
    ),
    "pkg/__init__.py": "",
    "pkg/conftest.py": (
        "import pytest\n\n\n@pytest.fixture(scope='package')\ndef packaged(made=[]):\n"
        "    made.append(1)\n    return len(made)\n"
    ),
    "pkg/test_b.py": "def test_b(shared, packaged):\n    assert packaged == 1\n",
    "pkg/test_a.py": (
        "import pathlib\n\n\ndef test_a(shared, packaged):\n"
        "    assert packaged == 1\n    assert pathlib.Path('made.txt').read_text() == 'x'\n"
    ),
}
SLOW = {"pkg/test_slow.py": "import time\n\ntime.sleep(60)\n\n\ndef test_slow():\n    pass\n"}
TESTS = ("pkg/test_b.py", "pkg/test_a.py")


@pytest.mark.parametrize("is_listing", [False, True])
def test_first_files_survive_the_time_limit(tmp_path: Path, make_runner: Run, is_listing: bool) -> None:
    write(tmp_path, {**FILES, **SLOW})
    runner, tests = make_runner(tmp_path), (*TESTS, "pkg/test_slow.py")
    if is_listing:
        report = runner.collect(tmp_path, tests, timeout_seconds=8.0)
    else:
        report = runner.run(tmp_path, tests, timeout_seconds=8.0, stream=True)
    problem_text(report, "timeout")
    ids = report.collected if is_listing else [result.id for result in report.results]
    assert [*ids] == ["pkg/test_b.py::test_b", "pkg/test_a.py::test_a"]


@pytest.mark.parametrize("stream", [False, True])
def test_fixtures_and_errors_are_those_of_an_ordinary_run(
    tmp_path: Path, make_runner: Run, stream: bool
) -> None:
    """Fixtures of a session and a package are shared; warnings count as the project says."""
    more = {
        "setup.cfg": "[tool:pytest]\nfilterwarnings = error\n",
        "test_warning.py": "import warnings\n\nwarnings.warn('old')\n\n\ndef test_it():\n    pass\n",
        "test_wrong.py": "import nosuch\n",
        "pkg/test_none.py": "",
        "test_cases.py": (
            "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_case(n):\n    assert n == 1\n"
        ),
    }
    write(tmp_path, {**FILES, **more})
    tests = (*TESTS, "pkg/test_none.py", "test_warning.py", "test_wrong.py", "test_cases.py::test_case[2]")
    report = make_runner(tmp_path).run(tmp_path, tests, stream=stream)
    assert {result.id: f"{result.outcome} in {result.when}" for result in report.results} == {
        "pkg/test_b.py::test_b": "passed in call",
        "pkg/test_a.py::test_a": "passed in call",
        "test_warning.py": "error in collect",
        "test_wrong.py": "error in collect",
        "test_cases.py::test_case[2]": "failed in call",
    }
    assert (report.problem, report.exit_code, report.selected) == (None, 1, 3)


OWN = "[tool.pytest.ini_options]\npythonpath = ['.']\n"
IN_A, IN_B = "a/tests/test_calc.py", "b/tests/test_calc.py"


def test_results_are_those_of_each_package(tmp_path: Path, make_runner: Run) -> None:
    test = """import utils

def test_own(pytestconfig):
    assert utils.NAME == {0!r}
    assert pytestconfig.rootpath.name == {0!r}
    assert open("data.txt").read() == {0!r}

class TestOne:
    def test_same(self): pass

class TestTwo:
    def test_same(self): assert {0!r} == "a"
"""
    files = dict.fromkeys(("a/pyproject.toml", "b/pyproject.toml"), OWN)
    for name in "ab":
        files |= {f"{name}/tests/test_calc.py": test.format(name), f"{name}/data.txt": name}
        files |= {f"{name}/utils.py": f"NAME = {name!r}\n"}
    write(tmp_path, {**files, "c/pyproject.toml": OWN, "c/conftest.py": "1 / 0\n", "c/test_c.py": ""})
    runner = make_runner(tmp_path)
    report = runner.run(tmp_path)
    assert report.problem is None
    assert [(result.id, result.outcome) for result in report.results] == [
        (f"{IN_A}::test_own", "passed"),
        (f"{IN_A}::TestOne::test_same", "passed"),
        (f"{IN_A}::TestTwo::test_same", "passed"),
        (f"{IN_B}::test_own", "passed"),
        (f"{IN_B}::TestOne::test_same", "passed"),
        (f"{IN_B}::TestTwo::test_same", "failed"),
        ("c", "error"),
    ]
    assert [
        frame.path for result in report.results[5:6] if result.failure for frame in result.failure.frames
    ] == [IN_B]
    (single,) = runner.run(tmp_path, [f"{IN_B}::TestTwo::test_same"]).results
    assert (single.id, single.outcome) == (f"{IN_B}::TestTwo::test_same", "failed")
