from pathlib import Path

from coder.core.notes import ReviewFinding
from coder.strategies.review import changed_lines, editable_lines, group_independent_findings

TEXT = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


def finding(line: int, path: str = "a.py") -> ReviewFinding:
    return ReviewFinding(severity="major", path=path, line=line, text="wrong")


def spans(line: int, text: str = TEXT) -> list[int]:
    return [*editable_lines(finding(line), text)]


def test_allows_edits_in_definition_around_finding() -> None:
    assert spans(5) == [4, 5, 6]


def test_allows_edits_near_finding_without_definition() -> None:
    assert (min(spans(20, "x = 1\n" * 40)), max(spans(20, "x = 1\n" * 40))) == (12, 28)


def test_finding_without_line_allows_whole_file() -> None:
    assert spans(0) == list(range(11))


def test_counts_changed_lines_in_old_file() -> None:
    assert list(changed_lines(TEXT, TEXT.replace("return 2", "return 3"))) == [9]
    assert list(
        changed_lines(TEXT, TEXT.replace("def second", "def between():\n    return 0\n\n\ndef second"))
    ) == [8]


def test_allows_new_import_anywhere() -> None:
    assert list(changed_lines(TEXT, TEXT.replace("import os\n", "import os\nimport re\n"))) == []


def test_separates_findings_without_common_lines(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    (tmp_path / "b.py").write_text(TEXT)
    first, second, again, other = finding(5), finding(9), finding(4), finding(5, "b.py")
    assert group_independent_findings(tmp_path, (second, other, first, again)) == (
        (first, again),
        (second,),
        (other,),
    )
    assert group_independent_findings(tmp_path, (first, second, finding(0))) == ((finding(0), first, second),)
    assert group_independent_findings(tmp_path, (finding(0, "gone.py"), first)) == (
        (first,),
        (finding(0, "gone.py"),),
    )


def test_groups_nearby_lines_without_definition(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 60)
    assert group_independent_findings(tmp_path, (finding(10), finding(20), finding(50))) == (
        (finding(10), finding(20)),
        (finding(50),),
    )
