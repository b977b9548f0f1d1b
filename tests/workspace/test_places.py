"""Places named in free text."""

from coder.workspace.workspace import FileIndex, extract_places

FILES = dict.fromkeys(
    [
        "src/shop/box.py",
        "src/shop/__init__.py",
        "src/shop/deep/bag.py",
        "src/other/bag.py",
        "tests/test_box.py",
        "setup.cfg",
        "my notes.md",
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


def test_path_resolves_to_the_files_of_its_longest_suffix() -> None:
    index = FileIndex(list(FILES))
    assert [index.files_with_suffix(path) for path, _ in extract_places(TEXT)] == [
        ["src/shop/box.py"],
        ["setup.cfg"],
        ["src/shop/deep/bag.py"],
        ["src/shop/box.py"],
        [],
        ["tests/test_box.py"],
        ["src/shop/deep/bag.py"],
    ]
    assert index.files_with_suffix("bag.py") == ["src/shop/deep/bag.py", "src/other/bag.py"]
    assert index.files_with_suffix("util.py") == []
    mentions = extract_places('why does @src/shop/box.py ignore @setup.cfg and @"my notes.md"?')
    assert [index.files_with_suffix(path) for path, _ in mentions] == [
        ["src/shop/box.py"],
        ["setup.cfg"],
        ["my notes.md"],
    ]
    assert FileIndex(["web/@types/box.ts"]).files_with_suffix("@types/box.ts") == ["web/@types/box.ts"]


def test_answers_hostile_text_quickly() -> None:
    for text in (
        "a/" * 50_000,
        "a." * 50_000,
        "\\" * 50_000,
        'File "' * 20_000,
        "../../../etc/passwd .git/config \0",
    ):
        assert [path for path, _ in extract_places(text) if path in FILES] == []
