"""Output of `outline` for a file and for a directory."""

from pathlib import Path

from coder.tools.outline import MOST_CHARACTERS, outline
from tests.tools.fakes import call_refused_tool, call_tool, workspace

BOX = '''"""Boxes."""

LIMIT = 3


class Box(dict):
    """Holds items.

    More.
    """

    kind: str = "box"

    @property
    def size(
        self,
    ) -> int:
        return 1
'''


def test_shows_signatures_and_first_docstring_lines(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"box.py": BOX})
    assert call_tool(outline, space, path="box.py") == (
        "box.py: 18 lines\n"
        "    3| LIMIT = 3\n"
        "    6| class Box(dict)  # Holds items.\n"
        '   12|   kind: str = "box"\n'
        "   15|   def size(self) -> int"
    )
    assert space.named == {"box.py": {3, 6, 12, 15}}


def test_shows_a_directorys_files_source_before_tests(tmp_path: Path) -> None:
    space = workspace(
        tmp_path,
        {"a/test_box.py": "def test_a(): ...\n", "a/box.py": BOX, "a/notes.txt": "x\n", "b.py": "x = 1\n"},
    )
    assert call_tool(outline, space, path="a") == (
        "2 source files below a\n"
        "a/box.py\n"
        "    3| LIMIT = 3\n"
        "    6| class Box(dict)  # Holds items.\n"
        '   12|   kind: str = "box"\n'
        "   15|   def size(self) -> int\n"
        "a/test_box.py\n"
        "    1| def test_a()"
    )
    assert set(space.named) == {"a/box.py", "a/test_box.py"}


def test_shows_less_detail_as_content_grows(tmp_path: Path) -> None:
    def answer(count: int, *, body: str) -> str:
        text = "".join(f"def function_number_{number}(argument):\n{body}" for number in range(count))
        return call_tool(outline, workspace(tmp_path, {"big.py": text}), path="big.py")

    assert answer(10, body="    'What it does.'\n").splitlines()[:2] == [
        "big.py: 20 lines",
        "    1| def function_number_0(argument)  # What it does.",
    ]
    assert answer(230, body="    'What it does.'\n").splitlines()[:2] == [
        "big.py: 460 lines (without variables and docstrings)",
        "    1| def function_number_0(argument)",
    ]
    most = answer(1000, body="    ...\n")
    assert len(most) < MOST_CHARACTERS + 300
    assert "more; find_symbol(name=..., path='big.py')" in most.splitlines()[-1]


def test_shows_large_directory_by_names(tmp_path: Path) -> None:
    files = {
        f"a/m{number}.py": f"X = 1\n\ndef first_{number}(): ...\n\nclass Second:\n    def third(self): ...\n"
        for number in range(210)
    }
    answer = call_tool(outline, workspace(tmp_path, files), path="a")
    assert answer.startswith(
        "210 source files below a (top-level names only)\na/m0.py: first_0:3, Second:5\n"
    )
    assert answer.splitlines()[-1].startswith("10 more files, such as a/m")


def test_outlines_broken_python_as_far_as_possible(tmp_path: Path) -> None:
    answer = call_tool(
        outline,
        workspace(tmp_path, {"a.py": "def good():\n    pass\n\n\ndef bad(:\n    pass\n"}),
        path="a.py",
    )
    assert "def good()" in answer


def test_says_when_nothing_can_be_outlined(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.txt": "x\n", "d/b.txt": "x\n"})
    assert (
        call_tool(outline, space, path="a.txt")
        == "a.txt: 1 line, no definitions found. Open it with read(path='a.txt', line=1)."
    )
    assert call_refused_tool(outline, space, path="d").startswith("There is no source file below d.")
    assert call_refused_tool(outline, space, path="b.txt") == "b.txt does not exist. Did you mean d/b.txt?"
