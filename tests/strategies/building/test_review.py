from pathlib import Path

import pytest

from coder.core.notes import Component, ReviewFinding
from coder.strategies.build_review import find_component_faults, group_findings
from tests.builders import write

WORDS = Component(
    name="words",
    purpose="Splits text.",
    path="tally/words.py",
    api=("def split(text: str) -> list[str]", "Words.count() -> int", "LIMIT = 3"),
    tests=("tests/test_words.py",),
)
COUNTS = Component(
    name="counts",
    purpose="Counts words.",
    path="tally/counts.py",
    dependencies=("words",),
    tests=("tests/test_counts.py",),
)
GOOD = {
    "tally/words.py": "LIMIT = 3\nclass Words: ...\ndef split(text): ...\n",
    "tally/counts.py": "from tally.words import split\nfrom .words import Words\nimport json\n",
    "tests/test_words.py": "from tally import words\n",
    "tests/test_counts.py": "import tally.counts\nimport pytest\n",
}


def faults(tree: Path, files: dict[str, str]) -> list[tuple[str, str]]:
    write(tree, files)
    return [(finding.place, finding.text) for finding in find_component_faults((WORDS, COUNTS), tree)]


def test_parts_that_fit_have_no_faults(tmp_path: Path) -> None:
    assert faults(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("change", "place", "text"),
    [
        (
            {"tally/counts.py": "\nfrom tally.words import splits\n"},
            "tally/counts.py:2",
            "tally.words defines no splits.",
        ),
        (
            {"tally/words.py": "LIMIT = 3\nclass Words: ...\nfrom tally.word import split\n"},
            "tally/words.py:3",
            "There is no module tally.word.",
        ),
        (
            {"tally/words.py": "class Words: ...\nfrom os import sep as split\n"},
            "tally/words.py",
            "The plan's `LIMIT = 3` is not defined.",
        ),
    ],
)
def test_faults_name_place_and_reason(tmp_path: Path, change: dict[str, str], place: str, text: str) -> None:
    assert faults(tmp_path, {**GOOD, **change}) == [(place, text)]


def test_missing_component_is_no_fault_of_those_that_need_it(tmp_path: Path) -> None:
    files = {path: text for path, text in GOOD.items() if "words" not in path}
    assert faults(tmp_path, files) == [
        ("tests/test_words.py", "tests/test_words.py does not exist."),
        ("tally/words.py", "tally/words.py does not exist."),
    ]


def test_module_of_the_project_is_known_to_its_package(tmp_path: Path) -> None:
    package = Component(
        name="package", purpose="x", path="tally/__init__.py", tests=("tests/test_package.py",)
    )
    files = {
        "tally/__init__.py": "from tally import old\n",
        "tally/old.py": "",
        "tests/test_package.py": "from tally import old, new\n",
    }
    write(tmp_path, files)
    found = find_component_faults((package,), tmp_path)
    assert [finding.text for finding in found] == ["tally defines no new."]


def test_groups_findings_by_owner_of_the_file() -> None:
    finding = ReviewFinding(severity="major", path="tests/test_counts.py", text="x")
    other = ReviewFinding(severity="major", path="README.md", text="x")
    assert group_findings((WORDS, COUNTS), [finding, other]) == {"counts": (finding,)}
