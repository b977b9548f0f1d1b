from coder.strategies.review import merge_texts

TEXT = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


def test_merges_changes_of_different_places() -> None:
    longer = TEXT.replace("return 1", "x = 1\n    return x")
    other = TEXT.replace("return 2", "return 3").replace("import os\n", "")
    both = longer.replace("return 2", "return 3").replace("import os\n", "")
    assert merge_texts(TEXT, [longer, other]) == both
    assert merge_texts(TEXT, [other, longer]) == both


def test_keeps_unchanged_text() -> None:
    assert merge_texts(TEXT, [TEXT, TEXT]) == TEXT
    assert merge_texts("no end\r\nof line", ["no end\r\nof line", "an end\r\nof line"]) == "an end\r\nof line"


def test_the_same_change_counts_once() -> None:
    once = TEXT.replace("import os\n", "import os\nimport re\n")
    assert merge_texts(TEXT, [once, once.replace("return 1", "return 0")]) == once.replace(
        "return 1", "return 0"
    )


def test_changes_of_same_place_conflict() -> None:
    assert (
        merge_texts(TEXT, [TEXT.replace("return 1", "return 3"), TEXT.replace("return 1", "return 4")])
        is None
    )
    assert (
        merge_texts(
            TEXT,
            [
                TEXT.replace("import os\n", "import os\nimport re\n"),
                TEXT.replace("import os\n", "import os\nimport sys\n"),
            ],
        )
        is None
    )
