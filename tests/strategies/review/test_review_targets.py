from pathlib import Path

from coder.core.notes import Finding
from coder.strategies.review.review_targets import apart, changed, span

TEXT = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


def finding(line: int, path: str = "a.py") -> Finding:
    return Finding(severity="major", path=path, line=line, text="wrong")


def spans(line: int, text: str = TEXT) -> list[int]:
    return [*span(finding(line), text)]


def test_the_definition_around_a_flagged_line_may_change() -> None:
    assert spans(5) == [4, 5, 6]


def test_without_a_definition_the_lines_nearby_may() -> None:
    assert (min(spans(20, "x = 1\n" * 40)), max(spans(20, "x = 1\n" * 40))) == (12, 28)


def test_without_a_line_the_whole_file_may() -> None:
    assert spans(0) == list(range(11))


def test_changed_lines_are_counted_as_they_were() -> None:
    assert list(changed(TEXT, TEXT.replace("return 2", "return 3"))) == [9]
    assert list(
        changed(TEXT, TEXT.replace("def second", "def between():\n    return 0\n\n\ndef second"))
    ) == [8]


def test_a_new_import_is_allowed_anywhere() -> None:
    assert list(changed(TEXT, TEXT.replace("import os\n", "import os\nimport re\n"))) == []


def test_what_touches_no_common_line_is_apart(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    (tmp_path / "b.py").write_text(TEXT)
    first, second, again, other = finding(5), finding(9), finding(4), finding(5, "b.py")
    assert apart(tmp_path, (second, other, first, again)) == ((first, again), (second,), (other,))
    assert apart(tmp_path, (first, second, finding(0))) == ((finding(0), first, second),)
    assert apart(tmp_path, (finding(0, "gone.py"), first)) == ((first,), (finding(0, "gone.py"),))


def test_lines_nearby_without_a_definition_belong_together(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 60)
    assert apart(tmp_path, (finding(10), finding(20), finding(50))) == (
        (finding(10), finding(20)),
        (finding(50),),
    )
