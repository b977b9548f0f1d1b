import pytest

from coder.ui.tui.narrator import highlight_markdown, quote_names


@pytest.mark.parametrize(
    ("text", "styled_texts"),
    [
        ("plain * text_with_marks", set()),
        ("# A heading\nand text", {"# A heading"}),
        ("so **it is** done", {"**it is**"}),
        ("call `f(x)` twice", {"`f(x)`"}),
        ("- one\n 2. two", {"- ", " 2. "}),
        ("say\n```py\n# no heading\n```\ndone", {"```py\n# no heading\n```", "# no heading"}),
        ("say\n```py\nstill being writ", {"```py\nstill being writ"}),
    ],
)
def test_markup_is_coloured_and_kept(text: str, styled_texts: set[str]) -> None:
    content = highlight_markdown(text)
    assert content.plain == text
    assert {text[span.start : span.end] for span in content.spans} == styled_texts


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("see src/shop/__init__.py:351 there", "see `src/shop/__init__.py:351` there"),
        ("`a/__init__.py` and __name__.", "`a/__init__.py` and `__name__`."),
        ("call Cart.__len__ first", "call `Cart.__len__` first"),
        ("```py\nself.__init__()\n```\nplain_name", "```py\nself.__init__()\n```\nplain_name"),
        ("__two words__ stay bold", "__two words__ stay bold"),
    ],
)
def test_names_with_double_underscores_are_code(text: str, quoted: str) -> None:
    assert quote_names(text) == quoted
