"""Keys of the interface: the defaults, those that the user has set instead, and whom a key is meant for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from typing import ClassVar, Literal, NamedTuple, TypeVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.events import DescendantFocus, Paste
from textual.events import Key as KeyEvent
from textual.keys import Keys
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static, TextArea

from coder.core.errors import UserError

Result = TypeVar("Result")
LABELS = {"escape": "esc", "pageup": "page up", "pagedown": "page down", "question_mark": "?"}
MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")


class Key(NamedTuple):
    """A key binding that the user can change."""

    default: str
    """Keys, separated by commas."""
    purpose: str
    place: Literal["prompt", "review", "editor", "everywhere"] = "prompt"


BINDINGS: Mapping[str, Key] = {
    "send": Key("enter", "send"),
    "new_line": Key("ctrl+j,shift+enter,alt+enter", "new line"),
    "mode": Key("shift+tab", "change the mode: fix, change, ask, plan, build"),
    "earlier": Key("up", "earlier messages; takes back a queued one"),
    "later": Key("down", "later messages"),
    "scroll_up": Key("pageup", "scroll up"),
    "scroll_down": Key("pagedown", "scroll down"),
    "follow": Key("ctrl+end", "follow what is new again"),
    "stop": Key("escape", "stop what runs; while nothing does, twice: rewind"),
    "deliver_now": Key("ctrl+g", "deliver now, while tests run", "everywhere"),
    "copy": Key(
        "ctrl+c", "copy what is selected; empty the prompt; stop what runs; twice: leave", "everywhere"
    ),
    "leave": Key("ctrl+q", "leave", "everywhere"),
    "suspend": Key("ctrl+z", "suspend; fg in the shell goes on", "everywhere"),
    "undo": Key("ctrl+underscore", "undo what you typed", "everywhere"),
    "help": Key("f1", "show this list; so does ? in an empty prompt"),
    "previous_hunk": Key("up,k", "previous hunk", "review"),
    "next_hunk": Key("down,j", "next hunk", "review"),
    "first_hunk": Key("g", "first hunk", "review"),
    "last_hunk": Key("G", "last hunk", "review"),
    "half_page_down": Key("ctrl+d", "half a page down", "review"),
    "half_page_up": Key("ctrl+u", "half a page up", "review"),
    "accept": Key("y", "accept a hunk; answer yes", "review"),
    "reject": Key("n", "reject a hunk; answer no", "review"),
    "turn": Key("space", "toggle a hunk", "review"),
    "accept_all": Key("a", "accept all hunks", "review"),
    "reject_all": Key("r", "reject all hunks", "review"),
    "comment": Key("c", "tell the model what to change in a hunk", "review"),
    "next_file": Key("f", "next file", "review"),
    "previous_file": Key("F", "previous file", "review"),
    "confirm": Key("enter", "confirm the review", "review"),
    "save": Key("ctrl+s", "run the plan", "editor"),
    "refuse": Key("ctrl+r", "refuse the plan", "editor"),
}
"""Bindings by the name that the user's settings have for them."""
HEADINGS = {"review": "In a review or a question:", "editor": "In a plan, or the editor of a hunk:"}
"""Headings of the bindings that hold elsewhere than at the prompt, by their place."""


@dataclass(frozen=True)
class KeyBindings:
    changed: Mapping[str, str] = field(default_factory=dict)
    """Those that differ from the defaults, by name."""
    has_vim: bool = False
    """True if the prompt has a normal and an insert mode."""

    def keys(self, name: str) -> tuple[str, ...]:
        return _split(self.changed.get(name, BINDINGS[name].default))

    def find_name(self, key: str) -> str:
        """Return the name of the binding that a key has in the prompt; empty if there is none."""
        return next(
            (
                name
                for name, binding in BINDINGS.items()
                if binding.place not in HEADINGS and key in self.keys(name)
            ),
            "",
        )

    def label(self, name: str) -> str:
        """Return the first key of a binding, as the user knows it."""
        return _label(self.keys(name)[0])

    def fill(self, hint: str) -> str:
        """Return a hint with the labels of the bindings that it names, such as `{accept} accept`."""
        return hint.format_map({name: self.label(name) for name in BINDINGS})

    def describe(self) -> Iterator[str]:
        """Yield a line on each binding, those of the prompt first."""
        by_heading = groupby(BINDINGS, key=lambda name: HEADINGS.get(BINDINGS[name].place, ""))
        for heading, names in by_heading:
            if heading:
                yield from ("", heading)
            for name in names:
                yield f"{', '.join(map(_label, self.keys(name))):<30} {BINDINGS[name].purpose}"
            if not heading:
                yield f"{'tab':<30} move to a folded line; enter opens it"
            if not heading and self.has_vim:
                yield f"{'esc, i':<30} vim: normal mode, insert mode"


PAUSE_SECONDS = 1.0
"""Time without a key after which keys are meant for the dialog: slow typists take 0.3 s a key."""
POLL_SECONDS = 0.1
WAITING = "… what you type goes into the prompt until you pause"


class Dialog(ModalScreen[Result]):
    """Takes keys that were pressed after the user had seen it and paused; earlier ones go into the prompt.

    Escape, which gives the safe answer, need not wait for a pause.

    The time at which a key was pressed counts, not the time at which a busy application comes to handle it.
    Its hint is the widget `keys`; the prompt is that of the first screen.
    """

    AUTO_FOCUS = ""
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 (the library's own type)

    def __init__(self) -> None:
        super().__init__()
        self._hint = ""
        """Hint that is shown while the dialog takes keys."""
        self.accepts_from = inf
        """Second from which keys are meant for the dialog; infinite until it is painted."""
        self._painted_at = inf
        self._early_keys: list[KeyEvent | Paste] = []
        """Keys that were pressed before that and are not handled yet."""
        self._polling: Timer | None = None

    def focus_first(self) -> None:
        """Focus the widget that takes the first key."""
        self.focus_next()

    def on_mount(self) -> None:
        self._hint = str(self.query_one("#keys", Static).content)
        self._show_hint(WAITING)
        self._polling = self.set_interval(POLL_SECONDS, self._focus_after_pause)
        self.call_after_refresh(self._note_paint)

    @property
    def _seconds(self) -> float:
        seconds: float = self.app.clock()  # type: ignore[attr-defined]  # of the application below
        return seconds

    def _note_paint(self) -> None:
        self._painted_at = self._seconds
        self.accepts_from = self._painted_at + PAUSE_SECONDS
        self._focus_after_pause()

    def _focus_after_pause(self) -> None:
        if self._seconds >= self.accepts_from and self._polling is not None:
            self._polling.pause()
            if self.focused is None:
                self.focus_first()
                self._show_hint(self._hint)

    def on_descendant_focus(self, _: DescendantFocus) -> None:
        """Wait no longer, also where the user has clicked on something."""
        self.accepts_from = min(self.accepts_from, self._seconds)
        self._show_hint(self._hint)

    def _show_hint(self, text: str) -> None:
        self.query_one("#keys", Static).update(text)

    def check_time(self, event: KeyEvent | Paste, pressed_at: float) -> None:
        """Divert a key that was pressed before the dialog takes keys: nothing has the focus then."""
        if pressed_at >= self.accepts_from and self.focused is not None:
            return
        if isinstance(event, KeyEvent) and event.key == "escape" and pressed_at >= self._painted_at:
            return
        self._early_keys.append(event)
        if pressed_at < self.accepts_from < inf:
            self.accepts_from = pressed_at + PAUSE_SECONDS
        self.set_focus(None)
        self._show_hint(WAITING)
        if self._polling is not None:
            self._polling.resume()

    async def on_key(self, event: KeyEvent) -> None:
        """Pass an early key on to the prompt; escape stops what runs, as it does there."""
        if event not in self._early_keys:
            return
        self._early_keys.remove(event)
        event.stop()
        event.prevent_default()
        if event.key == "escape":
            await self.run_action("app.stop")
        elif event.is_printable and event.character:
            self._insert_into_prompt(event.character)

    def on_paste(self, event: Paste) -> None:
        if event in self._early_keys:
            self._early_keys.remove(event)
            event.stop()
            self._insert_into_prompt(event.text)

    def _insert_into_prompt(self, text: str) -> None:
        self.app.screen_stack[0].query_one("#prompt", TextArea).insert(text)


class VimScroll(VerticalScroll):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "go_to_end(0)", "first", show=False, id="first_hunk"),
        Binding("G", "go_to_end(-1)", "last", show=False, id="last_hunk"),
        Binding("ctrl+d", "scroll_half(1)", "half a page down", show=False, id="half_page_down"),
        Binding("ctrl+u", "scroll_half(-1)", "half a page up", show=False, id="half_page_up"),
    ]

    def action_go_to_end(self, place: int) -> None:
        """Go to the first entry, or to the last one; to the end of the text if there are no entries."""
        if entries := [child for child in self.children if child.can_focus]:
            entries[place].focus()
        (self.scroll_end if place else self.scroll_home)(animate=False)

    def action_scroll_half(self, direction: int) -> None:
        self.scroll_relative(y=direction * self.size.height // 2, animate=False)


def find_key_bindings(node: DOMNode) -> KeyBindings:
    """Return the key bindings of the application that a widget is part of."""
    bindings: KeyBindings = node.app.key_bindings  # type: ignore[attr-defined]
    return bindings


def read_key_bindings(settings: Mapping[str, str], *, has_vim: bool = False) -> KeyBindings:
    """Return the key bindings of the user's settings, without those of unknown names.

    Raises:
        UserError: a key is unknown, or would have two bindings.
    """
    changed = {name: text for name, text in settings.items() if name in BINDINGS}
    bindings, owners = KeyBindings(changed, has_vim), dict[tuple[str, str], str]()
    for name, binding in BINDINGS.items():
        places = ("prompt", *HEADINGS) if binding.place == "everywhere" else (binding.place,)
        for key in bindings.keys(name) or ("",):
            if name in changed and not _can_be_bound(key, binding):
                raise UserError(
                    f"[keys] {name} = {changed[name]!r}: {key!r} is not the name of a key, or a character "
                    "that you type. Keys are such as f2, ctrl+x, shift+enter or pageup."
                )
            if other := min({owners.setdefault((place, key), name) for place in places} - {name}, default=""):
                raise UserError(f"[keys] {_label(key)} is the key of {other} and of {name}: give it another.")
    return bindings


def describe_unknown_bindings(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return a line for each binding of the settings that does not exist."""
    return tuple(f"[keys] {name} is no binding: F1 lists them." for name in settings if name not in BINDINGS)


def _can_be_bound(key: str, binding: Key) -> bool:
    """Tell whether a key exists, and is no character where the user types."""
    *modifiers, last = key.split("+")
    is_character = len(last) == 1 or last == "space"
    is_known = {*modifiers} <= {*MODIFIERS} and (is_character or last in {name.value for name in Keys})
    return is_known and (binding.place == "review" or not is_character or bool({*modifiers} - {"shift"}))


def _split(keys: str) -> tuple[str, ...]:
    return tuple(key.strip() for key in keys.split(",") if key.strip())


def _label(key: str) -> str:
    return LABELS.get(key, key)
