"""Snapshots of the terminal: drawn as SVG, stored beside the tests, compared with the current drawing."""

import os
import re
from html import escape, unescape
from importlib.metadata import version
from pathlib import Path

from tests.ui.tui.fakes import Stage

PICTURES = Path(__file__).parent / "pictures"
DRAW = "DRAW_PICTURES"
"""Set this in the environment to store the current drawing; then look at it."""


def check_picture(stage: Stage, name: str, tmp_path: Path, folder: Path = PICTURES) -> None:
    """Compare the terminal with the stored picture of that name.

    Text is always compared; colours and places only if the picture was drawn by the same library version,
    since another version may draw another shade but never other words.
    """
    drawing, stored = picture(stage), folder / f"{name}.svg"
    if os.environ.get(DRAW):
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(drawing, encoding="utf-8")
    (tmp_path / stored.name).write_text(drawing, encoding="utf-8")
    before = stored.read_text(encoding="utf-8") if stored.exists() else ""
    assert text(drawing) == text(before), (
        f"{stored.name}: other words. Now: {tmp_path / stored.name}. If that is right, set {DRAW}=1."
    )
    if drawer(drawing) == drawer(before):
        assert drawing == before, (
            f"{stored.name}: other colours. Now: {tmp_path / stored.name}. If that is right, set {DRAW}=1."
        )


def picture(stage: Stage) -> str:
    """Return the terminal as normalized SVG, described by library versions and text."""
    svg = re.sub(r"terminal-\d+", "terminal", stage.app.export_screenshot())
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    description = f"<desc>textual {version('textual')}, rich {version('rich')}\n{escape(stage.text)}</desc>"
    return re.sub(r"(<svg[^>]*>)", lambda start: start[1] + description, svg, count=1)


def drawer(svg: str) -> str:
    return _description(svg).partition("\n")[0]


def text(svg: str) -> list[str]:
    return _description(svg).splitlines()[1:]


def _description(svg: str) -> str:
    match = re.search(r"<desc>(.*?)</desc>", svg, re.DOTALL)
    return unescape(match[1]) if match else ""
