"""`coder doctor` on a real repository."""

from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.cli.machine import doctor
from tests.builders import repo
from tests.walls import walls


def test_reports_capabilities_without_model(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("coder.models.catalog.find_local_servers", lambda _environment: ())
    doctor(tmp_path)
    assert "without one, the built-in engine repairs simple bugs" in capsys.readouterr().out


def test_missing_directory_gives_one_clear_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run_command_line(["doctor", "--repo", str(tmp_path / "nowhere")]) == 2
    assert (
        capsys.readouterr()
        .err.strip()
        .endswith("nowhere is not a directory; name the repository to look at.")
    )


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"test_x.py": "def test_x(): pass\n"}, "ok  tests        python -m pytest"),
        (
            {"package.json": "{}", "a.spec.js": "test('a', () => {})\n"},
            "no  tests        `python -m pytest` runs, but no Python file here defines a test: name",
        ),
        (
            {"pyproject.toml": '[tool.coder]\ntest = "make test"\n', "Makefile": "test:\n\ttrue\n"},
            "make test\nok               judged by its exit code, which never proves a fix",
        ),
    ],
    ids=["one test", "no Python test", "exit code"],
)
def test_reports_whether_tests_exist(
    files: dict[str, str],
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if (best := walls()) is None:
        pytest.skip("no sandbox works here")
    monkeypatch.setattr("coder.models.catalog.find_local_servers", lambda _environment: ())
    doctor(repo(tmp_path / "repository", files))
    output = capsys.readouterr().out
    assert expected in output
    line = next(line for line in output.splitlines() if line[4:].startswith("sandbox"))
    assert line.startswith(f"sandbox      {best.name}: ", 4)


@pytest.mark.loopback
def test_says_no_where_settings_or_model_cannot_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("CODER_MODEL", "compatible:m")
    monkeypatch.setenv("CODER_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr("coder.models.catalog.find_local_servers", lambda _environment: ())
    doctor(repo(tmp_path / "a", {"pyproject.toml": "[tool.coder\n", "test_x.py": "def test_x(): pass\n"}))
    doctor(repo(tmp_path / "b", {"pyproject.toml": "[tool.coder]\ntests = 'x'\n"}))
    output = capsys.readouterr().out
    assert "no  settings     pyproject.toml is not valid TOML" in output
    assert "Did you mean test?" in output
    assert "no  model        compatible:m" in output
    assert ": nothing answers at http://127.0.0.1:9/v1" in output
    assert "nothing answers at http://127.0.0.1:9/v1 (OLLAMA_HOST)" in output


@pytest.mark.parametrize(
    ("code", "status"), [("def test_a(): pass\ndef test_b(): assert 0\n", 0), ("1 +\n", 1)]
)
def test_runs_one_test(tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, status: int) -> None:
    if walls() is None:
        pytest.skip("no sandbox works here")
    root = repo(tmp_path / "repository", {"test_x.py": code})
    assert run_command_line(["doctor", "--tests", "--trust", "--repo", str(root)]) == status
    output = capsys.readouterr().out
    assert "command      python -m pytest\nwhy          Interpreter: " in output
    assert ("tests        2 found\nran          1 passed in " in output) == (status == 0)
