import codecs

import pytest

from readtext import decode
from readtext.guessing import guess

MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("encoding", MARKS)
def test_marks(encoding):
    assert decode(MARKS[encoding] + "Größe".encode(encoding)) == "Größe"


def test_guess():
    assert guess("Größe".encode()) == "utf-8"
    assert guess("Größe".encode("cp1252")) == "cp1252"
    assert guess(b"\x81") == "latin-1"
