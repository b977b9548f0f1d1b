"""Hostile names and content in every tool that reads: it runs nothing and waits for nothing."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from coder.core.errors import ToolError
from coder.repo.git import find_checkout
from coder.repo.history import GitHistory
from coder.tools.git_history import git_history
from coder.tools.read import read
from coder.tools.search import search
from coder.tools.tool import Tool
from coder.workspace.workspace import Workspace
from tests.builders import git, repo
from tests.tools.fakes import call_refused_tool, call_tool, workspace

CODE = "def needle():\n    return 1\n"
NAMES = (
    "--pre=evil.py",
    "-rf.py",
    "two\nlines.py",
    "$(touch ran).py",
    "`touch ran`.py",
    "; touch ran;.py",
    "a b'\".py",
    "\x1b[31mred.py",
    "%s{}.py",
)
UNDECODABLE = os.fsdecode(b"caf\xe9.py")
TOOLS = (search, read, git_history)
EVIL = "#!/bin/sh\ntouch ran\ncat\n"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """Return a repository full of traps; `outside` lies beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("SECRET = needle\n", encoding="utf-8")
    root = repo(tmp_path / "tree", {"plain.py": CODE, **dict.fromkeys(NAMES, CODE)})
    (root / "evil.py").write_text(EVIL, encoding="utf-8")
    (root / "evil.py").chmod(0o755)
    (root / UNDECODABLE).write_text(CODE, encoding="utf-8")
    (root / "nul.py").write_bytes(b"def needle():\n\0\n")
    (root / "wide.py").write_bytes(CODE.encode("utf-16"))
    (root / "latin.py").write_bytes("# é\n".encode("latin-1") + CODE.encode())
    (root / "loop").symlink_to("loop")
    (root / "circle").symlink_to(".")
    (root / "inner.py").symlink_to("plain.py")
    (root / "out.py").symlink_to("../outside/secret.py")
    (root / "outdir").symlink_to("../outside")
    os.mkfifo(root / "pipe.py")
    os.mknod(root / "socket.py", stat.S_IFSOCK | 0o600)
    hostile_workspace = workspace(root, {})
    hostile_workspace.history = GitHistory(git=find_checkout(root).git, revision="HEAD")
    return hostile_workspace


def answer_or_refusal(tool: Tool, space: Workspace, **arguments: object) -> str:
    """Return the answer, or the text of the refusal; both can be shown and hold no control character."""
    try:
        text = call_tool(tool, space, **arguments)
    except ToolError as error:
        text = str(error)
    assert text.encode("utf-8")
    assert all(line.isprintable() or "\t" in line for line in text.split("\n")), text
    return text


def ask_all_tools(space: Workspace, path: str) -> dict[str, str]:
    """Return each tool's answer about one path."""
    return {
        "search": answer_or_refusal(search, space, pattern="needle", path=path),
        "text": answer_or_refusal(search, space, pattern="needle", literal=True, path=path),
        "read": answer_or_refusal(read, space, path=path),
        "git_history": answer_or_refusal(git_history, space, path=path),
    }


@pytest.mark.parametrize("name", NAMES)
def test_file_names_are_never_interpreted(space: Workspace, name: str) -> None:
    answers = ask_all_tools(space, name)
    assert "def needle()" in answers["search"]
    assert "def needle():" in answers["text"]
    assert "def needle():" in answers["read"]
    assert answers["git_history"].endswith("Ada: start")
    assert not list(space.root.parent.rglob("ran"))


@pytest.mark.parametrize("pattern", ["def needle", "needle", ""])
def test_names_are_one_line_and_open_as_shown(space: Workspace, pattern: str) -> None:
    answer = answer_or_refusal(search, space, pattern=pattern)
    for display_name in (
        "--pre=evil.py",
        "two\\nlines.py",
        "$(touch ran).py",
        "\\x1b[31mred.py",
        "caf\\udce9.py",
    ):
        assert display_name in answer
        assert "def needle():" in call_tool(read, space, path=display_name)
    assert "secret" not in answer


@pytest.mark.parametrize(
    "pattern",
    ["--pre=./evil.py", "--pre=evil.py needle", "--files", "-f/etc/passwd", "--hostname-bin=./evil.py", "--"],
)
def test_option_like_names_are_never_options(space: Workspace, pattern: str) -> None:
    for arguments in (
        {"pattern": pattern},
        {"pattern": "needle", "glob": pattern},
        {"pattern": "needle", "path": pattern},
    ):
        answer_or_refusal(search, space, **arguments)
    answer_or_refusal(search, space, pattern="", glob=pattern)
    for arguments in (
        {"word": pattern},
        {"path": pattern},
        {"commit": pattern},
        {"path": "plain.py", "symbol": pattern},
    ):
        answer_or_refusal(git_history, space, **arguments)
    assert not list(space.root.parent.rglob("ran"))


def test_reports_special_files_without_blocking(space: Workspace) -> None:
    for name in ("pipe.py", "socket.py"):
        answers = ask_all_tools(space, name)
        assert (
            answers["search"]
            == answers["text"]
            == f"{name} is neither a file nor a directory and cannot be searched."
        )
        assert answers["read"] == f"{name} is no regular file; only text files can be opened."


def test_does_not_follow_link_outside_tree(space: Workspace) -> None:
    for name in ("out.py", "outdir", "outdir/secret.py"):
        assert set(ask_all_tools(space, name).values()) == {
            f"{name!r} is a symbolic link that leads out of the repository; nothing was opened."
        }
    assert "SECRET" not in answer_or_refusal(search, space, pattern="SECRET|needle")
    assert "SECRET" not in answer_or_refusal(search, space, pattern="needle")


def test_link_cycles_terminate(space: Workspace) -> None:
    assert set(ask_all_tools(space, "loop").values()) <= {
        "loop is a symbolic link that leads nowhere.",
        ask_all_tools(space, "loop")["git_history"],
    }
    assert "def needle():" in ask_all_tools(space, "circle/circle/plain.py")["read"]
    assert "def needle():" in ask_all_tools(space, "inner.py")["read"]
    assert ask_all_tools(space, "circle")["read"].startswith(f"{len(NAMES) + 6} files below circle\n")


def test_shows_non_utf8_content_or_reports_binary(space: Workspace) -> None:
    wide, nul, latin = (ask_all_tools(space, name) for name in ("wide.py", "nul.py", "latin.py"))
    assert "1 match in wide.py" in wide["text"]
    assert "\nNot UTF-8: read as utf-16.\n    1| def needle():" in wide["read"]
    assert nul["read"] == "nul.py is a binary file (16 bytes) and cannot be shown as text."
    assert "1 match in nul.py" in nul["text"]
    assert "\nNot UTF-8: read as latin-1.\n    1| # é" in latin["read"]
    assert "   2-3| def needle():" in latin["text"]


def test_control_characters_never_reach_terminal(space: Workspace) -> None:
    (space.root / "plain.py").write_text(
        'def needle(a="\x1b[31m"):\n    """Loud \x07 \x1b[0m."""\n    a\x9b = 1\n', encoding="utf-8"
    )
    git(space.root, "commit", "-qm", "rings\x07 \x1b[31m", "plain.py")
    for tool, answer in ask_all_tools(space, "plain.py").items():
        assert answer, tool
    assert "needle" in answer_or_refusal(git_history, space, commit="HEAD")
    assert "needle" in answer_or_refusal(search, space, pattern="Loud", context=2)


def test_reports_files_that_vanish(space: Workspace) -> None:
    call_tool(search, space, pattern="needle")
    (space.root / "plain.py").unlink()
    (space.root / "inner.py").unlink()
    answers = ask_all_tools(space, "plain.py")
    for tool in ("search", "text", "read"):
        assert answers[tool].startswith("plain.py does not exist.")
    assert answers["git_history"].endswith("Ada: start")
    shutil.rmtree(space.root)
    for each, arguments in LOOKS.items():
        assert answer_or_refusal(each, space, **arguments)


LOOKS: dict[Tool, dict[str, object]] = {
    search: {"pattern": "needle"},
    read: {"path": "plain.py"},
    git_history: {},
}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_refuses_unreadable_files(space: Workspace) -> None:
    (space.root / "plain.py").chmod(0)
    answers = ask_all_tools(space, "plain.py")
    assert answers["read"] == "plain.py cannot be read: Permission denied."
    assert "No match" in answers["text"]


def test_refuses_text_with_invalid_characters(space: Workspace) -> None:
    for arguments in (
        {"pattern": "a" * 200_000},
        {"pattern": "a", "glob": "b" * 200_000},
        {"pattern": "a", "glob": "a\0"},
    ):
        assert call_refused_tool(search, space, **arguments).startswith("A pattern or glob has at most")
    assert call_refused_tool(search, space, pattern="", glob="a" * 200_000).startswith("A glob has at most")
    assert call_refused_tool(git_history, space, word="a" * 200_000).startswith("A word has at most")
    for tool in TOOLS:
        assert "is no path" in answer_or_refusal(
            tool, space, path="a\0b", **{key: value for key, value in LOOKS[tool].items() if key != "path"}
        )
