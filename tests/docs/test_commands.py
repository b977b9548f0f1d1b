"""Every command that the tutorial and the how-to pages show, run offline or with a model on loopback."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from coder.cli.app import app
from coder.settings import trust_repository
from docs.generators.command_tree import read_command_tree
from tests.docs.console import (
    ShownCommand,
    find_problems,
    read_commands,
    run_commands,
    runnable_blocks,
    skipped_blocks,
)
from tests.models.fakes import FakeHandler, FakeServer, Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.walls import walls

pytestmark = pytest.mark.loopback
DOCS = Path(__file__).parents[2] / "docs"
SAMPLE = DOCS / "how-to" / "index.md"
PAGES = [DOCS / "tutorial.md", *(path for path in sorted(SAMPLE.parent.glob("*.md")) if path != SAMPLE)]
ANSWER = Turn(text="Clock times are parsed in `minutes` (`clock.py:2`).")
LISTING = {"object": "list", "data": [{"id": "qwen3:8b"}]}


class ModelHandler(FakeHandler):
    """A model server that also lists its models, as Ollama does."""

    def do_GET(self) -> None:
        body = json.dumps(LISTING).encode()
        self.send_response(200 if self.path == "/v1/models" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serve(chat_stream, openai_error, [ANSWER] * 4, handler=ModelHandler) as fake:
        yield fake


@pytest.fixture
def environment(tmp_path: Path, server: FakeServer) -> dict[str, str]:
    """Return the environment of a user with an empty home directory, and `coder` on the path."""
    for name in ("home", "tmp", "bin"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / "coder"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m coder "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join((str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]))
    people = {
        f"GIT_{role}_{part}": "ada@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for part in ("NAME", "EMAIL")
    }
    configuration = {"XDG_CONFIG_HOME": str(tmp_path / "home" / ".config")}
    trust_repository(tmp_path / "home" / "clock", configuration)  # only a complete sandbox does without
    return {
        **people,
        "PATH": path,
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "HOME": str(tmp_path / "home"),
        "VIRTUAL_ENV": os.environ["VIRTUAL_ENV"],
        "TMPDIR": str(tmp_path / "tmp"),
        "OLLAMA_HOST": server.url,
    }


@pytest.mark.thorough
@pytest.mark.skipif(walls() is None, reason="no sandbox works here")
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_commands_do_what_is_shown(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    sample = read_commands(SAMPLE.read_text(encoding="utf-8"))
    text = page.read_text(encoding="utf-8")
    commands = (*sample, *read_commands(text))
    assert len(commands) > len(sample)
    if "export OPENAI_API_KEY" in text:  # the address alone would make OpenAI the provider, too
        environment["OPENAI_BASE_URL"] = f"{environment['OLLAMA_HOST']}/v1"
    results = run_commands(commands, tmp_path / "home", environment)
    problems = find_problems(commands, results)
    assert not problems, "\n".join(problems)


def test_shown_commands_and_options_exist() -> None:
    tree = read_command_tree(typer.main.get_command(app))
    options = {node.path: {name for option in node.options for name in option.names} for node in tree.walk()}
    unknown = []
    for page in PAGES:
        blocks = [block for _, block in runnable_blocks(page.read_text(encoding="utf-8"))]
        for words in map(str.split, "\n".join(blocks).splitlines()):
            if words[:2] == ["$", "coder"]:
                path = next(path for end in (4, 3, 2) if (path := tuple(words[2:end])) in options)
                shown = {word for word in words if word.startswith("--")}
                unknown += [(page.stem, *path, name) for name in shown - options[path]]
    assert unknown == []


def test_few_commands_are_not_run() -> None:
    skipped = [skipped_blocks(page.read_text(encoding="utf-8")) for page in PAGES]
    assert (max(skipped), sum(skipped)) <= (2, 14)


def test_every_page_is_listed() -> None:
    listed = SAMPLE.read_text(encoding="utf-8").split("```{toctree}")[1].split()
    assert [page.stem for page in PAGES[1:] if page.stem not in listed] == []


def test_differences_are_found(tmp_path: Path) -> None:
    page = "```console\n$ echo one; echo two; echo three\n...\nt...ee\n$ false\n$ echo $?\n1\n```\n"
    commands = read_commands(page)
    results = run_commands(commands, tmp_path, {"PATH": os.environ["PATH"]})
    assert results == (("one\ntwo\nthree\n", 0), ("", 1), ("1\n", 0))
    assert find_problems(commands, results) == []
    assert find_problems((ShownCommand(command="true", shown=("one",)),), (("two\n", 0),)) != []
    assert find_problems((ShownCommand(command="true", shown=()),), (("two\n", 0),)) != []
    assert find_problems((ShownCommand(command="false", shown=()),), (("", 1),)) != []
