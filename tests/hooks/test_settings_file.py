"""Hook entries in settings: all others stay, and removal restores the file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.hooks import agents
from coder.hooks.agents import (
    AGENTS,
    find_program,
    hook_command,
    install_entries,
    remove_entries,
)

COMMAND = hook_command(AGENTS["claude"], "coder")
SETTINGS = {
    "other keys": '{\n    "model": "x",\n    "env": {\n        "A": "1,2"\n    }\n}\n',
    "tabs and windows lines": '{\r\n\t"model": "x",\r\n\t"b": []\r\n}\r\n',
    "other hooks": json.dumps(
        {
            "hooks": {
                "Stop": [{"hooks": [{"type": "command", "command": 'say "}done{"'}]}],
                "PreToolUse": [{"matcher": "Bash", "hooks": []}],
                "PostToolUse": [],
            },
            "é": 1.5,
        },
        ensure_ascii=False,
        indent=4,
    ),
}


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_removal_restores_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode())
    path.chmod(0o600)
    claude = AGENTS["claude"]
    before = json.loads(text)
    assert install_entries(path, claude, COMMAND)
    installed = path.read_bytes()
    after = json.loads(installed)
    for event in claude.events:
        *others, own = after["hooks"][event]
        assert own == {"hooks": [{"type": "command", "command": COMMAND, "timeout": 1800}]}
        assert others == before.get("hooks", {}).get(event, [])
    assert list(after)[: len(before)] == list(before)
    assert not install_entries(path, claude, COMMAND)
    assert path.read_bytes() == installed
    assert remove_entries(path, claude)
    assert path.read_bytes() == text.encode()
    assert path.stat().st_mode & 0o777 == 0o600
    assert not remove_entries(path, claude)


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
