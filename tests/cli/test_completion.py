"""Completions and the manual page agree with the command tree, and shells understand them."""

import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from coder.cli.app import app, run_command_line
from docs.generators.command_tree import CommandNode, read_command_tree
from docs.generators.man_page import render_man_page

ROOT = Path(__file__).parent.parent.parent
TREE = read_command_tree(typer.main.get_command(app))
NODES = list(TREE.walk())


def run(shell: str, *arguments: str, script: str) -> list[str]:
    """Run a script of a shell and return its lines."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    result = subprocess.run(
        [shell, *arguments, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def option_names(node: CommandNode) -> set[str]:
    return {name for option in node.options for name in option.names}


def test_tree_is_that_of_the_command_line() -> None:
    names = {" ".join(node.path) for node in NODES}
    assert {"", "fix", "verify", "log show", "hook install", "mcp serve", "completion"} <= names
    verify = next(node for node in NODES if node.path == ("verify",))
    assert {"--evidence", "--wait", "--help"} <= option_names(verify)
    assert "--after" not in option_names(verify)  # hidden


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("coder lo", "locate log"),
        ("coder fix --strategy co", "committee"),
        ("coder hook install c", "claude codex"),
        ("coder verify --evid", "--evidence"),
    ],
)
def test_bash_script_asks_for_commands_options_and_values(
    words: str, completed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_CODER_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert run_command_line([]) == 0
    assert " ".join(capsys.readouterr().out.split()) == completed


@pytest.mark.parametrize(
    ("shell", "check"),
    [
        (["bash"], "complete -p coder"),
        (["zsh", "-f"], "echo _coder_completion $_comps[coder]"),
        (["fish", "--no-config"], "complete -c coder"),
    ],
)
def test_shell_accepts_its_script(shell: list[str], check: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["completion", shell[0]]) == 0
    script = capsys.readouterr().out
    start = "autoload -Uz compinit && compinit -D -u\n" if shell[0] == "zsh" else ""
    assert "coder" in "".join(run(*shell, script=f"{start}{script}\n{check}"))


def test_manual_page_is_current() -> None:
    """Write it anew: `python -m docs.generators.man_page > docs/coder.1`."""
    page = (ROOT / "docs" / "coder.1").read_text(encoding="utf-8")
    assert page == render_man_page(TREE)
    for node in NODES:
        assert " ".join(node.path).replace("-", "\\-") in page
