from coder.python.fingerprint import fingerprint


def test_ignores_layout_and_comments() -> None:
    assert fingerprint({"a.py": "x = 1\n"}) == fingerprint({"a.py": "x = (1)  # one\n\n"})


def test_distinguishes_meaning_paths_and_deletion() -> None:
    fingerprints = {
        fingerprint(files)
        for files in ({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}, {"b.py": "x = 1\n"}, {"a.py": None}, {})
    }
    assert len(fingerprints) == 5


def test_compares_unparsable_files_as_text() -> None:
    assert (
        fingerprint({"a.py": "def ("}) == fingerprint({"a.py": "def (\n"}) != fingerprint({"a.py": "def )"})
    )
