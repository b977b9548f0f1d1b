"""The commands of the command line with their options, for the manual page and the reference pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin


@dataclass(frozen=True, kw_only=True)
class CommandParameter:
    names: tuple[str, ...]
    """`--repo` and the like; empty for an argument."""
    metavar: str
    """Placeholder of its value; empty for a flag."""
    help: str
    default: str = ""
    """Description of the default; empty if that is obvious."""
    choices: tuple[str, ...] = ()
    """Possible values, if there are only a few."""
    is_path: bool = False


@dataclass(frozen=True, kw_only=True)
class CommandNode:
    path: tuple[str, ...]
    """Words that start it after `coder`."""
    help: str
    parameters: tuple[CommandParameter, ...]
    children: tuple["CommandNode", ...]

    @property
    def summary(self) -> str:
        """First sentence of the help, on one line."""
        paragraph = " ".join(self.help.partition("\n\n")[0].split())
        return paragraph.partition(". ")[0].removesuffix(".")

    @property
    def options(self) -> tuple[CommandParameter, ...]:
        return tuple(parameter for parameter in self.parameters if parameter.names)

    @property
    def arguments(self) -> tuple[CommandParameter, ...]:
        return tuple(parameter for parameter in self.parameters if not parameter.names)

    def walk(self) -> Iterator["CommandNode"]:
        yield self
        for child in self.children:
            yield from child.walk()


def read_command_tree(root: Any) -> CommandNode:
    """Return the command tree below the root command of an application, without what is hidden."""
    return _make_node(root, ())


def _make_node(command: Any, path: tuple[str, ...]) -> CommandNode:
    children = getattr(command, "commands", {})
    visible = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    help_option = CommandParameter(names=("--help",), metavar="", help="Show help and exit.")
    return CommandNode(
        path=path,
        help=command.help or "",
        parameters=(*map(_make_parameter, visible), help_option),
        children=tuple(
            _make_node(child, (*path, name)) for name, child in children.items() if not child.hidden
        ),
    )


def _make_parameter(parameter: Any) -> CommandParameter:
    annotation = parameter.type_descriptor.annotation
    types = [kind for kind in (annotation, *get_args(annotation)) if isinstance(kind, type)]
    literals = [kind for kind in (annotation, *get_args(annotation)) if get_origin(kind) is Literal]
    choices = get_args(literals[0]) if literals else ()
    is_option = parameter.opts[0].startswith("-")
    is_flag = getattr(parameter, "is_flag", False)
    default = parameter.show_default
    return CommandParameter(
        names=tuple(sorted((*parameter.opts, *parameter.secondary_opts), key=len)) if is_option else (),
        metavar="" if is_flag else parameter.metavar or ("VALUE" if is_option else parameter.name.upper()),
        help=parameter.help or "",
        default=default if isinstance(default, str) else "",
        choices=choices,
        is_path=any(issubclass(kind, Path) for kind in types),
    )
