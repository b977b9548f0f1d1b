"""Keys of the interface: the defaults, and those that the user has set instead."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from textual.keys import Keys

from coder.core.errors import UserError

LABELS = {"escape": "esc", "pageup": "page up", "pagedown": "page down", "question_mark": "?"}
MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")


class Key(NamedTuple):
    """A key binding that the user can change."""

    default: str
    """Keys, separated by commas."""
    purpose: str


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
    "deliver_now": Key("ctrl+g", "deliver now, while tests run"),
    "copy": Key("ctrl+c", "copy what is selected; empty the prompt; leave"),
    "leave": Key("ctrl+q", "leave"),
    "palette": Key("ctrl+p", "palette: themes and more"),
    "help": Key("f1", "show this list; so does ? in an empty prompt"),
}
"""Bindings by the name that the user's settings have for them."""


@dataclass(frozen=True)
class KeyBindings:
    """Keys of every binding."""

    changed: Mapping[str, str] = field(default_factory=dict)
    """Those that differ from the defaults, by name."""
    has_vim: bool = False
    """True if the prompt has a normal and an insert mode."""

    def keys(self, name: str) -> tuple[str, ...]:
        return _split(self.changed.get(name, BINDINGS[name].default))

    def find_name(self, key: str) -> str:
        """Return the name of the binding of a key; empty if there is none."""
        return next((name for name in BINDINGS if key in self.keys(name)), "")

    def label(self, name: str) -> str:
        """Return the first key of a binding, as the user knows it."""
        return _label(self.keys(name)[0])

    def describe(self) -> Iterator[str]:
        """Yield a line on each binding."""
        for name, key in BINDINGS.items():
            yield f"{', '.join(map(_label, self.keys(name))):<30} {key.purpose}"
        yield f"{'tab':<30} move to a folded line; enter opens it"
        if self.has_vim:
            yield f"{'esc, i':<30} vim: normal mode, insert mode"


def read_key_bindings(settings: Mapping[str, str], *, has_vim: bool = False) -> KeyBindings:
    """Return the key bindings of the user's settings.

    Raises:
        UserError: a name or a key is unknown, or a key would have two bindings.
    """
    for name, text in settings.items():
        if name not in BINDINGS:
            raise UserError(
                f"[keys] sets {name!r}, which is no key binding. There are: {', '.join(BINDINGS)}."
            )
        for key in _split(text) or ("",):
            if objection := _objection(key):
                raise UserError(f"[keys] {name} = {text!r}: {objection}")
    bindings = KeyBindings(dict(settings), has_vim)
    for first, second in combinations(BINDINGS, 2):
        if shared := {*bindings.keys(first)} & {*bindings.keys(second)}:
            raise UserError(
                f"[keys] {_label(min(shared))} is the key of {first} and of {second}: give one of them "
                f"another. The names are: {', '.join(BINDINGS)}."
            )
    return bindings


def _objection(key: str) -> str:
    """Return why a key cannot be that of a binding; empty if it can."""
    *modifiers, last = key.split("+")
    is_character = len(last) == 1 or last == "space"
    if not {*modifiers} <= {*MODIFIERS} or not (is_character or last in [name.value for name in Keys]):
        return f"{key!r} is no key. Keys are such as f2, ctrl+x, shift+enter or pageup."
    if is_character and not {*modifiers} - {"shift"}:
        return f"{key!r} is a character that you type. Keys are such as f2, ctrl+x, shift+enter or pageup."
    return ""


def _split(keys: str) -> tuple[str, ...]:
    return tuple(key.strip() for key in keys.split(",") if key.strip())


def _label(key: str) -> str:
    return LABELS.get(key, key)
