"""Measurement of the suite on the base."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from coder.core.verdict import RunProblem, TestReport
from coder.verify import base
from coder.verify.base import BaseSuite, SuiteLimits
from coder.verify.project import SuiteHistory
from coder.verify.run import CUT_SHORT
from coder.verify.trees import Trees


class SlowRunner:
    """Runs a suite that takes half a minute, unless it is cut."""

    command = "pytest"
    is_recorded = True

    def __init__(self) -> None:
        self.started = threading.Event()

    def run_parallel(self, tree: Path, tests: Sequence[str] = (), **options: Any) -> TestReport:
        self.started.set()
        is_cut = options["cut"].wait(30)
        return TestReport(command="pytest", problem=CUT_SHORT if is_cut else None)


class OneTree:
    base = "base"

    def __init__(self, place: Path) -> None:
        self.place = place

    def changed_paths(self, tree: str) -> Sequence[str]:
        return ["test_new.py"]

    @contextmanager
    def checkout(self, *_: object) -> Iterator[Path]:
        yield self.place

    read = checkout


def test_change_does_not_wait_for_the_suite_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "UPFRONT_SECONDS", 0.2)
    monkeypatch.setattr(base, "select_reaching", lambda *_, **__: None)
    runner = SlowRunner()
    suite = BaseSuite(
        cast(Trees, OneTree(tmp_path)),
        cast(Any, runner),
        SuiteLimits(base_on_demand=True),
        SuiteHistory(None, "pytest"),
    )
    background = threading.Thread(target=suite.measure)
    background.start()
    assert runner.started.wait(5)
    began = time.monotonic()
    suite.choose_scope("change", [], None)
    background.join()
    assert time.monotonic() - began < 20
    assert suite.report is not None
    assert suite.report.problem == RunProblem(kind="timeout", text=base.WAITED_FOR.text)
