import pytest

from coder.ui.tui.prose import highlight_markdown


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
