"""Command lines of test runners: options, operands, and several commands as one."""

import re
import shlex
from collections.abc import Collection, Iterable, Sequence


def split_operands(
    words: Sequence[str], with_values: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the options of a command, each followed by its value if it has one, and the other words.

    Options in `with_values` take the next word as their value.
    """
    options: list[str] = []
    operands: list[str] = []
    for word in words:
        is_value = bool(options) and options[-1] in with_values and not _has_value(options, with_values)
        (options if is_value or word.startswith("-") else operands).append(word)
    return tuple(options), tuple(operands)


def _has_value(options: Sequence[str], with_values: Collection[str]) -> bool:
    """Tell whether the last word is itself the value of an option, though it looks like one."""
    return len(options) > 1 and options[-2] in with_values and not _has_value(options[:-1], with_values)


def without_options(
    words: Sequence[str], names: Collection[str], with_values: Collection[str] = ()
) -> tuple[str, ...]:
    """Return a command without these options; the value of those in `with_values` is left out as well."""
    kept: list[str] = []
    skips_value = False
    for word in words:
        if not skips_value and word.partition("=")[0] not in names:
            kept.append(word)
        skips_value = not skips_value and word in names and word in with_values
    return tuple(kept)


def alternatives(names: Iterable[str]) -> str:
    """Return a regular expression that matches exactly these names."""
    return f"^({'|'.join(map(re.escape, dict.fromkeys(names)))})$"


def join_commands(commands: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return one command that runs each command in its directory, and fails if one of them does."""
    if len(commands) == 1 and commands[0][0] == ".":
        return tuple(commands[0][1])
    lines = [f"(cd {shlex.quote(place)} && {shlex.join(words)}) || code=$?" for place, words in commands]
    return ("sh", "-c", "\n".join(["code=0", *lines, "exit $code"]))
