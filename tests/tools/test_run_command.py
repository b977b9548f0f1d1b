"""Commands that `run_command` runs, and their results."""

from pathlib import Path

from coder.core.ports import Execution
from coder.tools.run_command import run_command
from tests.tools.fakes import FakeSandbox, call_refused_tool, call_tool, workspace


def test_runs_shell_in_root_and_returns_output(tmp_path: Path) -> None:
    sandbox = FakeSandbox(end=Execution(exit_code=3, output="src/box.py:7: oops\n", seconds=0.25))
    space = workspace(tmp_path, {"src/box.py": ""}, sandbox=sandbox)
    assert call_tool(run_command, space, command="make 'x y'") == "src/box.py:7: oops\n[exit code 3, 0.2 s]"
    assert sandbox.calls == [(("sh", "-c", "make 'x y'"), tmp_path, 60.0)]


def test_command_has_variables_of_workspace(tmp_path: Path) -> None:
    sandbox = FakeSandbox(end=Execution(exit_code=0, output="", seconds=0.1))
    space = workspace(tmp_path, {}, sandbox=sandbox)
    space.environment = {"PYTHONPATH": f"{tmp_path}/src"}
    call_tool(run_command, space, command="python -c 'import shop'")
    assert sandbox.environments == [{"PYTHONPATH": f"{tmp_path}/src"}]


def test_timeout_returns_partial_output(tmp_path: Path) -> None:
    sandbox = FakeSandbox(end=Execution(exit_code=None, output="half", seconds=600.0, timed_out=True))
    answer = call_tool(
        run_command, workspace(tmp_path, sandbox=sandbox), command="sleep 9999", timeout_seconds=9999
    )
    assert answer == "half\n[stopped at its time limit of 600 s; this is what it had printed, 600.0 s]"
    assert sandbox.calls[0][2] == 600.0


def test_asks_first_and_refuses_an_empty_command(tmp_path: Path) -> None:
    assert run_command.asks
    assert call_refused_tool(run_command, workspace(tmp_path), command=" ").startswith("The command is empty")
