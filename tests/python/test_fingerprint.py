from coder.python.source import fingerprint_files


def test_ignores_layout_and_comments() -> None:
    assert fingerprint_files({"a.py": "x = 1\n"}) == fingerprint_files({"a.py": "x = (1)  # one\n\n"})


def test_distinguishes_meaning_paths_and_deletion() -> None:
    fingerprints = {
        fingerprint_files(files)
        for files in ({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}, {"b.py": "x = 1\n"}, {"a.py": None}, {})
    }
    assert len(fingerprints) == 5


def test_compares_unparsable_files_as_text() -> None:
    assert (
        fingerprint_files({"a.py": "def ("})
        == fingerprint_files({"a.py": "def (\n"})
        != fingerprint_files({"a.py": "def )"})
    )
