"""Output of `search`, how it narrows, and the requests it refuses."""

import time
from pathlib import Path

import pytest

from coder.files.ripgrep import ripgrep_path
from coder.tools.search import search
from tests.tools.fakes import call_refused_tool, call_tool, workspace

FILES = {
    "src/box.py": "class Box:\n    def size(self):\n        return len(self.items)\n",
    "tests/test_box.py": "from src.box import Box\n\n\ndef test_size():\n    assert Box().size() == 0\n",
    ".gitignore": "build/\n",
    "build/box.py": "class Box: ...\n",
    ".github/check.yml": "run: Box\n",
}


def test_shows_hits_by_file_with_line_numbers(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert call_tool(search, space, pattern=r"def \w+size") == (
        "1 match in tests/test_box.py\n   4-5| def test_size():"
    )


def test_skips_ignored_files_but_not_dotted_directories(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    answer = call_tool(search, space, pattern="Box", literal=True)
    assert "build/box.py" not in answer
    assert ".github/check.yml" in answer


def test_can_be_narrowed_by_path_glob_and_case(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert call_tool(search, space, pattern="BOX", ignore_case=True, path="src").startswith(
        "1 match in src/box.py\n"
    )
    assert call_tool(search, space, pattern="Box", glob="test_*.py").startswith(
        "2 matches in tests/test_box.py\n"
    )
    assert call_tool(search, space, pattern="Box().", literal=True).startswith("1 match")


def test_thousands_of_matches_in_one_line_take_no_time(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"bundle.js": ";".join(["f(a)"] * 200_000), "a.py": "f(a)\n"})
    started = time.monotonic()
    assert call_tool(search, space, pattern="f(", literal=True).startswith("2 matches in 2 files\n")
    assert time.monotonic() - started < 10  # a quarter of a second; it took minutes


def test_names_enclosing_definition_once(tmp_path: Path) -> None:
    code = (
        "import a\n\n\nclass Box:\n    a = 1\n\n    def size(self):\n        x = a\n"
        "        return a\n\n\nb = a\n"
    )
    space = workspace(tmp_path, {"src/box.py": code, "notes.txt": "a\n", "CHANGES": "class of its own\n"})
    assert call_tool(search, space, pattern=r"\ba\b") == (
        "6 matches in 2 files\n"
        "src/box.py\n"
        "     1| import a\n"
        "  in Box (lines 4-9)\n"
        "     5|     a = 1\n"
        "  in Box.size (lines 7-9)\n"
        "     8|         x = a\n"
        "     9|         return a\n"
        "  in no definition\n"
        "    12| b = a\n"
        "notes.txt\n"
        "     1| a"
    )


def test_names_enclosing_case_of_javascript(tmp_path: Path) -> None:
    code = (
        "describe('box', () => {\n  it('adds', () => {\n    const box = add(1);\n\n    use(box);\n  });\n\n"
        "  it('drops', () => {\n    drop(1);\n  });\n});\n"
    )
    space = workspace(tmp_path, {"test/box.test.js": code})
    assert "  in it('adds') (lines 2-6)\n     3|" in call_tool(search, space, pattern=r"add\(")
    assert "  in it('drops') (lines 8-10)\n     9|" in call_tool(search, space, pattern=r"drop\(")


def test_shows_hits_found_before_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hit_record = (
        '"data":{"path":{"text":"./a.py"},"lines":{"text":"x = '
        '1"},"line_number":1,"submatches":[{"start":0,"end":1}]}'
    )
    (tmp_path / "records").write_text(
        f'{{"type":"begin",{hit_record}}}\n{{"type":"match",{hit_record}}}\n', encoding="utf-8"
    )
    slow = tmp_path / "rg"
    slow.write_text(f"#!/bin/sh\ncat '{tmp_path}/records'\nexec sleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    ripgrep_path.cache_clear()
    monkeypatch.setenv("CODER_RG", str(slow))
    monkeypatch.setattr("coder.files.ripgrep.SEARCH_SECONDS", 0.5)
    try:
        answer = call_tool(search, workspace(tmp_path / "tree", {"a.py": "x = 1\n"}), pattern="x")
    finally:
        ripgrep_path.cache_clear()
    assert (
        answer
        == "1 match in a.py (not all: it took more than 0.5 s; narrow it with path= or glob=)\n     1| x = 1"
    )


def test_counts_hits_per_file_and_suggests_narrowing(tmp_path: Path) -> None:
    files = {f"src/m{number}.py": "value = 1\n" * 30 for number in range(5)} | {
        "tests/test_m.py": "value = 1\n" * 99
    }
    answer = call_tool(search, workspace(tmp_path, files), pattern="value", literal=True)
    lines = answer.splitlines()
    assert lines[0] == (
        "249 matches in 6 files, too many to show. Narrow it with path=, glob= or a longer pattern."
    )
    assert lines[1] == "    30 src/m0.py"
    assert lines[6] == "    99 tests/test_m.py"
    assert len(lines) < 80


def test_counts_many_hits_exactly(tmp_path: Path) -> None:
    space = workspace(
        tmp_path,
        {"src/a.py": "value = 1\n" * 1500, "src/two\nlines.py": "value = 1\n" * 1501, "b.txt": "value\n"},
    )
    lines = call_tool(search, space, pattern="value", context=3).splitlines()
    assert lines[:4] == [
        ("3,002 matches in 3 files, too many to show. Narrow it with path=, glob= or a longer pattern."),
        "  1501 src/two\\nlines.py",
        "  1500 src/a.py",
        "     1 b.txt",
    ]
    assert lines[4:] == [
        "The first in each file:",
        "src/two\\nlines.py",
        *(f"     {number}| value = 1" for number in range(1, 5)),
        "      ... 1,497 more in this file",
        "src/a.py",
        *(f"     {number}| value = 1" for number in range(1, 5)),
        "      ... 1,496 more in this file",
        "b.txt",
        "     1| value",
    ]
    (tmp_path / "src/a.py").write_text("value = 1\n" * 2600, encoding="utf-8")
    assert call_tool(search, space, pattern="value", path="src/a.py").startswith(
        "2,600 matches in src/a.py; the first 80 follow."
    )


def test_hits_have_as_much_context_as_all_can(tmp_path: Path) -> None:
    lines = [f"{'value' if number % 30 == 0 else 'other'} = {number}" for number in range(1, 2101)]
    space = workspace(tmp_path, {"src/m.py": "\n".join(lines) + "\n"})
    answer = call_tool(search, space, pattern="value", path="src/m.py", context=6)
    assert answer.startswith("70 matches in src/m.py; context=0, for 150 lines are the most\n    30| value")
    assert (answer.count("value"), answer.count("other")) == (70, 0)


def test_shows_first_hits_of_crowded_file_with_reason(tmp_path: Path) -> None:
    answer = call_tool(
        search,
        workspace(tmp_path, {"src/m.py": "value = 1\n" * 99}),
        pattern="value",
        context=4,
        path="src/m.py",
    )
    lines = answer.splitlines()
    assert lines[0] == "99 matches in src/m.py; the first 80 follow. A longer pattern finds fewer."
    assert lines[1:] == [f"{number:>6}| value = 1" for number in range(1, 81)]


def test_no_match_suggests_existing_spellings(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.py": "def parse_retry_after(): ...\n"})
    assert call_tool(search, space, pattern="parse_retry_afer") == (
        "No match for 'parse_retry_afer'. Near names that are defined: parse_retry_after."
    )


@pytest.mark.parametrize("pattern", ["--pre=/bin/sh", "--files", "-e", "--", "-f/etc/passwd"])
def test_pattern_is_never_option(tmp_path: Path, pattern: str) -> None:
    space = workspace(tmp_path, {"a.txt": f"x {pattern} y\n"})
    assert (
        call_tool(search, space, pattern=pattern, literal=True) == f"1 match in a.txt\n     1| x {pattern} y"
    )


def test_glob_is_never_option_and_never_opens_git(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.txt": "x\n", ".git/config": "x\n"})
    assert call_tool(search, space, pattern="x", glob="--pre=/bin/sh").startswith("No match")
    assert call_tool(search, space, pattern="x", glob=".git/**").startswith("No match")
    assert "belongs to git" in call_refused_tool(search, space, pattern="x", path=".git")


@pytest.mark.parametrize("pattern", ["a\nb", "a\0b"])
def test_refuses_multiline_pattern(tmp_path: Path, pattern: str) -> None:
    assert call_refused_tool(search, workspace(tmp_path, FILES), pattern=pattern).startswith(
        "A pattern is one line of text"
    )


def test_refuses_missing_path_and_suggests_existing_one(tmp_path: Path) -> None:
    assert (
        call_refused_tool(search, workspace(tmp_path, FILES), pattern="x", path="box.py")
        == "box.py does not exist. Did you mean src/box.py?"
    )
    assert "leads out of the repository" in call_refused_tool(
        search, workspace(tmp_path), pattern="x", path="../x"
    )


def test_ignores_user_ripgrep_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = workspace(tmp_path / "tree", FILES)
    (tmp_path / "rc").write_text("--glob=!*.py\n", encoding="utf-8")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    assert call_tool(search, space, pattern="class Box").startswith("1 match")


def test_prefers_rg_of_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    ripgrep_path.cache_clear()
    monkeypatch.setenv("CODER_RG", "/opt/rg")
    try:
        assert ripgrep_path() == "/opt/rg"
    finally:
        ripgrep_path.cache_clear()
