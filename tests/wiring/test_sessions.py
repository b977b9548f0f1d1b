"""Sessions as they are put together, and what runs the code of a project."""

import asyncio
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import coder
from coder.bench.suites import SuiteTask, load_suite
from coder.core.errors import GitError, UserError
from coder.core.events import Task
from coder.models.scripted import load_script as steps
from coder.sandbox.process import ProcessSandbox
from coder.settings import Config
from coder.strategies.tree import APPROACHES
from coder.verify.base import SuiteLimits
from coder.verify.run import PytestRunner
from coder.wiring import project_runtime
from coder.wiring.project_runtime import command_environment, suite_limits
from coder.wiring.session import choose_approach, prepare_session, scripted_approach
from tests.builders import find_project, repo, write


def test_answer_without_a_model_runs_nothing_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Path] = []
    monkeypatch.setattr(PytestRunner, "run", lambda _runner, tree, *_tests, **_options: runs.append(tree))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = repo(tmp_path / "repository", {"clock.py": "def minutes(): pass\n", "test_clock.py": ""})
    setup = prepare_session(root, flags={"strategy": "offline"}, unsafe=True, mode="ask")
    with setup.open(setup.complete(Task(issue="Who calls `minutes`?", directory=root, mode="ask"))) as handle:
        asyncio.run(handle.run())
        assert handle.finish_event.exit_code == 0
        assert (setup.trusted, runs) == (False, [])


def test_log_is_closed_where_a_session_ends_in_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = repo(tmp_path / "repository", {"clock.py": "def minutes(): pass\n"})
    setup = prepare_session(root, flags={"strategy": "offline"}, unsafe=True, mode="ask")
    with setup.open(setup.complete(Task(issue="Who calls `minutes`?", directory=root, mode="ask"))) as handle:

        def fail() -> None:
            raise GitError("The disk is gone.")

        monkeypatch.setattr(handle.context.repository, "close", fail)
        with pytest.raises(GitError):
            asyncio.run(handle.run())
        monkeypatch.undo()

        async def follow() -> int:
            return len([record async for record in handle.log.follow()])

        assert asyncio.run(asyncio.wait_for(follow(), 10))


def test_role_has_its_own_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODER_MODEL", raising=False)
    config = Config(tool_calling=False, base_url="https://models.example/v1", reviewer_model="r")
    approach = choose_approach(config, model_name="a")
    assert approach.model.name.endswith(":a")
    assert [(role, model.name.rpartition(":")[2]) for role, model in approach.models.items()] == [
        ("reviewer", "r")
    ]


def test_model_without_script_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to say"):
        scripted_approach(tmp_path / "script.jsonl", Config())


@pytest.mark.parametrize(
    "task", [task for task in load_suite("starter") if task.facts.solvable], ids=lambda task: task.name
)
def test_starter_script_answers_planners_and_reviewers(task: SuiteTask) -> None:
    texts = (path for path in files("coder.prompts").iterdir() if path.name.endswith(".md"))
    prompts = [*(path.read_text(encoding="utf-8") for path in texts), *APPROACHES]
    conditions = [step.when for step in steps(task.script) if step.when]
    assert {"You change nothing yourself.", "Correctness and edge cases.", "Tests and overfitting."} <= {
        *conditions
    }
    assert [words for words in conditions if not any(words in text for text in prompts)] == []


def test_sandbox_shows_all_code_that_runs_in_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation elsewhere is not readable: its recorders would not be found."""
    options: dict[str, Any] = {}
    monkeypatch.setattr(
        project_runtime, "ProcessSandbox", lambda _environment, **fields: options.update(fields)
    )
    project_runtime.make_sandbox(None)
    directories = {path for path in Path(coder.__file__).parent.rglob("target") if path.is_dir()}
    assert len(directories) > 1
    assert directories <= set(options["exposed"])


def test_all_tests_run_where_the_user_waits() -> None:
    assert suite_limits(Config(suite_seconds=60)) == SuiteLimits(suite_seconds=60)
    assert suite_limits(Config(wait=True)).waits
    assert not suite_limits(Config(wait=True), in_turn=True).waits


@pytest.mark.parametrize("root", ["packages/shop/src", pytest.param(".", marks=pytest.mark.thorough)])
def test_commands_import_worktree_despite_editable_install(tmp_path: Path, root: str) -> None:
    files = {f"{root}/shop/__init__.py": "", "packages/shop/pyproject.toml": "[project]\nname = 'shop'\n"}
    write(tmp_path / "checkout", files)
    write(tmp_path / "worktree", files)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = next(venv.glob("lib/python*/site-packages"))
    (packages / "shop.pth").write_text(f"{tmp_path / 'checkout' / root}\n")
    script = "import shop, sys; sys.exit('/worktree/' not in shop.__file__)"
    outside = tmp_path / "worktree" / "elsewhere"
    outside.mkdir()
    with ProcessSandbox(os.environ) as sandbox:
        project = find_project(
            tmp_path / "checkout",
            sandbox=sandbox,
            environment={},
            test_command=f"{venv}/bin/python -m pytest",
        )
        codes = [
            sandbox.run(
                [str(venv / "bin" / "python"), "-c", script], cwd=outside, environment=environment
            ).exit_code
            for environment in ({}, command_environment(project, tmp_path / "worktree"))
        ]
    assert codes == [1, 0]
