"""Stored reports of test runs."""

import os
import time
from pathlib import Path

from coder.core.verdict import RunProblem, TestReport
from coder.sandbox.process import ProcessSandbox
from coder.verify.project import describe_environment
from coder.verify.run import LONGEST_SECONDS, RunStore, content_key
from tests.builders import find_project, write


def report(seconds: float, problem: RunProblem | None = None) -> TestReport:
    return TestReport(command="pytest", seconds=seconds, problem=problem)


def test_the_same_run_in_the_same_environment_is_made_once(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs", "python 3.11")
    first = store.recall(("content", "targets", "t.py"), lambda: report(1.0))
    again = store.recall(("content", "targets", "t.py"), lambda: report(2.0))
    assert (first.stored, again.stored, again.seconds) == (False, True, 1.0)
    others = [("content", "targets", "u.py"), ("content", "again", "t.py"), ("other", "targets", "t.py")]
    assert [store.recall(key, lambda: report(2.0)).seconds for key in others] == [2.0, 2.0, 2.0]
    elsewhere = RunStore(tmp_path / "runs", "python 3.12")
    assert elsewhere.recall(("content", "targets", "t.py"), lambda: report(3.0)).seconds == 3.0
    store.change_environment("clock 1.2 is installed")
    assert store.recall(("content", "targets", "t.py"), lambda: report(4.0)).seconds == 4.0


def test_environment_is_another_without_a_file_that_tests_run_with(
    tmp_path: Path, sandbox: ProcessSandbox
) -> None:
    write(tmp_path, {"test_a.py": "def test_a(): pass", "_version.py": "version = '1'"})
    project = find_project(tmp_path, sandbox=sandbox, environment={})
    before = describe_environment(project, tmp_path, ["_version.py"])
    assert describe_environment(project, tmp_path, ["_version.py"]) == before
    (tmp_path / "_version.py").unlink()
    assert describe_environment(project, tmp_path, ["_version.py"]) != before


def test_what_did_not_end_is_old_or_is_not_wanted_is_run_again(tmp_path: Path) -> None:
    store = RunStore(tmp_path, "")
    late = RunProblem(kind="timeout", text="Too slow.")
    assert not store.recall(("a",), lambda: report(1.0, late)).stored
    assert not store.recall(("a",), lambda: report(1.0), keeps=lambda _report: False).stored
    assert not store.recall(("a",), lambda: report(1.0)).stored
    (file,) = tmp_path.glob("*.json")
    old = time.time() - LONGEST_SECONDS - 1
    os.utime(file, (old, old))
    assert not store.recall(("a",), lambda: report(1.0)).stored
    file.write_text("no report", encoding="utf-8")
    assert not store.recall(("a",), lambda: report(1.0)).stored


def test_content_is_that_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1", encoding="utf-8")
    first = content_key(tmp_path, ("a.py", "gone.py"))
    assert content_key(tmp_path, ("gone.py", "a.py")) == first
    assert content_key(tmp_path) != first
    (tmp_path / "a.py").write_text("2", encoding="utf-8")
    assert content_key(tmp_path, ("a.py", "gone.py")) != first
    (tmp_path / "a.py").chmod(0o755)
    executable = content_key(tmp_path, ("a.py",))
    (tmp_path / "a.py").chmod(0o644)
    assert content_key(tmp_path, ("a.py",)) != executable
    keys = set()
    for target in ("gone.py", "elsewhere.py"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(target)
        keys.add(content_key(tmp_path, ("link",)))
    assert len({*keys, content_key(tmp_path, ("gone.py",))}) == 3
