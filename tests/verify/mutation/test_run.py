"""Mutation score of the targets of a real tree."""

from collections.abc import Generator, Sequence
from pathlib import Path

from coder.core.ports import Edit, Limits, TrialResult
from coder.core.verdict import UntestedPlace
from coder.sandbox.process import ProcessSandbox
from coder.verify.examine import mutate_change
from coder.warm.trials import PytestTrials
from tests.builders import find_project, write

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
    trials = PytestTrials(project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=limits)
    report = mutate_change(old, new, ["src.py"], tests=["test_low.py::test_low"], trials=trials, seconds=10.0)
    assert report is not None
    assert report.survivors == (
        UntestedPlace(path="src.py", line=6, what="is as it was before", whole_hunk=True),
    )
    assert report.ended
    untold = mutate_change(
        old, new, ["src.py"], tests=["test_low.py::test_gone"], trials=trials, seconds=10.0
    )
    assert untold is None or untold.tried == 0


class QuickTrials:
    """Trials that notice everything, and have time for eight edits."""

    def try_out(
        self,
        _tree: Path,
        _tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
    ) -> Generator[TrialResult]:
        assert seconds == 10.0
        self.edits = edits[:8]
        for edit in self.edits:
            yield TrialResult(edit=edit, outcome="broke")


def test_sources_take_turns(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write(old, {"a.py": "X = 0\n", "b.py": "X = 0\n"})
    write(new, {"a.py": "X = 0\nA = 1\nB = 2\n", "b.py": "X = 0\nC = 3\nD = 4\n"})
    trials = QuickTrials()
    report = mutate_change(
        old, new, ["a.py", "b.py"], tests=["test_a.py::test_it"], trials=trials, seconds=10.0
    )
    assert [edit.path for edit in trials.edits] == [*("a.py", "b.py") * 4]
    assert report is not None
    assert (report.tried, report.ended) == (8, False)
