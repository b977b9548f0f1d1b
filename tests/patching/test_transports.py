"""Diffs as they arrive by mail, web forms and Mercurial."""

from pathlib import Path

import pytest

from coder.patching import PatchError, apply

# ruff: noqa: E501 - rows of a table
BEFORE = "def total(values):\n    result = 0\n    for index in range(1, len(values)):\n        result += values[index]\n    return result\n"  # fmt: skip
FIXED = BEFORE.replace("range(1, ", "range(")
HEADER = "--- a/calc.py\n+++ b/calc.py\n"
HUNK = """@@ -1,5 +1,5 @@
 def total(values):
     result = 0
-    for index in range(1, len(values)):
+    for index in range(len(values)):
         result += values[index]
     return result
"""
BODY = f"Sum = all.\n\n---\n calc.py | 2 +-\n\ndiff --git a/calc.py b/calc.py\n{HEADER}{HUNK}-- \n2.39.2\n\n"
MAIL = "From {} Mon Sep 17 00:00:00 2001\nFrom: A <a@example.com>\nSubject: [PATCH] fix\n".format("1" * 40)
PLAIN = "Content-Type: text/plain; charset=UTF-8"
ENCODED = "Content-Transfer-Encoding: "
COPY = "diff --git a/calc.py b/sum.py\nsimilarity index 90%\ncopy from calc.py\ncopy to sum.py\n"
CRLF = BEFORE.replace("\n", "\r\n")


def line_ends(old: str, new: str) -> str:
    lines = BEFORE.splitlines()
    body = "".join([*(f"-{line}{old}" for line in lines), *(f"+{line}{new}" for line in lines)])
    return f"diff --git a/calc.py b/calc.py\n{HEADER}@@ -1,5 +1,5 @@\n{body}"


@pytest.mark.parametrize(
    ("diff", "before", "after"),
    [
        (f"{MAIL}{PLAIN}\n{ENCODED}8bit\n\n{BODY}", BEFORE, {"calc.py": FIXED}),
        ("On Monday, A wrote:\n" + BODY.replace("\n", "\n> "), BEFORE, {"calc.py": FIXED}),
        ("".join(f"> {line}".rstrip() + "\n" for line in BODY.splitlines()), BEFORE, {"calc.py": FIXED}),
        (f"Try this:\n\n```diff\n{HEADER}{HUNK}```\nIt works.\n", BEFORE, {"calc.py": FIXED}),
        (f"# HG changeset patch\n# User A\nfix\n\ndiff -r 01 calc.py\n{HEADER}{HUNK}", BEFORE, {"calc.py": FIXED}),
        (HEADER + HUNK, BEFORE.replace("= 0", "= 0  "), {"calc.py": FIXED.replace("= 0", "= 0  ")}),
        (HEADER + HUNK, BEFORE[:-1], {"calc.py": FIXED[:-1]}),
        (COPY + HEADER.replace("b/calc", "b/sum") + HUNK, BEFORE, {"calc.py": BEFORE, "sum.py": FIXED}),
        (COPY, BEFORE, {"calc.py": BEFORE, "sum.py": BEFORE}),
        (line_ends("\r\n", "\n"), CRLF, {"calc.py": BEFORE}),
        (line_ends("\n", "\r\n"), BEFORE, {"calc.py": CRLF}),
        (line_ends("\r\n", "\n").replace("+    for index in range(1, ", "+    for index in range("), CRLF, {"calc.py": FIXED}),
        (HEADER + HUNK.replace("\n", "\r\n"), CRLF, {"calc.py": FIXED.replace("\n", "\r\n")}),
    ],
)  # fmt: skip
def test_diff_arrives_whole(tmp_path: Path, diff: str, before: str, after: dict[str, str]) -> None:
    (tmp_path / "calc.py").write_bytes(before.encode())
    apply(diff, tmp_path)
    assert {path.name: path.read_bytes().decode() for path in tmp_path.iterdir()} == after


@pytest.mark.parametrize(
    ("diff", "reason"),
    [
        (f"diff --cc calc.py\n{HEADER}@@@ -1,5 -1,5 +1,5 @@@\n  def total(values):\n- -    x\n++    y\n", "combined"),
        ("*** calc.py\n--- calc.py\n***************\n*** 1,2 ****\n! a\n--- 1,2 ----\n! b\n", "context or normal"),
        (f"{MAIL}{PLAIN}\n{ENCODED}quoted-printable\n\n{BODY}", "Decode it first"),
        (f"Subject: x\r\n{ENCODED}BASE64\r\n\r\nZGlmZg==\r\n", "Decode it first"),
        (f"{MAIL}Content-Type: multipart/mixed; boundary=b\n\n--b\n{BODY}", "Decode it first"),
        (f"{MAIL}{PLAIN};\n format=flowed\n\n{BODY}", "Decode it first"),
        ("3c3\n< a\n---\n> b\n", "context or normal"),
        (f"{HEADER}@@ -2,1 +2,1 @@\n-    result = 0\n+    result = 0\n", "changes nothing"),
    ],
)  # fmt: skip
def test_refuses_what_no_change_follows_from(tmp_path: Path, diff: str, reason: str) -> None:
    (tmp_path / "calc.py").write_text(BEFORE, encoding="utf-8")
    with pytest.raises(PatchError, match=reason):
        apply(diff, tmp_path)


def test_copy_is_taken_back(tmp_path: Path) -> None:
    (tmp_path / "calc.py").write_text(BEFORE, encoding="utf-8")
    apply(COPY, tmp_path)
    apply(COPY, tmp_path, reverse=True)
    assert [path.name for path in tmp_path.iterdir()] == ["calc.py"]
