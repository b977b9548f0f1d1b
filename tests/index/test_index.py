"""Symbol index: it follows changes, shares equal content, and survives damage to its database."""

import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from coder.files.tokenize import count_terms
from coder.index import parsing
from coder.index.index import SymbolIndex
from coder.index.parsing import IN_NAME
from coder.index.snapshot import IndexSnapshot
from tests.builders import write

BOX = (
    "import os\n\n\nclass Box(Base):\n    def size_of(self):\n        return os.sep\n\n\ndef helper():\n"
    "    return Box().size_of()\n"
)


def age_files(root: Path) -> None:
    """Set old modification times: the index never trusts those of recently written files."""
    past = time.time() - 100
    for path in (root, *root.rglob("*")):
        os.utime(path, (past, past))


def names(snapshot: IndexSnapshot, path: str) -> list[str]:
    return [definition.name for definition in snapshot.definitions(path)]


def test_document_words_come_from_own_lines(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": BOX})
    snapshot = SymbolIndex(tmp_path).refresh()
    counts = {}
    for entry in snapshot.postings("size"):
        (place,) = snapshot.document_places(entry >> 8)
        counts[place.definition and place.definition.name] = (
            entry & 127,
            bool(entry & IN_NAME),
            snapshot.lengths[entry >> 8],
        )
    method, rest = (
        "    def size_of(self):\n        return os.sep",
        "def helper():\n    return Box().size_of()",
    )
    assert counts == {
        "Box.size_of": (1, True, count_terms(method).total()),
        "helper": (1, False, count_terms(rest).total()),
    }


def test_sees_added_removed_and_changed_files(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "def one(): ...\n", "d/b.py": "def two(): ...\n", ".git/HEAD": ""})
    age_files(tmp_path)
    index = SymbolIndex(tmp_path)
    before = index.refresh()
    assert index.refresh() is before
    (tmp_path / "a.py").write_text("def four(): ...\n", encoding="utf-8")
    assert names(index.refresh(), "a.py") == ["four"]
    (tmp_path / "d/b.py").unlink()
    assert "d/b.py" not in index.refresh().paths
    (tmp_path / "new").mkdir()
    index.refresh()
    (tmp_path / "new/c.py").write_text("def five(): ...\n", encoding="utf-8")
    assert names(index.refresh(), "new/c.py") == ["five"]
    (tmp_path / ".gitignore").write_text("new\n", encoding="utf-8")
    assert "new/c.py" not in index.refresh().paths
    assert index.refresh().definitions_named("one") == ()


def test_detects_recent_change_with_same_size_and_time(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "def one(): ...\n"})
    index = SymbolIndex(tmp_path)
    status = (tmp_path / "a.py").stat()
    index.refresh()
    (tmp_path / "a.py").write_text("def two(): ...\n", encoding="utf-8")
    os.utime(tmp_path / "a.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert names(index.refresh(), "a.py") in (["one"], ["two"])
    (tmp_path / "a.py").write_text("def six(): ...\n", encoding="utf-8")
    assert names(index.refresh(), "a.py") == ["six"]


def test_worktree_shares_content_of_base(tmp_path: Path) -> None:
    files = {"a.py": BOX, "b.py": "def b(): ...\n"}
    write(tmp_path / "base", files)
    write(tmp_path / "worktree", {**files, "b.py": "def changed(): ...\n"})
    database = tmp_path / "state" / "index.sqlite"
    base = SymbolIndex(tmp_path / "base", database).refresh()
    worktree = SymbolIndex(tmp_path / "worktree", database).refresh()
    assert worktree.sources["a.py"] == base.sources["a.py"]
    assert worktree.sources["b.py"] != base.sources["b.py"]
    assert names(worktree, "b.py") == ["changed"]
    assert [place.path for place in base.definitions_named("changed")] == []
    assert [place.path for place in worktree.definitions_named("b")] == []


def test_another_process_reuses_database(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.py": BOX})
    age_files(tmp_path / "tree")
    database = tmp_path / "index.sqlite"
    first = SymbolIndex(tmp_path / "tree", database).refresh()
    again = SymbolIndex(tmp_path / "tree", database).refresh()
    assert again.sources == first.sources
    assert again.definitions("a.py") == first.definitions("a.py")


@pytest.mark.parametrize("damage", [b"", b"this is no database, but long enough to be read as one. " * 100])
def test_rebuilds_damaged_database(tmp_path: Path, damage: bytes) -> None:
    write(tmp_path / "tree", {"a.py": BOX})
    database = tmp_path / "index.sqlite"
    SymbolIndex(tmp_path / "tree", database).refresh().database.close()
    database.write_bytes(damage)
    assert names(SymbolIndex(tmp_path / "tree", database).refresh(), "a.py") == [
        "Box",
        "Box.size_of",
        "helper",
    ]


def test_repairs_page_corrupted_while_open(tmp_path: Path) -> None:
    write(tmp_path / "tree", {f"m{number}.py": f"def name_{number}(): ...\n" * 50 for number in range(60)})
    database = tmp_path / "index.sqlite"
    SymbolIndex(tmp_path / "tree", database).refresh().database.close()
    data = bytearray(database.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    database.write_bytes(bytes(data))
    index = SymbolIndex(tmp_path / "tree", database)
    index.refresh().definitions_named("name_1")
    assert [place.path for place in index.refresh().definitions_named("name_1")][:1] == ["m1.py"]


def test_older_format_uses_new_database(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.py": BOX})
    database = tmp_path / "index.sqlite"
    first = SymbolIndex(tmp_path / "tree", database).refresh()
    epoch = first.database.epoch
    first.database.close()
    connection = sqlite3.connect(database)
    connection.execute("UPDATE meta SET format = 'of an older version'")
    connection.commit()
    connection.close()
    again = SymbolIndex(tmp_path / "tree", database).refresh()
    assert again.database.epoch != epoch
    assert names(again, "a.py") == ["Box", "Box.size_of", "helper"]


def test_removed_content_does_not_accumulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.index.index.SPARE_CONTENTS", 5)
    write(tmp_path / "tree", {"a.py": BOX, "b.py": ""})
    index = SymbolIndex(tmp_path / "tree", tmp_path / "index.sqlite")
    for number in range(30):
        (tmp_path / "tree" / "b.py").write_text(
            f"def name_{number}(): ...\n" * (number + 1), encoding="utf-8"
        )
        snapshot = index.refresh()
        assert names(snapshot, "b.py")[0] == f"name_{number}"
        assert names(snapshot, "a.py") == ["Box", "Box.size_of", "helper"]
    assert snapshot.database.content_count < 15


def test_threads_share_one_index(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": BOX})
    index = SymbolIndex(tmp_path)
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(len(index.refresh().uses_of_name("size_of"))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1, 1, 1, 1]


def fail_in_this_process(files: object) -> None:
    raise AssertionError("a worker process failed, and its batch was parsed here")


def test_processes_and_single_thread_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    write(
        tree,
        {
            f"m{number}.py": f"class C{number}(Base):\n    def run(self):\n        return helper({number})\n"
            for number in range(12)
        },
    )
    alone = SymbolIndex(tree, tmp_path / "alone.sqlite").refresh()
    monkeypatch.setattr(parsing, "SMALL_BYTES", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(parsing, "parse_files", fail_in_this_process)
    together = SymbolIndex(tree, tmp_path / "together.sqlite").refresh()
    for index in (alone, together):
        assert len(index.uses_of_name("helper")) == 12
    assert together.definitions_named("run") == alone.definitions_named("run")
    assert together.uses_of_name("helper") == alone.uses_of_name("helper")
    assert list(together.lengths) == list(alone.lengths)
    assert sorted(
        place.path for entry in together.postings("helper") for place in together.document_places(entry >> 8)
    ) == sorted(
        place.path for entry in alone.postings("helper") for place in alone.document_places(entry >> 8)
    )


def test_skips_binary_and_large_files(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": BOX, "large.py": "x = 1\n" * 400_000, "empty.py": ""})
    (tmp_path / "binary.py").write_bytes(b"def a(): ...\n\0")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("def odd(): ...\n", encoding="utf-8")
    snapshot = SymbolIndex(tmp_path, tmp_path / "state" / "index.sqlite").refresh()
    assert [os.fsencode(path) for path in snapshot.sources] == [b"a.py", b"binary.py", b"caf\xe9.py"]
    assert names(snapshot, "binary.py") == []
    assert [place.path for place in snapshot.definitions_named("odd")] == [os.fsdecode(b"caf\xe9.py")]


def test_skips_installed_packages_in_tree(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": BOX,
            ".venv/lib/python3.11/site-packages/odd.py": "def odd(): ...\n",
            ".github/tell.py": "def tell(): ...\n",
        },
    )
    snapshot = SymbolIndex(tmp_path, tmp_path / "state" / "index.sqlite").refresh()
    assert [*snapshot.sources] == [".github/tell.py", "a.py"]
