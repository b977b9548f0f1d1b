"""Exact application of patches, or none: every folder of tests/cases/patches is a case."""

import difflib
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from coder.patching import PatchError, apply, plan_patch
from coder.patching.plan import ConfinedTree, write_patch

PATCHES = Path(__file__).parent.parent / "cases" / "patches"
CASES = sorted(path for path in PATCHES.iterdir() if (path / "patch.diff").exists())
BASE = (PATCHES / "calc.py").read_text(encoding="utf-8")
"""File of cases without `before/`, and of those that name it in `base.txt`; `after.diff` is the change."""
SWAP = "--- a/t\n+++ b/t\n@@ -1 +1 @@\n-a\n+b\n"


def content(root: Path) -> dict[str, tuple[bytes, bool]]:
    """Return every file below a directory: its bytes, and whether it is executable."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in root.rglob("*")
        if path.is_file() and path.name != ".empty"
    }


def lines_of(file: tuple[bytes, bool] | None) -> list[str]:
    """Return the lines of a file, after a first one if it is executable."""
    if file is None:
        return []
    text, is_executable = file[0].decode("utf-8"), file[1]
    lines = [f"{line}\n" for line in text.split("\n")[:-1]]
    last = text.rpartition("\n")[2]
    end = [f"{last}\n\\ No newline at end of file\n"] if last else []
    return [*(["executable\n"] if is_executable else []), *lines, *end]


def difference(before: dict[str, tuple[bytes, bool]], after: dict[str, tuple[bytes, bool]]) -> str:
    """Return a unified diff of two trees; from it and `before` follows `after`, byte for byte."""
    parts = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        names = (f"a/{name}" if old else "/dev/null", f"b/{name}" if new else "/dev/null")
        if old != new:
            parts += [*difflib.unified_diff(lines_of(old), lines_of(new), *names)] or [f"{names}\n"]
    return "".join(parts)


def set_up(case: Path, root: Path) -> None:
    if (case / "before").exists():
        shutil.copytree(case / "before", root, dirs_exist_ok=True)
    for name, line_end in base_copies(case):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(BASE, encoding="utf-8", newline=line_end)


def base_copies(case: Path) -> Iterator[tuple[str, str]]:
    """Yield the names of the files that hold the base text, and their line ends."""
    if (listing := case / "base.txt").exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            name, _, crlf = line.partition(" ")
            yield name, "\r\n" if crlf else "\n"
    elif not (case / "before").exists():
        yield "calc.py", "\n"


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_case_applies_exactly_or_is_refused_with_its_error(case: Path, tmp_path: Path) -> None:
    set_up(case, tmp_path)
    before = content(tmp_path)
    diff = (case / "patch.diff").read_bytes().decode("utf-8")
    if (error := case / "error.txt").exists():
        with pytest.raises(PatchError) as raised:
            apply(diff, tmp_path)
        assert f"{raised.value}\n" == error.read_text(encoding="utf-8")
        assert content(tmp_path) == before
    else:
        apply(diff, tmp_path)
        if (case / "after").exists():
            assert content(tmp_path) == content(case / "after")
        else:
            assert difference(before, content(tmp_path)) == (case / "after.diff").read_bytes().decode("utf-8")


LINES = ["a", "b", "", "    c", "\td", "- e", "+ f", "@@", "--- g", "é", "\\ h", "x" * 50]


@pytest.mark.parametrize("seed", range(40))
def test_diff_of_two_texts_applies_exactly_or_is_refused(seed: int, tmp_path: Path) -> None:
    generator = random.Random(seed)
    texts = [
        "".join(f"{line}\n" for line in generator.choices(LINES, k=generator.randrange(30))) for _ in range(2)
    ]
    before, after = (text.removesuffix("\n") if generator.random() < 0.3 else text for text in texts)
    (tmp_path / "t").write_bytes(before.encode())
    pieces = difflib.unified_diff(before.splitlines(True), after.splitlines(True), "a/t", "b/t")
    diff = "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in pieces
    )
    try:
        apply(diff, tmp_path)
    except PatchError:
        after = before
    assert (tmp_path / "t").read_bytes() == after.encode()


def test_does_not_follow_link_outside_tree(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "t").write_text("a\n", encoding="utf-8")
    (root / "d").symlink_to(outside)
    (root / "t").symlink_to(outside / "t")
    for diff in (
        SWAP,
        SWAP.replace("/t", "/d/t"),
        SWAP.replace("--- a/t", "--- /dev/null").replace("+++ b/t", "+++ b/d/new"),
    ):
        with pytest.raises(PatchError, match="symbolic link"):
            apply(diff, root)
    assert content(outside) == {"t": (b"a\n", False)}


def test_does_not_follow_link_created_after_planning(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    for folder in (outside, root / "d"):
        folder.mkdir(parents=True)
        (folder / "t").write_text("a\n", encoding="utf-8")
    patch_plan = plan_patch(SWAP.replace("/t", "/d/t"), root)
    shutil.rmtree(root / "d")
    (root / "d").symlink_to(outside)
    with pytest.raises(PatchError, match="symbolic link"):
        write_patch(patch_plan, ConfinedTree(root))
    assert content(outside) == {"t": (b"a\n", False)}


def test_leaves_file_changed_after_planning(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a\n", encoding="utf-8")
    patch_plan = plan_patch(SWAP, tmp_path)
    (tmp_path / "t").write_text("mine\n", encoding="utf-8")
    with pytest.raises(PatchError, match="meanwhile"):
        write_patch(patch_plan, ConfinedTree(tmp_path))
    assert (tmp_path / "t").read_text(encoding="utf-8") == "mine\n"


def test_rolls_back_when_later_file_fails(tmp_path: Path) -> None:
    for name in ("t", "u"):
        (tmp_path / name).write_text("a\n", encoding="utf-8")
    patch_plan = plan_patch(
        f"{SWAP}--- /dev/null\n+++ b/new/v\n@@ -0,0 +1 @@\n+c\n" + SWAP.replace("/t", "/u"), tmp_path
    )
    (tmp_path / "u").write_text("mine\n", encoding="utf-8")
    with pytest.raises(PatchError, match="u was changed"):
        write_patch(patch_plan, ConfinedTree(tmp_path))
    assert content(tmp_path) == {"t": (b"a\n", False), "u": (b"mine\n", False)}
    assert not (tmp_path / "new").exists()


def test_refuses_fifo_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t")
    with pytest.raises(PatchError, match="no regular file"):
        apply(SWAP, tmp_path)


def test_random_damage_to_numbers_never_changes_the_result(tmp_path: Path) -> None:
    generator = random.Random(7)
    before = [f"line {number}\n" for number in range(200)]
    for trial in range(20):
        after = [line if generator.random() > 0.05 else line.replace("line", "changed") for line in before]
        diff = [
            f"@@ -{generator.randrange(300)} +{generator.randrange(300)} @@\n"
            if line.startswith("@@")
            else line
            for line in difflib.unified_diff(before, after, "a/t", "b/t")
        ]
        root = tmp_path / str(trial)
        root.mkdir()
        (root / "t").write_text("".join(before), encoding="utf-8")
        apply("".join(diff), root)
        assert (root / "t").read_text(encoding="utf-8") == "".join(after)


@pytest.mark.parametrize(
    "unit", [" ", "@@ -1 ", "\n", "@@\n-a\n", "+a\n", "```\n", "--- a/t\n", "diff --git a/a b/a\n", "\\ "]
)
def test_refuses_hostile_diff_quickly(unit: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a\nb\n" * 1000, encoding="utf-8")
    start_time = time.process_time()
    for start in ("", "@@ ", "--- a/t\n+++ b/t\n@@ ", "--- a/t\n+++ b/t\n@@ @@\n a\n"):
        with pytest.raises(PatchError):
            apply(start + unit * (10_000 // len(unit)), tmp_path)
    assert time.process_time() - start_time < 1.5


def test_refuses_envelope_with_foreign_content_quickly(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a\n", encoding="utf-8")
    with pytest.raises(PatchError):
        apply("*** Begin Patch\n*** Update File: t\ndiff --git a/t b/t\n@@\n*** End Patch\n", tmp_path)


REVERSIBLE = sorted({"001", "009", "025", "032", "034", "038", "088", "099", "121"})


@pytest.mark.parametrize("number", REVERSIBLE)
def test_patch_can_be_undone(number: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name.startswith(number))
    set_up(case, tmp_path)
    before = content(tmp_path)
    diff = (case / "patch.diff").read_bytes().decode("utf-8")
    apply(diff, tmp_path)
    apply(diff, tmp_path, reverse=True)
    assert content(tmp_path) == before


def test_deletion_without_content_cannot_be_undone(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="does not say what was in the file"):
        apply("diff --git a/t b/t\ndeleted file mode 100644\n", tmp_path, reverse=True)


def test_error_names_failure_and_says_nothing_was_written(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("x\n", encoding="utf-8")
    with pytest.raises(PatchError) as error:
        apply(SWAP, tmp_path)
    assert str(error.value).count("Nothing was written.") == 1
    assert len(error.value.failed) == 1
    assert error.value.failed == failed_paths(SWAP.replace("@@ -1 +1 @@", "@@ -7 +7 @@"), tmp_path)
    assert error.value.failed != failed_paths(SWAP.replace("+b", "+c"), tmp_path)


def failed_paths(diff: str, root: Path) -> frozenset[str]:
    with pytest.raises(PatchError) as error:
        plan_patch(diff, root)
    return error.value.failed


@pytest.mark.parametrize("times", [0, 1, 2, 9])
def test_error_is_capped_and_grows_on_repeat(times: int, tmp_path: Path) -> None:
    for name in "tuvw":
        (tmp_path / name).write_text("".join(f"line {number}\n" for number in range(200)), encoding="utf-8")
    hunks = "".join(f"@@\n line {number}\n-gone\n+new\n line {number + 2}\n" for number in (40, 90, 150))
    diffs = ["".join(f"--- a/{name}\n+++ b/{name}\n{hunks}" for name in names) for names in ("t", "tuvw")]
    texts = []
    for diff in diffs:
        with pytest.raises(PatchError) as error:
            plan_patch(diff, tmp_path, failed_before=dict.fromkeys(failed_paths(diff, tmp_path), times))
        texts.append(str(error.value))
    assert all(len(text.split("\n")) <= 60 for text in texts)
    assert "   39| line 38" in texts[0]
    assert ("   34| line 33" in texts[0]) is bool(times)


def test_reports_syntax_errors_but_writes_files(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("x = 1\n", encoding="utf-8")
    patch_plan = apply(
        "--- a/t.py\n+++ b/t.py\n@@\n-x = 1\n+x = y\n--- /dev/null\n+++ b/u.py\n@@\n+x = (\n", tmp_path
    )
    assert patch_plan.undefined_names == ("t.py:1: undefined name 'y'",)
    assert patch_plan.syntax_errors == ("u.py:1: '(' was never closed\n    1| x = (",)
    assert (tmp_path / "u.py").exists()


def test_does_not_follow_link_replacing_file(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    for path in (root / "t", outside):
        path.write_text("a\n", encoding="utf-8")
    patch_plan = plan_patch(SWAP, root)
    (root / "t").unlink()
    (root / "t").symlink_to(outside)
    with pytest.raises(PatchError, match="symbolic link"):
        write_patch(patch_plan, ConfinedTree(root))
    assert outside.read_text(encoding="utf-8") == "a\n"


COLORS = [
    "\x1b[1m{}\x1b[m",
    "\x1b[1;38;5;4m{}\x1b[0m",
    "\x1b[36m{}\x1b[0m\x1b[K",
    "\x1b[38;2;1;2;3m{}\x1b[m",
]


@pytest.mark.parametrize("color", COLORS)
def test_a_colored_diff_applies(color: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\nb = 2\n")
    diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+b = 3\n"
    lines = [line if line.startswith(" ") else color.format(line) for line in diff.splitlines()]
    apply("\n".join(lines) + "\n", tmp_path)
    assert (tmp_path / "a.py").read_text() == "a = 1\nb = 3\n"


def test_an_escape_sequence_in_code_stays(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('RED = "\x1b[31m"\n')
    apply('--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-RED = "\x1b[31m"\n+RED = "\x1b[91m"\n', tmp_path)
    assert (tmp_path / "a.py").read_text() == 'RED = "\x1b[91m"\n'
