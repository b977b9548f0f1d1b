from coder.strategies.review.merge import merged

TEXT = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


def test_merges_changes_of_different_places() -> None:
    longer = TEXT.replace("return 1", "x = 1\n    return x")
    other = TEXT.replace("return 2", "return 3").replace("import os\n", "")
    both = longer.replace("return 2", "return 3").replace("import os\n", "")
    assert merged(TEXT, [longer, other]) == both
    assert merged(TEXT, [other, longer]) == both


def test_keeps_unchanged_text() -> None:
    assert merged(TEXT, [TEXT, TEXT]) == TEXT
    assert merged("no end\r\nof line", ["no end\r\nof line", "an end\r\nof line"]) == "an end\r\nof line"


def test_the_same_change_counts_once() -> None:
    once = TEXT.replace("import os\n", "import os\nimport re\n")
    assert merged(TEXT, [once, once.replace("return 1", "return 0")]) == once.replace("return 1", "return 0")


def test_changes_of_same_place_conflict() -> None:
    assert merged(TEXT, [TEXT.replace("return 1", "return 3"), TEXT.replace("return 1", "return 4")]) is None
    assert (
        merged(
            TEXT,
            [
                TEXT.replace("import os\n", "import os\nimport re\n"),
                TEXT.replace("import os\n", "import os\nimport sys\n"),
            ],
        )
        is None
    )
