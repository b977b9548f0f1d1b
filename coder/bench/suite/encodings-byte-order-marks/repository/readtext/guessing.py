"""Encodings of data without a mark."""

CANDIDATES = ("utf-8", "cp1252", "latin-1")


def guess(data):
    """The first candidate in which the data can be read; latin-1 can read anything."""
    for encoding in CANDIDATES:
        try:
            data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    raise AssertionError("latin-1 reads anything")
