import subprocess
import sys

import pytest

from tally.main import main


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_missing_file_anywhere(tmp_path, place):
    names = []
    for letter in "ab":
        file = tmp_path / letter
        file.write_text("some words here", encoding="utf-8")
        names.append(str(file))
    names.insert(place, "nowhere.txt")
    assert main(names) == 1


def test_too_few_is_not_forgotten(tmp_path):
    (tmp_path / "short").write_text("one", encoding="utf-8")
    (tmp_path / "long").write_text("one two three", encoding="utf-8")
    assert main(["--min", "2", str(tmp_path / "short"), str(tmp_path / "long")]) == 3
    assert main(["--min", "2", str(tmp_path / "long")]) == 0


def test_as_a_program(tmp_path):
    (tmp_path / "a").write_text("one", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "tally", "nowhere", str(tmp_path / "a")], capture_output=True, check=False)
    assert done.returncode == 1
