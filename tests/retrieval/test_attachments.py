from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.core.values.task import Attachment
from coder.index.index import SymbolIndex
from coder.retrieval.attachments import MOST_LINES, attach_mentions

BOX = """\
class Box:
    def size(self):
        return 1


def size():
    return 2
"""


def attach(text: str, root: Path) -> tuple[Attachment, ...]:
    return attach_mentions(text, root, SymbolIndex(root))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src" / "box.py").write_text(BOX)
    (root / "my notes.md").write_text("first\nsecond\n")
    (root / "shot.png").write_bytes(b"\x89PNG\0")
    (root / ".env").write_text("KEY=1\n")
    (tmp_path / "outside.txt").write_text("secret\n")
    return root


def test_attaches_files_and_symbols_in_order(root: Path) -> None:
    assert attach('Compare @"my notes.md" with @Box.size, @size().', root) == (
        Attachment(name="my notes.md (2 lines)", text="    1| first\n    2| second"),
        Attachment(name="Box.size, src/box.py:2", text="    2|     def size(self):\n    3|         return 1"),
        Attachment(name="size, src/box.py:6", text="    6| def size():\n    7|     return 2"),
    )


def test_sentence_mark_after_a_path_is_no_part_of_it(root: Path) -> None:
    assert [attachment.name for attachment in attach("Look at @src/box.py.", root)] == [
        "src/box.py (7 lines)"
    ]


@pytest.mark.parametrize(
    "text", ["ada@src/box.py", "@property and @nobody", "@../outside.txt", "@src", "@.git/config", "x @ y"]
)
def test_other_words_attach_nothing(text: str, root: Path) -> None:
    assert attach(text, root) == ()


def test_link_out_of_the_repository_attaches_nothing(root: Path) -> None:
    (root / "link.txt").symlink_to(root.parent / "outside.txt")
    assert attach("@link.txt", root) == ()


@pytest.mark.parametrize(("name", "reason"), [(".env", "is private"), ("shot.png", "is no text")])
def test_refuses_private_and_binary_files(name: str, reason: str, root: Path) -> None:
    with pytest.raises(UserError, match=reason):
        attach(f"see @{name}", root)


def test_file_that_the_worktree_lacks_comes_from_the_checkout(root: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "src").mkdir(parents=True)
    (checkout / "new.txt").write_text("new\n")
    (checkout / "src" / "box.py").write_text("old\n")
    found = attach_mentions("@new.txt @src/box.py", root, SymbolIndex(root), checkout=checkout)
    assert [attachment.name for attachment in found] == ["new.txt (1 line)", "src/box.py (7 lines)"]


def test_tree_that_cannot_be_listed_attaches_no_symbol(root: Path) -> None:
    assert attach_mentions("@Box.size", root, SymbolIndex(root / "absent")) == ()


def test_long_file_is_cut_and_says_so(root: Path) -> None:
    (root / "long.txt").write_text("x\n" * (MOST_LINES + 2))
    (attachment,) = attach("@long.txt", root)
    assert attachment.text.endswith(f"  {MOST_LINES}| x\n[2 lines more]")
