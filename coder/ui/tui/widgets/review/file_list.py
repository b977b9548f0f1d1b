"""Widget for the files of a review, with counts."""

from collections.abc import Mapping, Sequence

from textual.widgets import OptionList
from textual.widgets.option_list import Option

from coder.core.values.text import sanitize_text
from coder.ui.tui.widgets.review.hunk_choice import HunkChoice


class FileList(OptionList, can_focus=False):
    """One line a file: accepted and all hunks, added and removed lines; a click goes to it."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.paths: list[str] = []

    def show(self, files: Mapping[str, Sequence[HunkChoice]]) -> None:
        """Show the files with the decisions so far; hidden where there is only one."""
        self.display = len(files) > 1
        self.paths = [*files]
        self.set_options(Option(_describe_file(path, choices)) for path, choices in files.items())


def _describe_file(path: str, choices: Sequence[HunkChoice]) -> str:
    lines = [line for choice in choices for line in choice.hunk.body.splitlines()[1:]]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    accepted = sum(choice.accepted for choice in choices)
    return f"{accepted}/{len(choices)}  {sanitize_text(path)}  +{added} -{removed}"
