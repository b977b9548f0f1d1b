"""Warm base in a real process."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from coder.core.ports import Limits
from coder.sandbox.process import ProcessSandbox
from coder.verify.project import find_project
from coder.verify.warm import WarmBase, WarmRefusal, WarmResult, WarmRunner, read_edits

SOURCE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
TESTS = (
    "import numbers_\n\n\ndef test_one():\n    assert numbers_.one() == 1\n\n\ndef test_two():\n"
    "    assert numbers_.two() == 2\n"
)
LIMITS = Limits(memory_bytes=None)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    place = tmp_path / "tree"
    place.mkdir()
    (place / "numbers_.py").write_text(SOURCE)
    (place / "test_numbers.py").write_text(TESTS)
    return place


@pytest.fixture
def warm_base(tree: Path, sandbox: ProcessSandbox, tmp_path: Path) -> Iterator[WarmBase]:
    project = find_project(tree, sandbox=sandbox, environment={})

    @contextmanager
    def checkout() -> Iterator[Path]:
        yield tree

    def warm(place: Path) -> WarmRunner:
        return WarmRunner(project, place, sandbox=sandbox, scratch=sandbox.scratch, limits=LIMITS)

    base = WarmBase(checkout, warm=warm)
    yield base
    base.close()


def test_reports_not_ready_yet(warm_base: WarmBase) -> None:
    assert isinstance(warm_base.run({}, ()), WarmRefusal)
    assert not warm_base.is_ready


@pytest.mark.thorough
def test_runs_tests_with_an_edit(warm_base: WarmBase) -> None:
    warm_base.start()
    while not warm_base.is_ready:
        time.sleep(0.02)
    ran = warm_base.run({"numbers_.py": SOURCE.replace("return 1", "return 0")}, ())
    assert isinstance(ran, WarmResult)
    assert [result.id for result in ran.report.failures] == ["test_numbers.py::test_one"]


def test_can_be_closed_while_preparing(warm_base: WarmBase) -> None:
    warm_base.start()
    warm_base.close()
    assert isinstance(warm_base.run({}, ()), WarmRefusal)


def test_rejects_edits_of_non_text_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe")
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")
    assert read_edits(tmp_path, ["a.py", "gone.py"]) == {"a.py": "a = 1\n", "gone.py": None}
    assert read_edits(tmp_path, ["b.bin"]) is None
    assert read_edits(tmp_path, ["link.py"]) is None


def test_ends_quietly_when_worktree_is_gone(tree: Path) -> None:
    """A thread that dies of an exception is an error of the test: warnings are."""

    @contextmanager
    def checkout() -> Iterator[Path]:
        yield next((tree / "gone").iterdir())

    base = WarmBase(checkout, warm=fail_on_call)
    base.start()
    base.close()
    assert isinstance(base.run({}, ()), WarmRefusal)


def fail_on_call(place: Path) -> NoReturn:
    raise AssertionError(place)
