"""Definitions of source files in any language, and which of them a change adds or edits."""

from collections.abc import Mapping
from typing import NamedTuple

from coder.index.parsers import Definition, definitions

FUNCTIONS = ("function", "method")


class AddedDefinitions(NamedTuple):
    """Definitions that sources have only after a change."""

    names: frozenset[str]
    is_all: bool
    """The change does nothing but add them."""


def definition_names(path: str, text: str) -> frozenset[str]:
    """Return the names of the functions and types that a file defines."""
    return frozenset(
        definition.bare_name for definition in definitions(path, text) if definition.kind != "variable"
    )


def find_edited_definitions(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the definitions that a change adds or edits; texts are by path."""
    names: set[str] = set()
    for path, text in new.items():
        before = _sources(path, old.get(path, ""))
        names |= {
            name.rpartition(".")[2]
            for name, source in _sources(path, text).items()
            if before.get(name) != source
        }
    return frozenset(names)


def find_added_definitions(old: Mapping[str, str], new: Mapping[str, str]) -> AddedDefinitions:
    """Return the definitions that a change adds; texts are by path."""
    names: set[str] = set()
    is_all = new.keys() >= old.keys()
    for path, text in new.items():
        known = {definition.name for definition in definitions(path, old.get(path, ""))}
        added = [definition for definition in definitions(path, text) if definition.name not in known]
        names |= {definition.bare_name for definition in added}
        is_all = is_all and _without(text, added) == _without(old.get(path, ""), [])
    return AddedDefinitions(frozenset(names), is_all)


def find_signatures(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the parameter lists of functions by name; texts are by path.

    Functions of one name are left out, since a call does not tell which of them it calls.
    """
    signatures: dict[str, list[str]] = {}
    for path, text in texts.items():
        for definition in definitions(path, text):
            if definition.kind in FUNCTIONS:
                _, name, rest = definition.signature.partition(f"{definition.bare_name}(")
                signatures.setdefault(definition.bare_name, []).append(rest if name else "")
    return {name: found[0] for name, found in signatures.items() if len(found) == 1 and found[0]}


def _sources(path: str, text: str) -> dict[str, str]:
    lines = text.split("\n")
    return {
        definition.name: "\n".join(lines[definition.start - 1 : definition.end])
        for definition in definitions(path, text)
    }


def _without(text: str, unwanted: list[Definition]) -> list[str]:
    """Return the lines of a text that are neither blank nor comments, without those of some definitions."""
    left_out = {number for definition in unwanted for number in range(definition.start, definition.end + 1)}
    return [
        line.strip()
        for number, line in enumerate(text.split("\n"), 1)
        if number not in left_out and line.strip() and not line.strip().startswith(("//", "#", "/*", "*"))
    ]
