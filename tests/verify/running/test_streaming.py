"""Runs that collect each test file only once the tests of those before it have run."""

from pathlib import Path

import pytest

from tests.builders import write
from tests.verify.conftest import Run

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


def test_results_of_first_files_survive_the_time_limit(tmp_path: Path, make_runner: Run) -> None:
    write(tmp_path, {**FILES, **SLOW})
    runner = make_runner(tmp_path)
    tests = (*TESTS, "pkg/test_slow.py")
    report = runner.run(tmp_path, tests, timeout_seconds=8.0, stream=True)
    assert report.problem is not None
    assert (report.problem.kind, [result.id for result in report.results]) == (
        "timeout",
        ["pkg/test_b.py::test_b", "pkg/test_a.py::test_a"],
    )


def test_listing_of_first_files_survives_the_time_limit(tmp_path: Path, make_runner: Run) -> None:
    write(tmp_path, {**FILES, **SLOW})
    report = make_runner(tmp_path).collect(tmp_path, (*TESTS, "pkg/test_slow.py"), timeout_seconds=8.0)
    assert report.problem is not None
    assert (report.problem.kind, report.collected) == (
        "timeout",
        ("pkg/test_b.py::test_b", "pkg/test_a.py::test_a"),
    )


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
