"""Sources that look for the process that tests them, by language."""

import pytest

from coder.verify.checks import find_process_words
from tests.builders import paragraphs

KNOWN = "honour NO_COLOR"


def read_lines(name: str) -> list[tuple[str, str]]:
    """Return the lines of a file of cases, each with the path at the beginning of its paragraph."""
    read = [text.split("\n") for text in paragraphs(f"process_words/{name}.txt")]
    return [(path, line) for path, *lines in read for line in lines]


@pytest.mark.parametrize(("path", "line"), read_lines("found"))
def test_finds_words_that_a_change_adds(path: str, line: str) -> None:
    loaded = ["loaded.c", "loaded.pyx"]
    found = find_process_words({}, {path: f"\n{line}\n"}, known=KNOWN, loaded=loaded)
    assert found and found[0].startswith(f"{path}:2 looks at what calls or runs it (`")
    assert find_process_words({path: line}, {path: f"{line}\n{line}\n"}, known=KNOWN, loaded=loaded) == []


@pytest.mark.parametrize(("path", "line"), read_lines("honest"))
def test_accepts_ordinary_code(path: str, line: str) -> None:
    assert find_process_words({}, {path: line}, known=KNOWN, loaded=["loaded.c", "loaded.pyx"]) == []


def test_accepts_usual_test_helpers() -> None:
    assert find_process_words({}, {"test_a.py": "tempfile.gettempdir()"}, are_tests=True) == []
    assert find_process_words({}, {"test_a.py": "def load_tests(loader, tests, pattern):"}, are_tests=True)
