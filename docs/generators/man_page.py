"""The manual page, from the command tree: `python -m docs.generators.man_page > docs/coder.1`."""

import re
from collections.abc import Iterator

from docs.generators.command_tree import CommandNode, CommandParameter

EXIT_CODES = (
    ("0", "PROVEN or FIXED, or what --require accepts; for commands without a verdict: done"),
    (
        "2",
        "wrong use or setup: an option, a setting, the model's key, quota or address; nothing was delivered",
    ),
    ("3", "PASSING"),
    ("4", "GAVE UP; or you declined the change"),
    ("5", "LIMIT"),
    ("6", "BROKEN"),
    ("7", "NOT TESTED"),
    ("8", "NOT FIXED"),
    ("130", "interrupted"),
)


def render_man_page(root: CommandNode) -> str:
    """Return the page in the macros of man(7)."""
    return "\n".join(_page_lines(root)) + "\n"


def _page_lines(root: CommandNode) -> Iterator[str]:
    yield '.TH CODER 1 "" "coder" "User Commands"'
    yield ".SH NAME"
    yield "coder \\- fix bugs in a repository, and prove that they are fixed"
    yield ".SH SYNOPSIS"
    yield ".B coder"
    yield "[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(root.help)
    yield from _parameter_lines(root)
    yield ".SH COMMANDS"
    for node in root.walk():
        if node.path:
            arguments = " ".join(f"\\fI{_escape(argument.metavar)}\\fR" for argument in node.arguments)
            yield f".SS coder {_escape(' '.join(node.path))} {arguments}".rstrip()
            yield from _paragraphs(node.help)
            yield from _parameter_lines(node)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES:
        yield from (".TP", f".B {code}", _escape(meaning))
    yield ".SH FILES"
    yield from (".TP", ".I ~/.config/coder/config.toml", "the user's settings")
    yield from (".TP", ".I ~/.local/state/coder", "sessions with their evidence, and the index")
    yield from (".TP", ".I /var/tmp/coder-UID", "worktrees of running sessions, where the state is hidden")


def _parameter_lines(node: CommandNode) -> Iterator[str]:
    for parameter in (*node.arguments, *node.options):
        yield ".TP"
        yield _label(parameter)
        default = f" Default: {parameter.default}." if parameter.default else ""
        choices = f" One of: {', '.join(parameter.choices)}." if parameter.choices else ""
        yield _escape(f"{parameter.help}{choices}{default}")


def _label(parameter: CommandParameter) -> str:
    value = f" \\fI{_escape(parameter.metavar)}\\fR" if parameter.metavar else ""
    return ", ".join(f"\\fB{_escape(name)}\\fR" for name in parameter.names) + (
        value if parameter.names else value.lstrip()
    )


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        yield from [".PP"] if number else []
        yield _escape(" ".join(paragraph.split()))


def _escape(text: str) -> str:
    """Escape what the formatter would read as a command."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    import typer

    from coder.cli.app import app
    from docs.generators.command_tree import read_command_tree

    print(render_man_page(read_command_tree(typer.main.get_command(app))), end="")
