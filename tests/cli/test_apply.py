"""`coder apply` with a diff from anywhere (sessions: tests/test_command_line.py)."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.cli.verify import read_diff
from coder.core.events import FilesChanged, NoteMade, Verified
from coder.core.notes import Offers
from coder.core.verdict import TestResult, Verdict, VerdictKind
from tests.builders import git, repo, write
from tests.stored_sessions import store_session

BOX = "import math\n\n\ndef area(r):\n    return r * r\n\n\ndef rim(r):\n    return 2 * r\n"
FIXED = BOX.replace("r * r", "math.pi * r * r")
DIFF = "--- a/src/box.py\n+++ b/src/box.py\n@@ -5 +5 @@\n-    return r * r\n+    return math.pi * r * r\n"
GIT_DIFF = f"diff --git a/src/box.py b/src/box.py\n{DIFF}"
RED = TestResult(id="test_box.py::test_area", outcome="failed")
TOLD = "src/box.py  +1 -1\n"


@dataclass(frozen=True, kw_only=True)
class Answer:
    code: int
    out: str
    err: str


Coder = Callable[..., Answer]


@pytest.fixture
def coder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Coder:
    """Return the program in this process, started in `tmp_path / "r"`; `pasted` is its standard input."""
    write(tmp_path / "r", {"src/box.py": BOX, "src/notes.txt": "one\n"})
    monkeypatch.chdir(tmp_path / "r")

    def run_coder(*arguments: str, pasted: str | bytes = "") -> Answer:
        data = pasted.encode() if isinstance(pasted, str) else pasted
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        code = run_command_line(["apply", *arguments])
        output = capsys.readouterr()
        return Answer(code=code, out=output.out, err=output.err)

    return run_coder


def box_source() -> str:
    return Path("src/box.py").read_text(encoding="utf-8")


def test_applies_and_undoes_diff_file(coder: Coder, tmp_path: Path) -> None:
    write(tmp_path, {"fix.diff": DIFF})
    assert coder(str(tmp_path / "fix.diff")).out.startswith(TOLD)
    assert box_source() == FIXED
    assert coder("--reverse", str(tmp_path / "fix.diff")).out.startswith(TOLD)
    assert box_source() == BOX
    answer = coder("-R", str(tmp_path / "fix.diff"))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.endswith("Nothing was written.\n")
    assert box_source() == BOX


def test_check_reports_outcome_and_writes_nothing(coder: Coder) -> None:
    assert coder("--check", pasted=DIFF) == Answer(
        code=0, out=f"{TOLD}1 file would be changed; nothing was written.\n", err=""
    )
    assert coder("--check", pasted=DIFF.replace("-    return r", "-    return x")).code == 2
    assert box_source() == BOX


def test_names_hunks_that_are_there_already(coder: Coder) -> None:
    repo(Path(), {"notes.txt": "two\n"})
    answer = coder(pasted="--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-one\n+two\n" + DIFF)
    assert answer.out == (
        f"{TOLD}notes.txt: hunk 1 is there already.\n1 file changed; nothing was staged or committed.\n"
    )


def test_keeps_uncommitted_work_and_index(coder: Coder) -> None:
    root = repo(Path(), {"a.txt": "a\n"})
    write(root, {"src/box.py": BOX.replace("2 * r", "2 * r  # mine"), "a.txt": "mine\n"})
    git(root, "add", "a.txt")
    index = (root / ".git" / "index").read_bytes()
    assert coder(pasted=DIFF).code == 0
    assert box_source() == FIXED.replace("2 * r", "2 * r  # mine")
    assert (root / ".git" / "index").read_bytes() == index


def test_resolves_names_from_repository_root_then_directory(
    coder: Coder, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repo(Path(), {"one/lib/box.py": BOX, "two/lib/box.py": BOX})
    monkeypatch.chdir("two")
    assert coder(pasted=DIFF).out.startswith(TOLD)
    assert coder(pasted=DIFF.replace("src/", "lib/")).out.startswith("lib/box.py  +1 -1\n")
    changed_files = [
        name
        for name in ("src", "one/lib", "two/lib")
        if (root / name / "box.py").read_text(encoding="utf-8") == FIXED
    ]
    assert changed_files == ["src", "two/lib"]


def test_python_that_no_longer_parses_is_a_warning(coder: Coder) -> None:
    answer = coder(pasted=DIFF.replace("math.pi * r * r", "(math.pi"))
    assert (answer.code, answer.err) == (
        0,
        "Warning: Python no longer parses. src/box.py:5: '(' was never closed\n    5|     return (math.pi\n",
    )
    assert "(math.pi" in box_source()


def test_bare_word_is_session_unless_file_exists(coder: Coder) -> None:
    root = repo(Path(), {"last": DIFF})
    assert coder("last").code == 0
    assert box_source() == FIXED
    assert coder("session:last") == Answer(
        code=2, out="", err=f"coder: No session with a fix to apply or undo in {root}.\n"
    )
    assert "No session named 'nope'" in coder("nope").err
    assert "No session named 'coder/nope-1'" in coder("coder/nope-1").err


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("fix.diff", "coder: There is no file 'fix.diff'."),
        ("src/fix", "coder: There is no file 'src/fix'."),
        ("src", "coder: 'src' cannot be read: Is a directory."),
        ("nul\0", "coder: 'nul\\x00' cannot be read: "),
        ("--repo=nowhere", "coder: nowhere is not a directory"),
    ],
)
def test_reports_unreadable_input(coder: Coder, path: str, message: str) -> None:
    answer = coder(path, pasted=DIFF)
    assert answer.code == 2
    assert answer.err.startswith(message)


@pytest.mark.parametrize("text", ["", "\n", "I would rather not.\n"])
def test_refuses_text_without_diff(coder: Coder, text: str) -> None:
    answer = coder(pasted=text)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("coder: ") and "diff" in answer.err


def test_file_content_cannot_control_terminal(coder: Coder) -> None:
    write(Path(), {"src/box.py": "\x1b[31m\x9b2J# red\ndef area(r):\n    return r\n"})
    answer = coder(
        pasted=(
            "--- a/src/box.py\n+++ b/src/box.py\n@@ -1,3 +1,3 @@\n # red\n def area(r):\n-    return x\n"
            "+    return y\n"
        )
    )
    assert "# red" in answer.err
    assert not {"\x1b", "\x9b"} & set(answer.err)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_reads_diff_in_its_encoding(coder: Coder, encoding: str) -> None:
    Path("src/notes.txt").write_bytes("café\n".encode("latin-1"))
    diff = "--- a/src/notes.txt\n+++ b/src/notes.txt\n@@ -1 +1 @@\n-café\n+crème\n"
    repo(Path(), {})
    Path("fix.diff").write_bytes(diff.encode(encoding))
    assert read_diff("fix.diff", Path()) == diff
    assert coder(pasted=diff.encode(encoding)).code == 0
    assert Path("src/notes.txt").read_bytes() == "crème\n".encode("latin-1")


def test_applies_attempt_of_a_session_by_its_number(coder: Coder, tmp_path: Path) -> None:
    root = repo(Path(), {})
    verdict = Verdict(kind=VerdictKind.PASSING, reason="It is still red.", still_red=(RED,))
    changed = FilesChanged(candidate="c1", paths=("src/box.py",), diff=GIT_DIFF)
    judged = Verified(candidate="c1", attempt=1, verdict=verdict)
    store_session(root, "20260101-abcd", judged, changed, judged)
    assert coder("--attempt", "2", "--check").out.endswith("nothing was written.\n")
    assert box_source() == BOX
    answer = coder("abcd", "--attempt", "2")
    assert (answer.code, box_source()) == (0, FIXED)
    assert answer.out.endswith("Attempt 2 was NOT FIXED: It is still red. Judge it: coder verify\n")
    assert coder("--attempt", "2", "-R").code == 0
    assert box_source() == BOX
    assert "there is no attempt 3" in coder("--attempt", "3").err
    assert "--verify" in coder("--attempt", "2", "--verify").err


def test_applies_candidate_that_a_search_offered(coder: Coder) -> None:
    root = repo(Path(), {})
    offers = Offers(summary="the tests do not decide between 2 edits", diffs=("", GIT_DIFF))
    store_session(root, "20260101-abcd", NoteMade(candidate="c1", phase="locate", note=offers))
    answer = coder("last", "--candidate", "2")
    assert (answer.code, box_source()) == (0, FIXED)
    assert answer.out.endswith("Candidate 2 passes the tests. Judge it: coder verify\n")
    assert "there is no candidate 3" in coder("last", "--candidate", "3").err
    assert "--candidate" in coder("last", "--candidate", "2", "--attempt", "1").err
    store_session(root, "20260102-abcd")
    assert "offered no edits" in coder("last", "--candidate", "1").err
