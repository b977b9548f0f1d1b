"""Drop-down list that completes commands, paths and symbols in the prompt."""

import asyncio
import re
from collections.abc import Sequence
from heapq import nsmallest
from typing import cast

from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea
from textual_autocomplete import AutoComplete, DropdownItem, TargetState

from coder.core.errors import CoderError
from coder.core.values.text import sanitize_text
from coder.ui.tui.commands import HELP
from coder.ui.tui.services import RepositoryNames
from coder.ui.tui.widgets.prompt import Prompt

COMMAND = re.compile(r"/[a-z]*")
MENTION = re.compile(r"(?:^|(?<=[\s(\[{,]))@([\w./:-]*)$")
MOST_NAMES = 50
"""Names that are ranked and listed at once."""
MOST_ROWS = 8


class Completion(AutoComplete):
    """Completes the word before the cursor of a prompt, which passes its keys first to `take_key`.

    The library completes an Input. The prompt is a TextArea, so its text up to the cursor is the state here.
    """

    def __init__(self, prompt: Prompt, names: RepositoryNames) -> None:
        """Complete in `prompt`; `names` are loaded in a thread as soon as a mention begins."""
        super().__init__("Prompt", self._find_candidates)
        self._prompt = prompt
        self._names = names
        self._known: tuple[str, ...] = ()
        """Paths and symbols of the repository."""
        self._is_loading = False

    @property
    def target(self) -> TextArea:  # type: ignore[override]  # the library expects an Input
        return self._prompt

    def on_mount(self) -> None:
        """Complete what was typed before."""
        self._load_names()

    def take_key(self, key: str) -> bool:
        """Handle a key of the prompt; return whether it was for the list."""
        if not self.display or key not in ("up", "down", "tab", "enter", "escape"):
            return False
        is_complete = self.get_search_string(self._target_state) in self._listed_values()
        if key == "escape":
            self.action_hide()
        elif key in ("up", "down"):
            step = -1 if key == "up" else 1
            highlighted = (self.option_list.highlighted or 0) + step
            self.option_list.highlighted = highlighted % self.option_list.option_count
        elif key == "enter" and is_complete:
            self.action_hide()
            return False
        else:
            self._complete(self.option_list.highlighted or 0)
        return True

    def _listed_values(self) -> set[str]:
        options = (self.option_list.get_option_at_index(row) for row in range(self.option_list.option_count))
        return {_first_word(cast(DropdownItem, option).value) for option in options}

    def _listen_to_messages(self, event: Message) -> None:
        if isinstance(event, TextArea.Changed) and self.is_attached:
            self._load_names()
            if self._get_target_state() != self._target_state:
                self._handle_target_update()

    def _align_and_rebuild(self) -> None:
        """Show or hide the list in the same moment as the cursor moves, so that no key sees an old one."""
        self._handle_target_update()

    def _get_target_state(self) -> TargetState:
        line, column = self._prompt.cursor_location
        before = "\n".join([*self._prompt.document.lines[:line], self._prompt.document[line][:column]])
        return TargetState(text=before, cursor_position=len(before))

    def get_search_string(self, target_state: TargetState) -> str:
        if COMMAND.fullmatch(target_state.text):
            return target_state.text
        mention = MENTION.search(target_state.text)
        return f"@{mention[1]}" if mention else ""

    def _find_candidates(self, state: TargetState) -> list[DropdownItem]:
        search = self.get_search_string(state)
        if search.startswith("/"):
            return [
                DropdownItem(f"/{name:<9} {text}")
                for name, text in HELP.items()
                if name.startswith(search[1:])
            ]
        if not search:
            return []
        wanted = search[1:].lower()
        names = (name for name in self._known if wanted in name.lower())
        best = nsmallest(MOST_NAMES, names, key=lambda name: _rank_name(name, wanted))
        return [DropdownItem(sanitize_text(f"@{name}")) for name in best]

    def get_matches(
        self,
        target_state: TargetState,  # noqa: ARG002 (the candidates are chosen by it)
        candidates: list[DropdownItem],
        search_string: str,  # noqa: ARG002
    ) -> list[DropdownItem]:
        """Return the candidates, which are matched and ranked already."""
        return candidates

    def should_show_dropdown(self, search_string: str) -> bool:
        return (
            bool(search_string)
            and self._prompt.has_focus
            and self._listed_values() not in (set(), {search_string})
        )

    def apply_completion(self, value: str, state: TargetState) -> None:
        """Replace the word before the cursor."""
        word = _first_word(value)
        name = word[1:]
        text = word if re.fullmatch(r"[\w./:-]+", name) else f'@"{name}"'
        line, column = self._prompt.cursor_location
        start = (line, column - len(self.get_search_string(state)))
        self._prompt.replace(f"{text} ", start, (line, column), maintain_selection_offset=False)

    def _align_to_target(self) -> None:
        """Place the list above the prompt, which is at the bottom."""
        rows = min(self.option_list.option_count, MOST_ROWS)
        x, y = self._prompt.cursor_screen_offset.x, self._prompt.region.y - rows
        self.absolute_offset = Offset(max(x - 1, 0), max(y, 0))

    def _load_names(self) -> None:
        """Load the names when a mention begins, so that they are fresh for each."""
        search = self.get_search_string(self._get_target_state())
        if search.startswith("@") and (search == "@" or not self._known) and not self._is_loading:
            self._is_loading = True
            self.run_worker(self._read_names())

    async def _read_names(self) -> None:
        try:
            paths = await asyncio.to_thread(self._names.paths)
            self._show_names(paths)
            symbols = await asyncio.to_thread(self._names.symbols)
            self._show_names([*paths, *symbols])
        except CoderError:
            return  # the names that are known are offered
        finally:
            self._is_loading = False

    def _show_names(self, names: Sequence[str]) -> None:
        self._known = tuple(names)
        self._handle_target_update()


def _rank_name(name: str, wanted: str) -> tuple[bool, bool, int, str]:
    """Order names: those that start so, then those whose last part does, then the shorter ones."""
    lowered = name.lower()
    return (
        not lowered.startswith(wanted),
        not lowered.rpartition("/")[2].startswith(wanted),
        len(name),
        name,
    )


def _first_word(value: str) -> str:
    """Return a command without its help; a path may have spaces."""
    return value.split()[0] if value.startswith("/") else value
