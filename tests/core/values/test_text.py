import pytest

from coder.core.text import sanitize_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\n\ttext é 漢 🐍", "plain\n\ttext é 漢 🐍"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(B\x1b=\x1b7x", "x"),
        ("a\r\nb", "a\nb"),
        ("\x00\x07\x08\x7f\x9b", "�����"),
        ("a\u2028b\x0cc", "a�b�c"),
        ("\x1b", "�"),
        ("fix \u202egnp.exe\u202c \u2066x\u2069 \u200fy", "fix �gnp.exe� �x� �y"),
        ("half \ud800 and \udce9", "half � and �"),
    ],
)
def test_keeps_only_visible_characters(text: str, expected: str) -> None:
    assert sanitize_text(text) == expected
