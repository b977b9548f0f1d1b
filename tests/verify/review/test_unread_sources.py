"""Sources that run and cannot be read as what they are."""

from pathlib import Path

import pytest

from coder.verify.checks.review import _unread_sources
from coder.verify.trees import LARGEST


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x = 1\n", ""),
        (b"# coding: latin-1\nx = '\xe9'\n", ""),
        (b"\xef\xbb\xbfx = 1\n", ""),
        (b"# -*- coding: utf-7 -*-\nx = 1\n", "is written in utf-7"),
        (b"# coding: unicode_escape\nx = 1\n", "is written in unicode"),
        (b"# coding: raw_unicode_escape\nx = 1\n", "is written in raw"),
        (b"#" * LARGEST, "is too large"),
    ],
)
def test_tells_which_sources_are_not_read(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.py").write_bytes(data)
    (tmp_path / "link.py").symlink_to("a.py")
    found = list(_unread_sources(tmp_path, ["a.py", "gone.py", "b.txt"]))
    assert [reason in line for line in found] == [True] * bool(reason)
    assert "link.py is a link" in next(iter(_unread_sources(tmp_path, ["link.py"])))
