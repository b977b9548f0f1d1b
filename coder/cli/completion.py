"""`coder completion`: completion scripts for shells, with all commands and options written out."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coder.cli.app import CommandNode, CommandParameter

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


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print a completion script; pressing tab then starts no program.

    bash and zsh: eval "$(coder completion bash)" in the start-up file; fish: coder completion fish | source.
    """
    from coder.cli.app import app, read_command_tree

    print(render_completion(shell, read_command_tree(app)), end="")


def render_completion(shell: Shell, root: "CommandNode") -> str:
    """Return the completion script of a shell."""
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
