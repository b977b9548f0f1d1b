"""Changes, refusals and messages of `apply_patch` (matching: tests/patching/test_patching.py)."""

from pathlib import Path

from coder.tools.apply_patch import apply_patch
from tests.tools.fakes import call_refused_tool, call_tool, workspace

BOX = "import math\n\n\ndef area(r):\n    total = r\n    return total\n\n\ndef rim(r):\n    return 2 * r\n"
PATCH = (
    "--- a/box.py\n+++ b/box.py\n@@ @@\n def area(r):\n-    total = r\n+    total = math.pi * r\n"
    "+    total *= r\n     return total\n"
)


def test_reports_new_lines_and_their_place(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"box.py": BOX})
    second = "@@ @@\n def rim(r):\n-    return 2 * r\n+    return 2 * math.pi * r\n"
    assert call_tool(apply_patch, space, diff=PATCH + second) == (
        "box.py: changed, now lines 5-6, 11\nIt parses, and no new undefined name."
    )
    assert (tmp_path / "box.py").read_text(encoding="utf-8").splitlines()[4:6] == [
        "    total = math.pi * r",
        "    total *= r",
    ]


def test_reports_created_deleted_and_renamed_files(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"old.txt": "a\n", "gone.txt": "b\n"})
    diff = (
        "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
        "diff --git a/old.txt b/d/young.txt\nrename from old.txt\nrename to d/young.txt\n"
    )
    assert call_tool(apply_patch, space, diff=diff) == (
        "new.txt: created, 2 lines\ngone.txt: deleted\nold.txt -> d/young.txt: renamed"
    )


def test_refuses_python_that_no_longer_parses(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"box.py": BOX})
    assert call_refused_tool(apply_patch, space, diff=PATCH.replace("math.pi * r", "(math.pi * r")) == (
        "With this patch the file would no longer parse. box.py:5: '(' was never closed\n"
        "    5|     total = (math.pi * r\n"
        "Nothing was written. Send the whole patch again, corrected."
    )
    assert "outside function" in call_refused_tool(
        apply_patch, space, diff="--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+return 1\n"
    )
    assert (tmp_path / "box.py").read_text(encoding="utf-8") == BOX
    assert not (tmp_path / "new.py").exists()


def test_allows_existing_syntax_errors_and_others_on_request(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"box.py": BOX + "{{ template }\n"})
    call_tool(apply_patch, space, diff=PATCH)
    call_tool(
        apply_patch,
        space,
        diff="--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+{{ x }\n",
        allow_syntax_error=True,
    )
    assert (tmp_path / "new.py").read_text(encoding="utf-8") == "{{ x }\n"


def test_writes_only_allowed_paths(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"box.py": BOX}, only=("src", "*.txt"))
    assert call_refused_tool(apply_patch, space, diff=PATCH) == (
        "box.py may not be changed: the person allows changes in src, *.txt only. Nothing was written."
    )
    rename = "diff --git a/box.py b/src/box.py\nrename from box.py\nrename to src/box.py\n"
    assert call_refused_tool(apply_patch, space, diff=rename).startswith("box.py may not be changed")
    call_tool(apply_patch, space, diff="--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1 @@\n+x = 1\n")


def test_explains_unfitting_diff(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"box.py": BOX})
    assert call_refused_tool(
        apply_patch, space, diff=PATCH.replace("-    total = r", "-    total = radius")
    ) == (
        "box.py, hunk 1 of 1: its line '-    total = radius' is not there. The file has, nearest to it:\n"
        "     1| import math\n     2| \n     3| \n     4| def area(r):\n     5|     total = r\n"
        "     6|     return total\n"
        "     7| \n     8| \n"
        "     9| def rim(r):\n"
        "Nothing was written. Send the whole patch again, corrected."
    )


def test_writes_nothing_outside_worktree(tmp_path: Path) -> None:
    space = workspace(tmp_path / "tree", {"box.py": BOX})
    (tmp_path / "tree" / "out").symlink_to(tmp_path)
    for target in ("../x", "/etc/x", ".git/hooks/x", "out/x", ".GIT/x", "sub/.git/x", "~/x", "x" * 3000):
        assert "Nothing was written." in call_refused_tool(
            apply_patch, space, diff=f"--- /dev/null\n+++ {target}\n@@ -0,0 +1 @@\n+x\n"
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]
