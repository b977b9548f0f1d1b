"""Files that may hold secrets: named, never opened, by any tool."""

from pathlib import Path

import pytest

from coder.retrieval.orientation import issue_overview
from coder.tools.apply_patch import apply_patch
from coder.tools.git_history import git_history
from coder.tools.read import read
from coder.tools.search import search
from coder.workspace.workspace import Workspace
from tests.tools.fakes import call_refused_tool, call_tool, workspace

SECRET = "hunter-of-secrets"
FILES = {
    ".env": f"PASSWORD={SECRET}\n",
    "app.py": "import os\nPASSWORD = os.environ['PASSWORD']\n",
    "deploy/key.pem": f"{SECRET}\n",
}


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return workspace(tmp_path, FILES)


def test_lists_private_files_by_name(space: Workspace) -> None:
    assert ".env" in call_tool(search, space, pattern="")


@pytest.mark.parametrize("path", [".env", "deploy/key.pem", "./.env", "notes.txt"])
def test_does_not_read_private_files_or_links_to_them(space: Workspace, path: str) -> None:
    (space.root / "notes.txt").symlink_to(".env")
    assert "may hold secrets" in call_refused_tool(read, space, path=path)


def test_search_skips_private_files(space: Workspace) -> None:
    assert SECRET not in call_tool(search, space, pattern="hunter|PASSWORD")
    assert "app.py" in call_tool(search, space, pattern="PASSWORD")
    assert "may hold secrets" in call_refused_tool(search, space, pattern="PASSWORD", path=".env")


def test_orientation_shows_no_private_file(space: Workspace) -> None:
    assert (
        SECRET
        not in issue_overview(
            space, f"The PASSWORD of .env:1 and deploy/key.pem:1 is wrong, it says {SECRET[:6]}", (), 10_000
        ).text
    )


@pytest.mark.parametrize("name", ["a/.env", '"a/\\056env"'])
def test_patch_error_reveals_nothing_of_private_file(space: Workspace, name: str) -> None:
    message = call_refused_tool(
        apply_patch,
        space,
        diff=f"--- {name}\n+++ {name.replace('a/', 'b/')}\n@@ -1 +1 @@\n-PASSWORD=x\n+PASSWORD=y\n",
    )
    assert SECRET not in message
    assert (space.root / ".env").read_text() == FILES[".env"]


def test_never_writes_secret_placeholder(space: Workspace) -> None:
    diff = "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-import os\n+KEY = '[masked: GitHub token]'\n"
    assert "does not hold the value that [masked: GitHub token] stands for" in call_refused_tool(
        apply_patch, space, diff=diff
    )
    assert (space.root / "app.py").read_text() == FILES["app.py"]


def test_refuses_git_history_of_private_file(space: Workspace) -> None:
    assert "may hold secrets" in call_refused_tool(git_history, space, path=".env")


def test_user_can_add_and_remove_private_patterns(space: Workspace) -> None:
    space.deny_read = (*space.deny_read, "app.py", "!.env")
    assert call_tool(search, space, pattern="PASSWORD").startswith("1 match in .env")
