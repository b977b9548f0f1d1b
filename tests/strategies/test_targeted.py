from coder.core.notes import Finding
from coder.strategies.targeted import _changed, _spans  # what is allowed is decided here, and seen from outside as `taken back` alone

TEXT = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


def spans(line: int, text: str = TEXT) -> list[int]:
    finding = Finding(severity="major", path="a.py", line=line, text="wrong")
    return sorted({number for span in _spans(finding, text) for number in span})


def test_the_definition_around_a_flagged_line_may_change() -> None:
    assert spans(5) == [4, 5, 6]


def test_without_a_definition_the_lines_nearby_may() -> None:
    assert (min(spans(20, "x = 1\n" * 40)), max(spans(20, "x = 1\n" * 40))) == (12, 28)


def test_without_a_line_the_whole_file_may() -> None:
    assert spans(0) == list(range(11))


def test_changed_lines_are_counted_as_they_were() -> None:
    assert list(_changed(TEXT, TEXT.replace("return 2", "return 3"))) == [9]
    assert list(_changed(TEXT, TEXT.replace("def second", "def between():\n    return 0\n\n\ndef second"))) == [8]


def test_a_new_import_is_allowed_anywhere() -> None:
    assert list(_changed(TEXT, TEXT.replace("import os\n", "import os\nimport re\n"))) == []
