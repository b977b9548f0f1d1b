"""Hook entries in settings: every other byte stays, and removal restores the file."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.hooks import agents
from coder.hooks.agents import AGENTS, find_program, has_entries, hook_command

MEMORY = Path("memory.json")
install_entries = partial(agents.install_entries, memory=MEMORY)
remove_entries = partial(agents.remove_entries, memory=MEMORY)
COMMAND = hook_command(AGENTS["claude"], "coder")
SETTINGS = {
    "other keys": '{\n    "model" :  "x",\n    "env": {"A": "1,2"}\n}\n',
    "tabs and windows lines": '{\r\n\t"model": "x",\r\n\t"b": []\r\n}\r\n',
    "one line": '{"model":"x","list":[1, 2]}',
    "other hooks": json.dumps(
        {
            "hooks": {
                "Stop": [{"hooks": [{"type": "command", "command": 'say "}done{"'}]}],
                "PreToolUse": [{"matcher": "Bash", "hooks": []}],
            },
            "z": 1.50,
        },
        indent=4,
    ),
    "no setting": "{}",
    "no setting, with space": "{ }\n\n",
    "no hooks": '{"hooks": {}}\n',
    "no hooks beside a setting": '{"hooks": {}, "a": 1}',
    "event without hooks": '{\n  "hooks": {\n    "Stop": []\n  },\n  "a": 1\n}\n',
    "escapes and byte order mark": '\ufeff{"\\u0061\\"": "\\\\", "é": "ü"}\n',
}


@pytest.fixture(autouse=True)
def in_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_removal_restores_every_byte(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode())
    path.chmod(0o600)
    claude = AGENTS["claude"]
    before = json.loads(text.removeprefix("\ufeff"))
    assert install_entries(path, claude, COMMAND)
    installed = path.read_bytes()
    after = json.loads(installed.decode("utf-8-sig"))
    for event in claude.events:
        *others, own = after["hooks"][event]
        assert own == {"hooks": [{"type": "command", "command": COMMAND, "timeout": 1800}]}
        assert others == before.get("hooks", {}).get(event, [])
    assert list(after)[: len(before)] == list(before)
    assert has_entries(path, claude)
    assert not install_entries(path, claude, COMMAND)
    assert path.read_bytes() == installed
    assert remove_entries(path, claude)
    assert path.read_bytes() == text.encode()
    assert path.stat().st_mode & 0o777 == 0o600
    assert not remove_entries(path, claude)
    assert not has_entries(path, claude)


def test_file_of_its_own_comes_and_goes(tmp_path: Path) -> None:
    path = tmp_path / ".gemini" / "settings.json"
    gemini = AGENTS["gemini"]
    assert install_entries(path, gemini, "coder hook run gemini")
    assert json.loads(path.read_text())["hooks"]["AfterAgent"][0]["hooks"][0]["timeout"] == 1_800_000
    assert install_entries(path, gemini, "coder hook run gemini --rounds 1")
    assert path.read_text().count("hook run gemini") == 2
    assert remove_entries(path, gemini)
    assert not path.exists()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_hook_beside_ours_in_one_group_stays(tmp_path: Path, place: int) -> None:
    path = tmp_path / "settings.json"
    others = [{"command": "mine"}, {"command": 'say "]}"'}]
    hooks = [*others[:place], {"command": "'/my apps/coder' hook run claude"}, *others[place:]]
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": hooks}]}}, indent=2))
    assert remove_entries(path, AGENTS["claude"])
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [{"hooks": others}]}}


@pytest.mark.parametrize(
    "text", ["// comment\n{}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "{", "\xff"]
)
def test_what_it_cannot_understand_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match="was not changed") as refusal:
        install_entries(path, AGENTS["claude"], COMMAND)
    lines = json.loads(str(refusal.value).partition("Add this to it:\n")[2])
    assert lines["hooks"]["Stop"][0]["hooks"][0]["command"] == COMMAND
    assert path.read_bytes() == text.encode("latin-1")


def test_without_coder_the_command_does_nothing(tmp_path: Path) -> None:
    command = hook_command(AGENTS["claude"], "coder")
    result = subprocess.run(
        ["/bin/sh", "-c", command], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_entry_is_written_only_for_a_program_that_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "coder"
    monkeypatch.setattr(sys, "argv", [str(Path(agents.__file__).parents[1] / "__main__.py")])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "bin" / "python"))
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    with pytest.raises(UserError, match="no `coder` on PATH"):
        find_program(absolute=False)
    with pytest.raises(UserError, match="There is no "):
        find_program(absolute=True)
    for answer, error in (("Coder v2.31.0", "is another program"), ("coder 0.9.0", "")):
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{answer}'\n")
        program.chmod(0o755)
        if error:
            with pytest.raises(UserError, match=error):
                find_program(absolute=False)
        else:
            assert find_program(absolute=False) == "coder"
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert find_program(absolute=True) == str(program)
