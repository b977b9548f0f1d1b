"""Screen on which the user edits the new lines of a hunk."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from coder.core.values.hunk import Hunk, first_line
from coder.core.values.text import sanitize_text
from coder.patching.git_hunks import hunk_lines
from coder.ui.tui.keys import find_key_bindings

KEYS = "{save} keep it · esc back, and go on later"
"""Hint, with names of bindings instead of their keys."""


class HunkText(NamedTuple):
    """The text in the editor when the user leaves it."""

    text: str
    lines: tuple[str, ...]
    """The new lines of the hunk, each with its newline."""
    is_kept: bool
    """Whether the hunk is to become this."""


class HunkEditor(ModalScreen[HunkText]):
    """Edits the lines that the file has at a hunk after the change."""

    CSS_PATH = "editing.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "leave(True)", "keep it", id="save"),
        Binding("escape", "leave(False)", "go on later", priority=True),
    ]

    def __init__(self, hunk: Hunk, draft: str) -> None:
        """Take `draft`, which the user typed before."""
        super().__init__()
        self._hunk = hunk
        self._lines = [line.text for line in hunk_lines(hunk.body) if line.sign != "-"]
        self._shown_lines = [_show_line(line) for line in self._lines]
        self._text = draft or "\n".join(self._shown_lines)

    def compose(self) -> ComposeResult:
        yield Static(f"New lines of {sanitize_text(self._hunk.path)}", id="heading", markup=False)
        editor = TextArea.code_editor(
            self._text, theme="css", line_number_start=first_line(self._hunk), compact=True
        )
        editor.indent_type = "tabs" if any(line.startswith("\t") for line in self._lines) else "spaces"
        yield editor
        yield Static(find_key_bindings(self).fill(KEYS), id="keys", markup=False)

    def action_leave(self, is_kept: bool) -> None:
        text = self.query_one(TextArea).text
        lines = restore_lines(self._lines, self._shown_lines, text.split("\n") if text else [])
        self.dismiss(HunkText(text=text, lines=lines, is_kept=is_kept))


def restore_lines(lines: Sequence[str], shown: Sequence[str], edited: Sequence[str]) -> tuple[str, ...]:
    """Return edited lines as they belong into the file.

    Lines that were not edited keep characters that are not shown; the others get the line ends of the rest.
    """
    end = "\r\n" if sum(line.endswith("\r\n") for line in lines) * 2 > len(lines) else "\n"
    restored: list[str] = []
    matcher = SequenceMatcher(None, shown, edited, autojunk=False)
    for tag, start, stop, edited_start, edited_stop in matcher.get_opcodes():
        restored += lines[start:stop] if tag == "equal" else edited[edited_start:edited_stop]
    complete = [line if line.endswith("\n") else f"{line}{end}" for line in restored]
    if complete and lines and not lines[-1].endswith("\n"):
        complete[-1] = complete[-1].removesuffix(end)
    return tuple(complete)


def _show_line(line: str) -> str:
    return sanitize_text(line.removesuffix("\n"))
