"""Parsing of a shell command into simple commands, as far as that is certain.

See POSIX.1, Shell Command Language, 2.3.
"""

import re
from collections.abc import Iterator

from coder.core.values import Value

OPERATORS = ("&&", "||", ";;", "|&", "&", "|", ";", "(", ")", "\n")
REDIRECTIONS = ("<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">", "&>>", "&>")
STRUCTURAL_WORDS = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!"}
)
"""Reserved words around commands: however the shell interprets them, only those commands can run."""
RESERVED = frozenset({"case", "esac", "select", "function", "[[", "coproc"})
STATE_CHANGING_COMMANDS = frozenset(
    {"eval", "source", ".", "exec", "alias", "unalias", "trap", "set", "shopt", "enable", "hash", "builtin"}
)
"""Commands that change how the rest of the line is interpreted."""
_OPERATOR = re.compile("|".join(map(re.escape, sorted((*OPERATORS, *REDIRECTIONS), key=len, reverse=True))))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_GLOB = frozenset("*?[")


class ShellWord(Value):
    """One word of a command, quotes removed."""

    text: str
    sure: bool = True
    """False: its value is only known at run time (a variable, a substitution, a brace expansion)."""
    glob: bool = False


class Redirection(Value):
    """A redirection of a command's input or output."""

    operator: str
    target: ShellWord

    @property
    def writes(self) -> bool:
        """Whether it writes to a file."""
        return (
            ">" in self.operator
            and not self.target.text.isdigit()
            and self.target.text not in ("-", "/dev/null")
        )


class SimpleCommand(Value):
    words: tuple[ShellWord, ...]
    assignments: tuple[str, ...] = ()
    redirections: tuple[Redirection, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words after the program."""
        return tuple(word.text for word in self.words[1:])


class ParsedCommand(Value):
    commands: tuple[SimpleCommand, ...] = ()
    unsure: str = ""
    """Why parsing is incomplete, half a sentence; empty: every program that it starts is known."""


class _UncertainError(Exception):
    """The command cannot be parsed with certainty; the text says why."""


def parse_command(command: str) -> ParsedCommand:
    """Parse the simple commands of lists, pipelines and subshells, in order.

    Parsing stops where a command is not certain before it runs.
    """
    commands: list[SimpleCommand] = []
    try:
        for tokens in _split_commands(_tokens(command)):
            commands.append(_simple(tokens))
    except _UncertainError as error:
        return ParsedCommand(commands=tuple(commands), unsure=str(error))
    return ParsedCommand(
        commands=tuple(
            simple for simple in commands if simple.words or simple.redirections or simple.assignments
        )
    )


def _split_commands(tokens: Iterator[ShellWord | str]) -> Iterator[list[ShellWord | str]]:
    part: list[ShellWord | str] = []
    for token in tokens:
        if isinstance(token, str) and token in OPERATORS:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _simple(tokens: list[ShellWord | str]) -> SimpleCommand:
    while tokens and isinstance(tokens[0], ShellWord) and tokens[0].text in STRUCTURAL_WORDS:
        tokens = tokens[1:]
    if tokens and isinstance(tokens[0], ShellWord) and tokens[0].text == "for":
        return _loop(tokens)
    words: list[ShellWord] = []
    assignments: list[str] = []
    redirections: list[Redirection] = []
    rest = iter(tokens)
    for token in rest:
        if isinstance(token, str):
            target = next(rest, None)
            if not isinstance(target, ShellWord) or token.startswith("<<"):
                raise _UncertainError("holds a here-document")
            if token.startswith("&"):
                raise _UncertainError(f"{token!r} means one thing to one shell and another to the next")
            redirections.append(Redirection(operator=token, target=target))
            if (
                words and words[-1].text.isdigit()
            ):  # the descriptor in `2>file`; mistaking an argument for one is harmless
                words.pop()
        elif not words and _ASSIGNMENT.match(token.text):
            assignments.append(token.text)
        else:
            words.append(token)
    _check(words)
    return SimpleCommand(words=tuple(words), assignments=tuple(assignments), redirections=tuple(redirections))


def _loop(tokens: list[ShellWord | str]) -> SimpleCommand:
    """Parse the head of a `for` loop, which runs nothing; its body follows the `do`, after a separator."""
    words = [token.text for token in tokens if isinstance(token, ShellWord)]
    if len(words) < len(tokens) or len(words) < 2 or words[2:3] not in ([], ["in"]):
        raise _UncertainError("'for' makes it a program of its own")
    return SimpleCommand(words=())


def _check(words: list[ShellWord]) -> None:
    """Raise _UncertainError where the first word does not determine the program."""
    if not words:
        return
    first = words[0]
    if not first.sure or first.glob:
        raise _UncertainError("which program it starts is only known when it runs")
    if first.text in RESERVED or first.text in STATE_CHANGING_COMMANDS:
        raise _UncertainError(f"{first.text!r} makes it a program of its own")


def _tokens(command: str) -> Iterator[ShellWord | str]:
    """Yield words and operators; comments are skipped."""
    position = 0
    while position < len(command):
        if command[position] in " \t":
            position += 1
        elif command.startswith("\\\n", position):
            position += 2
        elif command[position] == "#":
            position = _line_end(command, position)
        elif operator := _OPERATOR.match(command, position):
            position = operator.end()
            yield operator[0]
        else:
            word, position = _word(command, position)
            yield word


def _line_end(command: str, position: int) -> int:
    end = command.find("\n", position)
    return len(command) if end < 0 else end


def _word(command: str, position: int) -> tuple[ShellWord, int]:
    text, is_certain, glob = "", True, False
    while (
        position < len(command) and command[position] not in " \t" and not _OPERATOR.match(command, position)
    ):
        character = command[position]
        if character == "'":
            piece, position = _single_quoted(command, position)
            text += piece
            continue
        if character == '"':
            piece, position, is_literal = _double_quoted(command, position)
            text, is_certain = text + piece, is_certain and is_literal
            continue
        if character == "\\" and position + 1 < len(command):
            text += command[position + 1].replace("\n", "")
            position += 2
            continue
        is_certain = is_certain and not _expands(command, position, text)
        glob = glob or character in _GLOB
        text += character
        position += 1
    return ShellWord(text=text, sure=is_certain, glob=glob), position


def _expands(command: str, position: int, before: str) -> bool:
    """Tell whether an unquoted character begins an expansion."""
    character = command[position]
    if character == "`" or command.startswith("$(", position):
        raise _UncertainError("holds a command substitution")
    if character == "~":
        return not before
    return character in "${" and command[position + 1 : position + 2] not in ("", " ", "/")


def _single_quoted(command: str, position: int) -> tuple[str, int]:
    end = command.find("'", position + 1)
    if end < 0:
        raise _UncertainError("a quote is not closed")
    return command[position + 1 : end], end + 1


def _double_quoted(command: str, position: int) -> tuple[str, int, bool]:
    text, is_certain = "", True
    position += 1
    while position < len(command):
        character = command[position]
        if character == '"':
            return text, position + 1, is_certain
        if character == "\\" and command[position + 1 : position + 2] in ("$", "`", '"', "\\", "\n"):
            text += command[position + 1].replace("\n", "")
            position += 2
            continue
        if character == "`" or command.startswith("$(", position):
            raise _UncertainError("holds a command substitution")
        is_certain = is_certain and character != "$"
        text += character
        position += 1
    raise _UncertainError("a quote is not closed")
