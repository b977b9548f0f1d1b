"""Mutation score of the tests of a real tree."""

from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.core.verdict import UntestedPlace
from coder.sandbox.process import ProcessSandbox
from coder.verify.mutate import mutate_verified_change
from coder.verify.project import find_project
from coder.verify.warm import WarmRunner
from tests.verify.conftest import Run

OLD = "def low(x):\n    return x\n\n\ndef high(x):\n    return x\n"
NEW = "def low(x):\n    return x + 1\n\n\ndef high(x):\n    return x + 2\n"
TESTS = "from src import low, high\n\n\ndef test_low():\n    assert low(1) == 2\n"
MORE = "import src\n\n\ndef test_high():\n    assert src.high(1) == 3\n"


@pytest.mark.parametrize(
    ("more", "loose"),
    [
        (
            "def test_nothing():\n    pass\n",
            (UntestedPlace(path="src.py", line=6, what="is as it was before", whole_hunk=True),),
        ),
        (MORE, ()),
    ],
)
def test_runs_tests_importing_changed_module(
    more: str, loose: tuple[UntestedPlace, ...], tmp_path: Path, sandbox: ProcessSandbox, make_runner: Run
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for place, source in ((old, OLD), (new, NEW)):
        place.mkdir()
        (place / "src.py").write_text(source)
        (place / "test_low.py").write_text(TESTS)
        (place / "test_more.py").write_text(more)
    after = make_runner(new).run(new)
    project = find_project(new, sandbox=sandbox, environment={})
    with WarmRunner(
        project, new, sandbox=sandbox, scratch=sandbox.scratch, limits=Limits(memory_bytes=None)
    ) as warm:
        guard_result = mutate_verified_change(
            old, new, ["src.py"], targets=["test_low.py::test_low"], after=after, warm=warm
        )
    assert guard_result is not None
    assert guard_result.survivors == loose
    assert guard_result.ended
