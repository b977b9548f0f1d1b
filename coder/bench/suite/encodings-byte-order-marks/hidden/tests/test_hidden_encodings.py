import codecs

import pytest

from readtext import decode, read

MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("text", ["", "a", "Ledger\n1,2\n", "日本"])
@pytest.mark.parametrize("encoding", MARKS)
def test_every_mark(encoding, text):
    assert decode(MARKS[encoding] + text.encode(encoding)) == text


def test_from_a_file(tmp_path):
    file = tmp_path / "old.txt"
    file.write_bytes(codecs.BOM_UTF32_LE + "x\r\ny".encode("utf-32-le"))
    assert read(file) == "x\ny"
