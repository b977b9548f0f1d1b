"""Reference pages of the documentation site, in Markdown: commands, events, exit codes and settings."""

import inspect
import re
from collections.abc import Iterator

from coder.settings import (
    LIST_SETTINGS,
    LOWERABLE_SETTINGS,
    OWN_SETTINGS,
    REPOSITORY_SETTINGS,
    Config,
    describe_settings,
)
from coder.ui import jsonl
from coder.ui.tui.keys import BINDINGS
from docs.generators.command_tree import CommandNode, CommandParameter
from docs.generators.man_page import EXIT_CODES


def render_commands(root: CommandNode) -> str:
    """Return a section for each command: its help, arguments and options."""
    return "\n".join(line for node in root.walk() for line in _command_lines(node))


def render_exit_codes() -> str:
    """Return the table of exit codes."""
    return _table(("code", "meaning"), ((f"`{code}`", meaning) for code, meaning in EXIT_CODES))


def render_events() -> str:
    """Return the table of the events of `--json`, and the remarks on their fields."""
    opening, table, closing = inspect.cleandoc(jsonl.__doc__ or "").split("\n\n")[-3:]
    rows = re.findall(r"^(\w+) +(.+(?:\n {2,}.+)*)", table, re.MULTILINE)
    lines = _table(
        ("event", "fields"), ((f"`{name}`", _escape(" ".join(text.split()))) for name, text in rows)
    )
    return f"{opening}\n\n{lines}\n{' '.join(closing.split())}\n"


def render_settings() -> str:
    """Return the table of settings, with the source of each that may set it, and that of the keys."""
    descriptions = describe_settings()
    rows = (
        (f"`{name}`", _default_text(field.default), _escape(descriptions[name]), _repository_rights(name))
        for name, field in Config.model_fields.items()
    )
    keys = (
        (f"`{name}`", f"`{key.default.replace(',', '`, `')}`", key.purpose) for name, key in BINDINGS.items()
    )
    settings = _table(("setting", "default", "meaning", "a repository may"), rows)
    bindings = _table(("name", "default", "purpose"), keys)
    return f"{settings}\n## Keys of the interface and of reviews\n\n{bindings}"


def _repository_rights(name: str) -> str:
    """Return what a repository's own settings may do with a setting."""
    if name in OWN_SETTINGS:
        return 'no; you, below `[repositories."PATH"]`'
    if name not in REPOSITORY_SETTINGS:
        return "no"
    if name in LIST_SETTINGS:
        return "add to it"
    if name in LOWERABLE_SETTINGS:
        return "lower it"
    return "set it" if name in ("test", "build") else "make it stricter"


def _default_text(value: object) -> str:
    return "" if value in (None, (), {}) else f"`{str(value).lower() if value in (True, False) else value}`"


def _command_lines(node: CommandNode) -> Iterator[str]:
    arguments = " ".join(argument.metavar for argument in node.arguments)
    yield f"\n## {' '.join(('coder', *node.path))}\n"
    if arguments:
        yield f"    coder {' '.join(node.path)} {arguments}\n"
    for paragraph in re.split(r"\n\s*\n", node.help.strip()):
        yield _escape(" ".join(paragraph.split())) + "\n"
    yield _table(("", ""), map(_parameter_row, (*node.arguments, *node.options)))


def _parameter_row(parameter: CommandParameter) -> tuple[str, str]:
    names = ", ".join(parameter.names)
    choices = f" One of: {', '.join(parameter.choices)}." if parameter.choices else ""
    default = f" Default: {parameter.default}." if parameter.default else ""
    return f"`{' '.join(filter(None, (names, parameter.metavar)))}`".replace("|", r"\|"), _escape(
        f"{parameter.help}{choices}{default}"
    )


def _table(titles: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = (titles, ("---",) * len(titles), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _escape(text: str) -> str:
    """Escape what Markdown would read as markup, outside of code spans."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\*_<>\[\]#])", r"\\\1", part) for part in parts
    ).replace("|", r"\|")
