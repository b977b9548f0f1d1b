from pathlib import Path

import pytest

from coder.cli.options import (
    Options,
    drop_removed_options,
    read_issue,
    refuse_conflicts,
    typed_mentions,
)
from coder.cli.running import check_writable
from coder.core.errors import UserError


@pytest.mark.parametrize(
    ("argument", "issue", "mentions"),
    [
        ("@issue.md see @a.py", "It fails\nnow.\n\nsee @a.py", "see @a.py"),
        ("@a.py is wrong", "@a.py is wrong", "@a.py is wrong"),
        ("@Box.size is wrong", "@Box.size is wrong", "@Box.size is wrong"),
        ("it fails in @a.py", "it fails in @a.py", "it fails in @a.py"),
        ("@issue.md", "It fails\nnow.", ""),
        ("@shot.PNG", "@shot.PNG", "@shot.PNG"),
        ("@shot.PNG is wrong", "@shot.PNG is wrong", "@shot.PNG is wrong"),
    ],
)
def test_issue_files_differ_from_mentions(
    argument: str, issue: str, mentions: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("issue.md").write_bytes(b"It fails\r\nnow.\r\n")
    Path("a.py").write_text("x = 1\n")
    Path("shot.PNG").write_bytes(b"\x89PNG")
    assert (read_issue(argument), typed_mentions(argument).strip()) == (issue, mentions)


@pytest.mark.parametrize("words", ["@a.py " + "x" * 400, "д" * 200, "@ README.md please"])
def test_text_that_cannot_name_a_file_is_the_issue(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("It fails.\n")
    assert (read_issue(words), typed_mentions(words)) == (words, words)


def test_output_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="The diff cannot be written to"):
        check_writable(tmp_path / "missing" / "fix.diff", kind="diff")
    check_writable(tmp_path / "fix.diff", kind="diff")


def test_one_session_is_continued_at_a_time() -> None:
    assert [Options(continues=True).continued_session, Options(session="1a").continued_session] == [
        "last",
        "1a",
    ]
    with pytest.raises(UserError, match=r"--session names .*: it cannot be combined with --continue"):
        refuse_conflicts({"continues": True, "session": "1a"})


@pytest.mark.parametrize(
    ("words", "rest", "messages"),
    [
        ("apply last --force", "apply last", "--force no longer exists: no fix is refused.\n"),
        ("fix x --force", "fix x --force", ""),
        ("fix --color=red --color blue x", "fix x", "--color no longer exists: none.\n" * 2),
        ("fix -- --color blue", "fix -- --color blue", ""),
        ("fix --color", "fix", "--color no longer exists: none.\n"),
    ],
)
def test_removed_options_are_passed_over_with_one_line(
    words: str,
    rest: str,
    messages: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    removed = {
        "apply --force": "no fix is refused",
        "--color VALUE": "none",
    }
    monkeypatch.setattr("coder.cli.options.REMOVED_OPTIONS", removed)
    assert list(drop_removed_options(words.split())) == rest.split()
    assert capsys.readouterr().err == messages
