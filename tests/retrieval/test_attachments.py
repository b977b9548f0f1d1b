from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.core.events import Attachment
from coder.core.values import Image
from coder.index.index import SymbolIndex
from coder.models.scripted import ScriptedModel
from coder.retrieval.attachments import LARGEST_IMAGE_BYTES, attach_mentions, refuse_images

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
    (root / "archive.zip").write_bytes(b"PK\0")
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


@pytest.mark.parametrize(
    ("name", "reason"), [(".env", "is private"), ("archive.zip", "is neither text nor an image")]
)
def test_refuses_private_and_binary_files(name: str, reason: str, root: Path) -> None:
    with pytest.raises(UserError, match=reason):
        attach(f"see @{name}", root)


def test_refuses_large_images_and_files(root: Path) -> None:
    (root / "shot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(LARGEST_IMAGE_BYTES))
    with pytest.raises(UserError, match=r"The image shot\.png has more than 3\.7 MB, so nothing"):
        attach("@shot.png", root)
    (root / "dump.txt").write_bytes(b"x" * 5_000_001)
    with pytest.raises(UserError, match=r"dump\.txt has more than 5 MB, so nothing is attached"):
        attach("@dump.txt", root)


def test_images_are_refused_by_name_where_the_model_accepts_none() -> None:
    text = Attachment(name="a.py (1 line)", text="x")
    image = Image(name="shot.png", media_type="image/png", base64="eA==")
    attachments = (text, Attachment(name="shot.png (image, 1 kB)", text="", image=image))
    assert refuse_images(attachments, ScriptedModel((), name="acme:m")) == (
        (text,),
        ("acme:m does not accept images; shot.png is not attached.",),
    )
    assert refuse_images(attachments, ScriptedModel((), accepts_images=True)) == (attachments, ())


def test_file_that_the_worktree_lacks_comes_from_the_checkout(root: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "src").mkdir(parents=True)
    (checkout / "new.txt").write_text("new\n")
    (checkout / "src" / "box.py").write_text("old\n")
    found = attach_mentions("@new.txt @src/box.py", root, SymbolIndex(root), checkout=checkout)
    assert [attachment.name for attachment in found] == ["new.txt (1 line)", "src/box.py (7 lines)"]
