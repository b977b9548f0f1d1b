"""Places named in free text."""

from pathlib import Path

from coder.workspace.workspace import extract_places, record_places
from tests.tools.fakes import workspace

FILES = dict.fromkeys(
    [
        "src/shop/box.py",
        "src/shop/__init__.py",
        "src/shop/deep/bag.py",
        "src/other/bag.py",
        "tests/test_box.py",
        "setup.cfg",
    ],
    "",
) | {f"pkg{number}/util.py": "" for number in range(5)}
TEXT = """In `src/shop/box.py` and setup.cfg, see https://example.org/shop/blob/main/src/shop/deep/bag.py#L12.

Traceback (most recent call last):
  File "/home/ada/env/lib/python3.12/site-packages/shop/box.py", line 7, in size
  File "/usr/lib/python3.12/json/decoder.py", line 355, in raw_decode
tests/test_box.py:41: AssertionError
tests/test_box.py::test_size FAILED, C:\\\\work\\\\shop\\\\deep\\\\bag.py:3
"""


def test_finds_paths_lines_frames_and_links_in_order() -> None:
    assert extract_places(TEXT) == [
        ("src/shop/box.py", None),
        ("setup.cfg", None),
        ("//example.org/shop/blob/main/src/shop/deep/bag.py", 12),
        ("/home/ada/env/lib/python3.12/site-packages/shop/box.py", 7),
        ("/usr/lib/python3.12/json/decoder.py", 355),
        ("tests/test_box.py", 41),
        ("//work//shop//deep//bag.py", 3),
    ]


def test_resolves_mentioned_files_of_worktree(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert record_places(space, TEXT) == [
        ("src/shop/box.py", None),
        ("setup.cfg", None),
        ("src/shop/deep/bag.py", 12),
        ("src/shop/box.py", 7),
        ("tests/test_box.py", 41),
        ("src/shop/deep/bag.py", 3),
    ]
    assert space.named == {
        "src/shop/box.py": {7},
        "setup.cfg": set(),
        "src/shop/deep/bag.py": {3, 12},
        "tests/test_box.py": {41},
    }


def test_bare_name_resolves_to_at_most_three_files(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert record_places(space, "bag.py is wrong") == [
        ("src/other/bag.py", None),
        ("src/shop/deep/bag.py", None),
    ]
    assert record_places(space, "util.py is wrong") == []


def test_dotted_name_resolves_to_longest_module_prefix(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert record_places(space, "shop.box.Box.size() and shop.deep.bag, not os.path or self.box") == [
        ("src/shop/box.py", None),
        ("src/shop/deep/bag.py", None),
    ]


def test_answers_hostile_text_quickly(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    for text in (
        "a/" * 50_000,
        "a." * 50_000,
        "\\" * 50_000,
        'File "' * 20_000,
        "../../../etc/passwd .git/config \0",
    ):
        assert record_places(space, text) == []
