"""Hook entries in settings: every other byte stays, and removal restores the file."""

import json
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.hooks.agents import AGENTS, install_entries, remove_entries

COMMAND = "coder hook run claude"
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
    "escapes and byte order mark": '\ufeff{"\\u0061\\"": "\\\\", "é": "ü"}\n',
}


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


def test_hook_beside_ours_in_one_group_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    hooks = [{"command": "'/my apps/coder' hook run claude"}, {"command": "mine"}]
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": hooks}]}}))
    assert remove_entries(path, AGENTS["claude"])
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [{"hooks": hooks[1:]}]}}


@pytest.mark.parametrize(
    "text", ["// comment\n{}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "{", "\xff"]
)
def test_what_it_cannot_understand_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match="was not changed"):
        install_entries(path, AGENTS["claude"], COMMAND)
    assert path.read_bytes() == text.encode("latin-1")
