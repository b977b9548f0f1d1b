"""Suites, above all the bundled one."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from coder.bench.suites import SuiteTask, load_suite
from coder.core.errors import UserError
from coder.patching import apply
from tests.builders import write

TASK = {
    "t/issue.md": "Wrong.\n",
    "t/repository/a.py": "A = 1\n",
    "t/hidden/tests/test_a.py": "def test_a(): pass\n",
}
STARTER = load_suite("starter")


def test_starter_suite_covers_each_category() -> None:
    assert len(STARTER) == 4
    assert len({task.facts.about for task in STARTER}) == len(STARTER)
    assert [task.name for task in STARTER if not task.facts.solvable] == ["unsolvable-shorter-always"]


@pytest.mark.parametrize("task", STARTER, ids=lambda task: task.name)
def test_task_has_repository_tests_and_matching_script(task: SuiteTask, tmp_path: Path) -> None:
    task.unpack(tmp_path / "r")
    modules = [path for path in (tmp_path / "r").rglob("*.py") if "tests" not in path.parts]
    assert len(modules) >= 4
    assert any((tmp_path / "r" / "tests").glob("test_*.py"))
    before = {path: path.read_bytes() for path in modules}
    for line in task.script.read_text(encoding="utf-8").splitlines():
        for call in json.loads(line)["calls"]:
            if call["name"] == "apply_patch":
                apply(call["arguments"]["diff"], tmp_path / "r")
    assert (before == {path: path.read_bytes() for path in modules}) is not task.facts.solvable
    visible_files = (tmp_path / "r").rglob("*")
    assert not {*task.hidden_tests} & {path.relative_to(tmp_path / "r").as_posix() for path in visible_files}


@pytest.mark.parametrize("task", load_suite("challenges"), ids=lambda task: task.name)
def test_challenge_begins_empty_and_its_script_builds_it(task: SuiteTask, tmp_path: Path) -> None:
    task.unpack(tmp_path / "r")
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["README.md"]
    plan, writing, _ = map(json.loads, task.script.read_text(encoding="utf-8").splitlines())
    apply(writing["calls"][0]["arguments"]["diff"], tmp_path / "r")
    (component,) = plan["calls"][0]["arguments"]["components"]
    assert all((tmp_path / "r" / path).is_file() for path in (component["path"], *component["tests"]))
    module = Path(component["path"]).stem
    assert f"`{module}`" in task.issue
    assert task.hidden_tests == (f"tests/test_hidden_{module}.py",)


def test_hidden_tests_overlay_repository(tmp_path: Path) -> None:
    write(tmp_path, TASK)
    (task,) = load_suite(str(tmp_path))
    task.unpack(tmp_path / "out")
    assert not (tmp_path / "out" / "tests").exists()
    task.reveal(tmp_path / "out")
    assert task.hidden_tests == ("tests/test_a.py",)
    assert (tmp_path / "out" / "tests" / "test_a.py").is_file()


def _remove_file(name: str) -> Callable[[Path], None]:
    def remove(place: Path) -> None:
        (place / name).rename(place.parent / "elsewhere")

    return remove


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_remove_file("repository"), "has no repository/"),
        (_remove_file("hidden"), "holds no tests"),
        (_remove_file("issue.md"), "holds no task"),
        (lambda place: write(place, {"task.toml": "solvabel = true\n"}), "solvabel"),
        (lambda place: write(place, {"task.toml": "= 1"}), "task.toml"),
    ],
)
def test_reports_incomplete_task(tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    write(tmp_path, TASK)
    spoil(tmp_path / "t")
    with pytest.raises(UserError, match=message):
        load_suite(str(tmp_path))
