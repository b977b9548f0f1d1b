"""Completions and the manual page agree with the command tree, and shells understand them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from coder.cli.app import app
from coder.cli.completion import CommandNode, Shell, read_command_tree, render_completion
from docs.generators.man_page import render_man_page

ROOT = Path(__file__).parent.parent.parent
TREE = read_command_tree(typer.main.get_command(app))
NODES = list(TREE.walk())
BASH_QUERY = """
complete_words() {
    COMP_WORDS=(coder "$@"); COMP_CWORD=$#; COMPREPLY=()
    _coder; echo "${COMPREPLY[*]}"
}
"""


def run(shell: str, script: str, *arguments: str) -> list[str]:
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
    assert {"--evidence", "--suite", "--help"} <= option_names(verify)
    assert "--after" not in option_names(verify)  # hidden


def test_bash_completes_every_command_and_option() -> None:
    queries = [f"complete_words {' '.join(node.path)} {word}" for node in NODES for word in ("''", "-")]
    lines = run("bash", render_completion(Shell.bash, TREE) + BASH_QUERY + "\n".join(queries))
    words, options = lines[::2], lines[1::2]
    for node, offered_words, offered_options in zip(NODES, words, options, strict=True):
        assert set(offered_options.split()) == option_names(node), node.path
        assert {child.path[-1] for child in node.children} <= set(offered_words.split()), node.path


def test_bash_completes_values_and_prefixes() -> None:
    queries = [
        "complete_words fix --strategy ''",
        "complete_words fix --strategy co",
        "complete_words --model ''",
        "complete_words hook install ''",
        "complete_words do log ''",
        "complete_words lo",
    ]
    assert run("bash", render_completion(Shell.bash, TREE) + BASH_QUERY + "\n".join(queries)) == [
        "linear plan tree committee auto offline",
        "committee",
        "",
        "claude codex gemini qwen git copilot cursor opencode vibe",
        "",
        "locate log",
    ]


def test_zsh_and_fish_name_every_command_and_option() -> None:
    zsh, fish = (render_completion(shell, TREE) for shell in (Shell.zsh, Shell.fish))
    for node in NODES:
        for name in option_names(node):
            assert f"'{name}:" in zsh
            start = f"complete -c coder -n \"__coder_command '{' '.join(node.path)}'\" "
            flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            assert any(line.startswith(start) and f"{flag} " in line for line in fish.splitlines()), name


def test_zsh_accepts_its_script() -> None:
    script = render_completion(Shell.zsh, TREE)
    assert run("zsh", f"autoload -Uz compinit && compinit -D -u\n{script}\necho $_comps[coder]", "-f") == [
        "_coder"
    ]


def test_fish_completes_commands_and_values() -> None:
    script = (
        render_completion(Shell.fish, TREE)
        + '\ncomplete -C "coder hook in"\ncomplete -C "coder fix --suite im"'
    )
    lines = run("fish", script, "--no-config")
    assert [line.split("\t")[0] for line in lines] == ["install", "impacted"]


def test_manual_page_is_current() -> None:
    """Write it anew: `python -m docs.generators.man_page > docs/coder.1`."""
    page = (ROOT / "docs" / "coder.1").read_text(encoding="utf-8")
    assert page == render_man_page(TREE)
    for node in NODES:
        assert " ".join(node.path).replace("-", "\\-") in page


def test_formatter_reads_the_manual_page() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    command = ["groff", "-man", "-Tascii", "-P-c", "-ww", str(ROOT / "docs" / "coder.1")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "coder hook install" in re.sub(".\b", "", result.stdout)
