"""Output of `list_files`."""

import os
from pathlib import Path

from coder.tools.list_files import list_files
from tests.tools.fakes import call_refused_tool, call_tool, workspace

FILES = {
    "setup.py": "",
    "src/shop/box.py": "",
    "src/shop/deep/bag.py": "",
    "src/top.py": "",
    ".gitignore": "out\n",
    "out/x.py": "",
}


def test_shows_tree_with_counts_of_deeper_levels(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert call_tool(list_files, space) == (
        "5 files below the root\n.gitignore\nsetup.py\nsrc/  (3 files)\n  shop/  (2 files)\n  top.py"
    )
    assert set(space.named) == {".gitignore", "setup.py", "src/top.py"}


def test_opens_one_directory_and_more_levels(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert call_tool(list_files, space, path="src", depth=3) == (
        "3 files below src\nshop/  (2 files)\n  box.py\n  deep/  (1 file)\n    bag.py\ntop.py"
    )
    assert set(space.named) == {"src/shop/box.py", "src/shop/deep/bag.py", "src/top.py"}


def test_lists_files_like_a_glob_at_any_depth(tmp_path: Path) -> None:
    assert (
        call_tool(list_files, workspace(tmp_path, FILES), glob="ba*.py")
        == "1 file below the root like ba*.py\nsrc/shop/deep/bag.py"
    )
    assert call_tool(list_files, workspace(tmp_path), glob="*.rs") == "No files like *.rs below the root."
    assert call_refused_tool(list_files, workspace(tmp_path), glob="{a").startswith(
        "Files cannot be listed: "
    )


def test_is_capped_and_names_only_what_it_shows(tmp_path: Path) -> None:
    space = workspace(tmp_path, {f"f{number:03}.txt": "" for number in range(250)})
    answer = call_tool(list_files, space)
    assert answer.splitlines()[-1] == "... 50 more lines; narrow it with path= or glob="
    assert len(space.named) == 200


def test_hostile_names_are_shown_as_escapes(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    (tmp_path / os.fsdecode(b"\xff")).touch()
    (tmp_path / "a\nb\x1b[0m").touch()
    os.mkfifo(tmp_path / "pipe")
    assert sorted(call_tool(list_files, space).splitlines()[1:]) == ["\\udcff", "a\\nb\\x1b[0m"]


def test_refuses_path_that_is_no_directory(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert call_refused_tool(list_files, space, path="setup.py") == "setup.py is a file; open it with read."
    assert call_refused_tool(list_files, space, path="nowhere").startswith("nowhere does not exist.")
    assert "outside the repository" in call_refused_tool(list_files, space, path="..")
