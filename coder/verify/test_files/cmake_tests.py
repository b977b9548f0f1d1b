"""Edits of CMake files that do nothing but add test programs."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

FILE = "CMakeLists.txt"
_TOKEN = re.compile(
    r"#\[(?P<level>=*)\[.*?\](?P=level)\]|#[^\n]*|\"(?:[^\"\\]|\\.)*\"|\[(?P<bracket>=*)\[.*?\](?P=bracket)\]"
    r"|[()]|[^\s()#\"]+",
    re.DOTALL,
)
_PLAIN = re.compile(r"[\w./+-]+")
_DISCOVERING = frozenset({"gtest_discover_tests", "catch_discover_tests", "doctest_discover_tests"})


class _Command(NamedTuple):
    """A command with its arguments."""

    name: str
    arguments: tuple[str, ...]


def adds_only_tests(old: str, new: str, test_files: Collection[str]) -> bool:
    """Tell whether a CMake file differs from its old version only by further test programs.

    Their sources are among `test_files`, relative to the directory of the file. They are new targets, or new
    names in the list of a loop; what the old version has is unchanged and in the same order.
    """
    before, after = [*_commands(old)], [*_commands(new)]
    known = {word for command in before for word in command.arguments}
    position = 0
    for command in after:
        current = before[position] if position < len(before) else None
        if current is not None and (command == current or _extends_loop(current, command, known, test_files)):
            position += 1
        elif not _adds_program(command, known, test_files):
            return False
    return position == len(before) and len(before) > 0


def _commands(text: str) -> Iterator[_Command]:
    """Yield the commands of a CMake file; parentheses within arguments are arguments."""
    tokens = iter([match[0] for match in _TOKEN.finditer(text) if not match[0].startswith("#")])
    for name in tokens:
        depth, arguments = 0, list[str]()
        for token in tokens:
            depth += {"(": 1, ")": -1}.get(token, 0)
            if depth == 0:
                break
            arguments.append(token)
        yield _Command(name.lower(), tuple(arguments[1:]))


def _extends_loop(old: _Command, new: _Command, known: Collection[str], test_files: Collection[str]) -> bool:
    """Tell whether a loop only goes over further names, each of which is part of a new test's file name."""
    if old.name != "foreach" or new.name != "foreach" or old.arguments[:1] != new.arguments[:1]:
        return False
    added = [word for word in new.arguments if word not in old.arguments]
    stems = [PurePosixPath(path).stem for path in test_files]
    return tuple(word for word in new.arguments if word in old.arguments) == old.arguments and all(
        _PLAIN.fullmatch(word) and word not in known and any(word in stem for stem in stems) for word in added
    )


def _adds_program(command: _Command, known: Collection[str], test_files: Collection[str]) -> bool:
    arguments = command.arguments
    if not arguments or not all(map(_PLAIN.fullmatch, arguments)):
        return False
    match command.name:
        case "add_executable":
            return arguments[0] not in known and {*arguments[1:]} <= {*test_files}
        case "target_link_libraries" | "target_include_directories":
            return arguments[0] not in known
        case "add_test":
            return _is_new_test(arguments, known)
        case name:
            return name in _DISCOVERING and len(arguments) == 1 and arguments[0] not in known


def _is_new_test(arguments: Sequence[str], known: Collection[str]) -> bool:
    match arguments:
        case ["NAME", name, "COMMAND", program] | [name, program]:
            return name not in known and program not in known
        case _:
            return False
