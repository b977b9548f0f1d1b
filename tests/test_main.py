import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from coder.__main__ import _configure_encodings, _print_masked_traceback
from coder.cli.app import run_command_line


def test_a_crash_report_holds_no_secret(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "wisteria-sings-99")
    try:
        raise ValueError("401 for wisteria-sings-99, then for ghp_" + "aB3d" * 9)
    except ValueError as error:
        _print_masked_traceback(ValueError, error, error.__traceback__)
    output = capsys.readouterr().err
    assert output.startswith("Traceback (most recent call last):")
    assert output.endswith(
        "ValueError: 401 for [masked: a secret of yours], then for [masked: GitHub token]\n"
    )


def test_unprintable_characters_do_not_crash() -> None:
    stdin = io.TextIOWrapper(io.BytesIO("später \u2026 ".encode() + b"\xff"), encoding="ascii")
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    _configure_encodings(stdin, stdout)
    assert stdin.read() == "später \u2026 \ufffd"
    print("später \u2026 \udcff", end="", file=stdout)
    assert stdout.buffer.getvalue() == b"sp?ter ? ?"


@pytest.mark.parametrize(
    "arguments",
    [["verify", "--json", "--evidence", "none/e.json"], ["fix", "i", "--json", "--model", "nobody:x"]],
)
def test_json_ends_with_finished_where_nothing_began(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = run_command_line(arguments)
    captured = capsys.readouterr()
    finished = json.loads(captured.out.splitlines()[-1])
    assert (finished["event"], finished["verdict"], finished["exit_code"]) == ("finished", None, code)
    assert f"coder: {finished['summary']}\n" == captured.err


def test_windows_gets_one_line_about_wsl() -> None:
    script = (
        'import sys; sys.platform = "win32"; sys.argv = ["coder", "fix", "x"]\n'
        "from coder.__main__ import main\nmain()"
    )
    result = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr.count("\n"), "WSL" in result.stderr) == (2, 1, True)
