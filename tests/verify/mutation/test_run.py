"""Mutation score of the targets of a real tree."""

from pathlib import Path

from coder.core.ports import Limits
from coder.core.verdict import UntestedPlace
from coder.sandbox.process import ProcessSandbox
from coder.verify.mutate import mutate_verified_change
from coder.verify.project import find_project
from coder.verify.warm import WarmRunner

OLD = "def low(x):\n    return x\n\n\ndef high(x):\n    return x\n"
NEW = "def low(x):\n    return x + 1\n\n\ndef high(x):\n    return x + 2\n"
TESTS = "from src import low, high\n\n\ndef test_low():\n    assert low(1) == 2\n"


def test_names_hunks_that_no_target_notices(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for place, source in ((old, OLD), (new, NEW)):
        place.mkdir()
        (place / "src.py").write_text(source)
        (place / "test_low.py").write_text(TESTS)
    project = find_project(new, sandbox=sandbox, environment={})
    limits = Limits(memory_bytes=None)
    with WarmRunner(project, new, sandbox=sandbox, scratch=sandbox.scratch, limits=limits) as warm:
        report = mutate_verified_change(
            old, new, ["src.py"], targets=["test_low.py::test_low"], warm=warm, seconds=10.0
        )
    assert report is not None
    assert report.survivors == (
        UntestedPlace(path="src.py", line=6, what="is as it was before", whole_hunk=True),
    )
    assert report.ended
