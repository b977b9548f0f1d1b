"""`coder completion`: completion scripts for shells, with all commands and options written out."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

BASH = """\
# Completion of coder's commands and options for bash. Use it: eval "$(coder completion bash)"
_coder() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} command= words= part
    for part in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$command $part" in
            {paths}) command=${{command:+$command }}$part ;;
        esac
    done
    case "$command ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
        *)
            case "$command" in
{words}
            esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _coder coder
"""
ZSH = """\
#compdef coder
# Completion of coder's commands and options for zsh. Use it: eval "$(coder completion zsh)"
_coder() {{
    local command= part
    local -a commands options
    for part in "${{(@)words[2,CURRENT-1]}}"; do
        case "$command $part" in
            ({paths}) command=${{command:+$command }}$part ;;
        esac
    done
    case "$command ${{words[CURRENT-1]}}" in
{values}
    esac
    case "$command" in
{words}
    esac
    if [[ $PREFIX == -* ]]; then
        _describe option options
    elif (( $#commands )); then
        _describe command commands
    else
        _files
    fi
}}
if [[ ${{funcstack[1]}} == _coder ]]; then _coder "$@"; else compdef _coder coder; fi
"""
FISH = """\
# Completion of coder's commands and options for fish. Use it: coder completion fish | source
function __coder_command
    set -l command
    for part in (commandline -opc)[2..-1]
        switch "$command $part"
            case {paths}
                set command (string trim "$command $part")
        end
    end
    test "$command" = "$argv[1]"
end
{lines}
"""


class Shell(StrEnum):
    """Shells that have completions."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(ctx: typer.Context, shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print a completion script; pressing tab then starts no program.

    bash and zsh: eval "$(coder completion bash)" in the start-up file; fish: coder completion fish | source.
    """

    print(render_completion(shell, read_command_tree(ctx.find_root().command)), end="")


def render_completion(shell: Shell, root: "CommandNode") -> str:
    match shell:
        case Shell.bash:
            return BASH.format(
                paths="|".join(_quoted_paths(root)),
                values="\n".join(_bash_values(root)),
                words="\n".join(_bash_words(root)),
            )
        case Shell.zsh:
            return ZSH.format(
                paths="|".join(_quoted_paths(root)),
                values="\n".join(_zsh_values(root)),
                words="\n".join(_zsh_words(root)),
            )
        case Shell.fish:
            return FISH.format(paths=" ".join(_quoted_paths(root)), lines="\n".join(_fish_lines(root)))


def _quoted_paths(root: "CommandNode") -> Iterator[str]:
    """Yield each command as the words before it, a space, and its last word."""
    for node in root.walk():
        if node.path:
            yield f'"{" ".join(node.path[:-1])} {node.path[-1]}"'


def _name(node: "CommandNode") -> str:
    return " ".join(node.path)


def _valued_options(root: "CommandNode") -> "Iterator[tuple[CommandNode, CommandParameter]]":
    for node in root.walk():
        for option in node.options:
            if option.metavar:
                yield node, option


def _bash_values(root: "CommandNode") -> Iterator[str]:
    for node, option in _valued_options(root):
        patterns = "|".join(f'"{_name(node)} {name}"' for name in option.names)
        yield f"        {patterns}) words='{' '.join(option.choices)}' ;;"


def _bash_words(root: "CommandNode") -> Iterator[str]:
    for node in root.walk():
        words = [child.path[-1] for child in node.children]
        words += [choice for argument in node.arguments for choice in argument.choices]
        options = " ".join(name for option in node.options for name in option.names)
        yield f'                "{_name(node)}")'
        yield f"                    words='{' '.join(words)}'"
        yield f"                    if [[ $word == -* ]]; then words='{options}'; fi ;;"


def _zsh_values(root: "CommandNode") -> Iterator[str]:
    for node, option in _valued_options(root):
        patterns = "|".join(f'"{_name(node)} {name}"' for name in option.names)
        action = (
            f"compadd {' '.join(option.choices)}" if option.choices else "_files" if option.is_path else ":"
        )
        yield f"        ({patterns}) {action}; return ;;"


def _zsh_words(root: "CommandNode") -> Iterator[str]:
    for node in root.walk():
        commands = [_zsh_item(child.path[-1], child.summary) for child in node.children]
        commands += [_zsh_item(choice, "") for argument in node.arguments for choice in argument.choices]
        options = [_zsh_item(name, option.help) for option in node.options for name in option.names]
        yield f'        ("{_name(node)}")'
        yield f"            commands=({' '.join(commands)})"
        yield f"            options=({' '.join(options)}) ;;"


def _zsh_item(word: str, description: str) -> str:
    text = description.replace("'", "'\\''").replace(":", "\\:")
    return f"'{word}:{text}'" if text else f"'{word}'"


def _fish_lines(root: "CommandNode") -> Iterator[str]:
    for node in root.walk():
        start = f"complete -c coder -n \"__coder_command '{_name(node)}'\""
        for child in node.children:
            yield f"{start} -f -a {child.path[-1]} -d {_fish_text(child.summary)}"
        for argument in node.arguments:
            if argument.choices:
                yield f"{start} -f -a '{' '.join(argument.choices)}'"
        for option in node.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
            )
            value = (
                f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.metavar else ""
            )
            yield f"{start} {names}{value} -d {_fish_text(option.help)}"


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


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
    choices = next((tuple(kind) for kind in types if issubclass(kind, Enum)), ())
    is_option = parameter.opts[0].startswith("-")
    is_flag = getattr(parameter, "is_flag", False)
    default = parameter.show_default
    return CommandParameter(
        names=tuple(sorted((*parameter.opts, *parameter.secondary_opts), key=len)) if is_option else (),
        metavar="" if is_flag else parameter.metavar or ("VALUE" if is_option else parameter.name.upper()),
        help=parameter.help or "",
        default=default if isinstance(default, str) else "",
        choices=tuple(str(choice.value) for choice in choices),
        is_path=any(issubclass(kind, Path) for kind in types),
    )
