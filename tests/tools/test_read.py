"""Output of `read` for files and directories."""

from dataclasses import replace
from pathlib import Path

from coder.tools.read import MOST_CHARACTERS, read
from tests.tools.fakes import call_refused_tool, call_tool, workspace

BOX = "class Box:\n    kind = 1\n\n    def size(self):\n        a = 1\n        b = 2\n        return a + b\n"


def test_shows_window_below_enclosing_headers(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"box.py": BOX})
    assert call_tool(read, space, path="box.py", line=6, before=0, after=0) == (
        "box.py, lines 6-6 of 7\n"
        "    1| class Box:\n"
        "    4|     def size(self):\n"
        "      ...\n"
        "    6|         b = 2"
    )


def test_shows_a_definition_whole(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"box.py": BOX})
    for symbol in ("Box.size", "size", "shop.box.Box.size"):
        assert call_tool(read, space, path="box.py", symbol=symbol) == (
            "box.py, lines 4-7 of 7\n"
            "    1| class Box:\n"
            "      ...\n"
            "    4|     def size(self):\n"
            "    5|         a = 1\n"
            "    6|         b = 2\n"
            "    7|         return a + b"
        )


def test_names_remaining_lines_of_long_definition(tmp_path: Path) -> None:
    code = "class Box:\n" + "".join(
        f"    def f{number}(self):\n        return 1\n\n" for number in range(110)
    )
    space = workspace(tmp_path, {"a.py": code})
    last = call_tool(read, space, path="a.py", symbol="Box").splitlines()[-1]
    assert last.startswith(
        "Clipped; line 330 was asked for: go on with line=301, before=0. Left out: Box.f100 302, Box.f101 "
    )


def test_several_symbols_share_the_room(tmp_path: Path) -> None:
    long = "".join(f"    total += {number:090}\n" for number in range(100, 290))
    names = ("first", "middle", "last")
    code = "".join(f"def {name}(total):\n{long}    return {name!r}\n\n\n" for name in names[:2])
    code += "def last(total):\n    return 'end'\n"
    space = workspace(tmp_path, {"a.py": code})
    shown = call_tool(read, space, path="a.py", symbol=", ".join(names))
    assert len(shown) <= MOST_CHARACTERS
    assert [f"def {name}(total):" in shown for name in names] == [True] * 3
    assert shown.endswith("return 'end'")
    assert shown.count("Clipped; line ") == 2


def test_reads_small_file_whole_and_outlines_a_longer_one(tmp_path: Path) -> None:
    space = workspace(
        tmp_path, {"small.py": "x = 1\n" * 300, "long.txt": "x = 1\n" * 301, "code.py": BOX + "\n" * 300}
    )
    assert call_tool(read, space, path="small.py").startswith("small.py, lines 1-300 of 300")
    assert call_tool(read, space, path="long.txt").startswith("long.txt, lines 1-300 of 301")
    assert call_tool(read, space, path="code.py") == (
        "code.py: 307 lines\n    1| class Box\n    2|   kind = 1\n    4|   def size(self)"
    )


def test_outline_shows_less_detail_as_content_grows(tmp_path: Path) -> None:
    def answer(count: int, *, body: str) -> list[str]:
        text = "".join(f"def function_number_{number}(argument):\n{body}" for number in range(count))
        return call_tool(read, workspace(tmp_path, {"big.py": text}), path="big.py").splitlines()

    assert answer(160, body="    'What it does.'\n")[:2] == [
        "big.py: 320 lines",
        "    1| def function_number_0(argument)  # What it does.",
    ]
    assert answer(230, body="    'What it does.'\n")[:2] == [
        "big.py: 460 lines (without variables and docstrings)",
        "    1| def function_number_0(argument)",
    ]
    most = answer(1000, body="    ...\n")
    assert len("\n".join(most)) < 10_300
    assert most[-1].endswith(" more")


def test_lists_the_files_of_a_directory(tmp_path: Path) -> None:
    files = dict.fromkeys(
        ["setup.py", "src/shop/box.py", "src/shop/deep/bag.py", "src/top.py", "out/x.py"], ""
    )
    space = workspace(tmp_path, {**files, ".gitignore": "out\n"})
    assert call_tool(read, space, path="src") == (
        "3 files below src\nshop/  (2 files)\n  box.py\n  deep/  (1 file)\ntop.py"
    )
    assert call_tool(read, space, path=".").startswith("5 files below the root\n.gitignore\nsetup.py\nsrc/")


def test_explains_content_that_cannot_be_shown(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"empty.py": "", "d/box.py": BOX})
    assert call_tool(read, space, path="empty.py") == "empty.py is empty."
    assert call_tool(read, space, path="d").startswith("1 file below d")
    assert call_refused_tool(read, space, path="box.py") == "box.py does not exist. Did you mean d/box.py?"
    assert (
        call_refused_tool(read, space, path="d/box.py", line=99)
        == "d/box.py has lines 1 to 7; there is no line 99."
    )
    assert call_refused_tool(read, space, path="d/box.py", symbol="weight") == (
        "d/box.py does not define 'weight'. It defines: Box 1, Box.size 4. Where it is defined, "
        "search(pattern='weight') says."
    )
    assert "Did you mean Box.size? " in call_refused_tool(read, space, path="d/box.py", symbol="Box.sizes")


def test_ambiguous_symbol_lists_definitions(tmp_path: Path) -> None:
    space = workspace(
        tmp_path, {"a.py": "class A:\n    def go(self): ...\n\n\nclass B:\n    def go(self): ...\n"}
    )
    assert call_refused_tool(read, space, path="a.py", symbol="go") == (
        "a.py defines 'go' 2 times: A.go (line 2), B.go (line 6). Give the dotted name, or line=."
    )


def test_opens_nothing_outside_worktree(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret\n", encoding="utf-8")
    space = workspace(tmp_path / "tree", {"a.txt": "x\n"})
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "tree" / "circle").symlink_to("circle")
    (tmp_path / "tree" / "inner").symlink_to("a.txt")
    assert "leads out of the repository" in call_refused_tool(read, space, path="../secret.txt")
    assert "leads out of the repository" in call_refused_tool(read, space, path="/etc/passwd")
    assert "leads out of the repository" in call_refused_tool(read, space, path="link")
    assert "belongs to git" in call_refused_tool(read, space, path=".GIT/config")
    assert "belongs to git" in call_refused_tool(read, space, path="sub/.g\u200cit./config")
    assert call_refused_tool(read, space, path="circle")
    assert call_tool(read, space, path="inner", line=1).endswith("    1| x")


def test_file_that_nothing_named_is_introduced_by_outline(tmp_path: Path) -> None:
    space = replace(
        workspace(tmp_path, {"box.py": BOX, "notes.txt": "Packed.\n"}), is_named=lambda path: path == "a.py"
    )
    text = call_tool(read, space, path="box.py", symbol="Box.size")
    assert text.startswith("Nothing has named box.py so far")
    assert "search(pattern='Box')" in text
    assert "def size(self)" in text
    assert "a = 1" not in text
    assert "Packed." in call_tool(read, space, path="notes.txt")
