from coder.python.fingerprint import fingerprint


def test_layout_and_comments_make_no_difference() -> None:
    assert fingerprint({"a.py": "x = 1\n"}) == fingerprint({"a.py": "x = (1)  # one\n\n"})


def test_meaning_paths_and_absence_do() -> None:
    told = {
        fingerprint(files)
        for files in ({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}, {"b.py": "x = 1\n"}, {"a.py": None}, {})
    }
    assert len(told) == 5


def test_what_does_not_parse_is_compared_as_text() -> None:
    assert (
        fingerprint({"a.py": "def ("}) == fingerprint({"a.py": "def (\n"}) != fingerprint({"a.py": "def )"})
    )
