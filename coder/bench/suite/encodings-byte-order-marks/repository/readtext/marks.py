"""Byte order marks."""

import codecs

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def by_mark(data):
    """The encoding that a mark at the beginning names, and the mark's length; (None, 0) where there is none."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    return None, 0
