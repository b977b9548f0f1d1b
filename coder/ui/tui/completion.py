"""Drop-down list that completes commands, paths and symbols in the prompt."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from heapq import nsmallest
from typing import cast

from rich.cells import cell_len
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea
from textual_autocomplete import AutoComplete, DropdownItem, TargetState

from coder.core.errors import CoderError
from coder.core.text import sanitize_text
from coder.ui.tui.commands import HELP, Services, custom_purposes
from coder.ui.tui.prompt import Prompt

COMMAND = re.compile(r"/[\w:.-]*")
MENTION = re.compile(r"(?:^|(?<=[\s(\[{,]))@([\w./:-]*)$")
MOST_NAMES = 50
"""Names that are ranked and listed at once."""
MOST_ROWS = 8


class Completion(AutoComplete):
    """Completes the word before the cursor of a prompt, which passes its keys first to `take_key`.

    The library completes an Input. The prompt is a TextArea, so its text up to the cursor is the state here.
    """

    def __init__(self, prompt: Prompt, services: Services) -> None:
        """Complete in `prompt`; names are loaded in a thread as soon as one begins."""
        super().__init__("Prompt", self._find_candidates)
        self._prompt = prompt
        self._services = services
        self._known: tuple[str, ...] = ()
        """Paths and symbols of the repository."""
        self._custom: Mapping[str, str] = {}
        """Purposes of the user's and the repository's own commands."""
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
        search = self.get_search_string(self._target_state)
        if key == "escape":
            self.action_hide()
        elif key in ("up", "down"):
            step = -1 if key == "up" else 1
            highlighted = self.option_list.highlighted or 0
            self.option_list.highlighted = (highlighted + step) % self.option_list.option_count
        elif key == "enter" and search in self._listed_texts():
            self.action_hide()
            return False
        else:
            self._complete(self.option_list.highlighted or 0)
        return True

    def _listed_texts(self) -> set[str]:
        """Return the texts that the options would put in the place of the word before the cursor."""
        options = (self.option_list.get_option_at_index(row) for row in range(self.option_list.option_count))
        search = self.get_search_string(self._target_state)
        return {_completed_text(cast(DropdownItem, option).value, search) for option in options}

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
                for name, text in {**HELP, **self._custom}.items()
                if name.startswith(search[1:])
            ]
        if not search:
            return []
        wanted = search[1:].lower()
        names = (name for name in self._known if wanted in name.lower())
        best = nsmallest(MOST_NAMES, names, key=lambda name: _rank_name(name, search[1:]))
        return [DropdownItem(sanitize_text(f"@{name}")) for name in best]

    def get_matches(
        self,
        target_state: TargetState,  # noqa: ARG002 (the candidates are chosen by it)
        candidates: list[DropdownItem],
        search_string: str,  # noqa: ARG002
    ) -> list[DropdownItem]:
        return candidates

    def should_show_dropdown(self, search_string: str) -> bool:
        return (
            bool(search_string)
            and self._prompt.has_focus
            and self._listed_texts() not in (set(), {search_string})
        )

    def apply_completion(self, value: str, state: TargetState) -> None:
        """Replace the word before the cursor."""
        search = self.get_search_string(state)
        text = _completed_text(value, search)
        if search.startswith("@") and not re.fullmatch(r"@[\w./:-]+", text):
            text = f'@"{text[1:]}"'
        line, column = self._prompt.cursor_location
        start = (line, column - len(search))
        self._prompt.replace(f"{text} ", start, (line, column), maintain_selection_offset=False)

    def _align_to_target(self) -> None:
        """Place the list above the prompt, which is at the bottom, and its longest option on the screen."""
        options = [self.option_list.get_option_at_index(row) for row in range(self.option_list.option_count)]
        width = max((cell_len(cast(DropdownItem, option).value) for option in options), default=0) + 3
        x = min(self._prompt.cursor_screen_offset.x - 2, self.screen.size.width - width)
        y = self._prompt.region.y - min(len(options), MOST_ROWS)
        self.absolute_offset = Offset(max(x, 0), max(y, 0))

    def _load_names(self) -> None:
        """Load names when a mention or a command begins: fresh for each."""
        search = self.get_search_string(self._get_target_state())
        if not self._is_loading and (search in ("/", "@") or (search.startswith("@") and not self._known)):
            self._is_loading = True
            self.run_worker(self._read_names(search))

    async def _read_names(self, search: str) -> None:
        """Read the commands, or the paths and then the symbols; on an error the known names are offered."""
        with suppress(CoderError):
            if search == "/":
                self._custom = await asyncio.to_thread(custom_purposes, self._services)
            else:
                paths = await asyncio.to_thread(self._services.list_paths)
                self._known = tuple(paths)
                self._handle_target_update()
                self._known = (*paths, *await asyncio.to_thread(self._services.list_symbols))
        self._is_loading = False
        self._handle_target_update()


def _completed_text(value: str, search: str) -> str:
    """Return an option without its help; a path may have spaces."""
    return value.split()[0] if search.startswith("/") else value


def _rank_name(name: str, typed: str) -> tuple[bool, bool, bool, int, str]:
    """Order names: same case, exact part, start of a part, short."""
    wanted = typed.lower()
    parts = [name.lower(), *re.split(r"[/.:]+", name.lower())]
    starts = any(part.startswith(wanted) for part in parts)
    return typed not in name, wanted not in parts, not starts, len(name), name
