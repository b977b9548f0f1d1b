"""Sources in encodings other than plain UTF-8: read, edited and restored by the search for repairs."""

import codecs
from pathlib import Path

import pytest

from coder.files.regular_files import read_regular_text, read_texts
from coder.python.source import decode_source
from coder.repair.localization import read_source

CODE = 'NAME = "caf\u00e9"\n\n\ndef total(values):\n    return sum(values[1:])\n'
ENCODINGS = {
    "utf-8": CODE.encode(),
    "utf-8-sig": codecs.BOM_UTF8 + CODE.encode(),
    "mark and cookie": codecs.BOM_UTF8 + f"# coding: utf-8\n{CODE}".encode(),
    "latin-1": f"# -*- coding: latin-1 -*-\n{CODE}".encode("latin-1"),
    "cp1252, second line": f"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\n{CODE}".encode(
        "cp1252"
    ),
    "iso-8859-15": f"# coding=iso-8859-15\n{CODE}".encode("iso-8859-15"),
    "carriage returns": f"# coding: latin-1\n{CODE}".replace("\n", "\r\n").encode("latin-1"),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_reader_decodes_a_source_alike(tmp_path: Path, name: str) -> None:
    data = ENCODINGS[name]
    (tmp_path / "a.py").write_bytes(data)
    text, encoding = decode_source(data)
    assert 'NAME = "caf\u00e9"' in text
    assert text.encode(encoding) == data
    source = read_source(tmp_path, "a.py")
    assert source is not None and [function.name for function in source.functions] == ["total"]
    assert source.text == text == read_regular_text(tmp_path / "a.py")
    assert read_texts(tmp_path, ["a.py"])["a.py"] == text


@pytest.mark.parametrize(
    "data", [b"# coding: nonsense\nA = 1\n", b'A = "\xe9"\n', b"# coding: ascii\nA = '\xe9'\n"]
)
def test_a_wrong_encoding_is_no_source_but_still_text(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.py").write_bytes(data)
    assert read_source(tmp_path, "a.py") is None
    assert "A = " in read_regular_text(tmp_path / "a.py")


def test_reads_data_in_utf_16(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes("name;caf\u00e9\n".encode("utf-16"))
    assert read_regular_text(tmp_path / "data.csv") == "name;caf\u00e9\n"


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5_000,
        "x = " + "-" * 200_000 + "1",
        "x = " + "(" * 5_000 + ")" * 5_000,
        "a" + ".b" * 200_000,
    ],
)
def test_code_that_nests_too_deep_is_no_source(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text)
    assert read_source(tmp_path, "a.py") is None
