"""Definitions of sources in other languages than Python."""

from collections.abc import Mapping

from coder.index.languages import LANGUAGES
from coder.index.parsers import definitions

SUFFIXES = tuple(f".{extension}" for extension in LANGUAGES)


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


def _sources(path: str, text: str) -> dict[str, str]:
    lines = text.split("\n")
    return {
        definition.name: "\n".join(lines[definition.start - 1 : definition.end])
        for definition in definitions(path, text)
    }
