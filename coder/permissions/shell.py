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
SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "fish"})
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
        substituted: list[str] = []
        for tokens in _split_commands(_tokens(command, substituted)):
            commands.append(_simple(tokens))
        for inner in substituted:
            parsed = parse_command(inner)
            commands += parsed.commands
            if parsed.unsure:
                raise _UncertainError(parsed.unsure)
    except _UncertainError as error:
        return ParsedCommand(commands=tuple(commands), unsure=str(error))
    return ParsedCommand(
        commands=tuple(
            simple for simple in commands if simple.words or simple.redirections or simple.assignments
        )
    )


def _substitutions(text: str) -> Iterator[str]:
    """Yield the commands that a shell substitutes in a here-document."""
    position = text.find("$(")
    while position >= 0:
        inner, end = _parse_substitution(text, position)
        yield inner
        position = text.find("$(", end)
    if "`" in text:
        raise _UncertainError("holds a command in backquotes: write $(...)")


def _parse_substitution(text: str, position: int) -> tuple[str, int]:
    """Return the command in the `$(...)` at a position, and where it ends."""
    depth, quote = 0, ""
    for index in range(position + 1, len(text)):
        character = text[index]
        if character in "'\"" and text[index - 1] != "\\":
            quote = "" if quote == character else quote or character
        depth += ((character == "(") - (character == ")")) if not quote else 0
        if not depth:
            return text[position + 2 : index], index + 1
    raise _UncertainError("a parenthesis is not closed")


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
            redirections.append(_redirection(token, target))
            if (
                words and words[-1].text.isdigit()
            ):  # the descriptor in `2>file`; mistaking an argument for one is harmless
                words.pop()
        elif not words and _ASSIGNMENT.match(token.text):
            assignments.append(token.text)
        else:
            words.append(token)
    _check(words)
    files = tuple(redirection for redirection in redirections if not redirection.operator.startswith("<<"))
    if len(files) < len(redirections) and any(word.text.rpartition("/")[2] in SHELLS for word in words):
        raise _UncertainError("gives a shell a here-document: write the commands themselves")
    return SimpleCommand(words=tuple(words), assignments=tuple(assignments), redirections=files)


def _redirection(operator: str, target: ShellWord | str | None) -> Redirection:
    if not isinstance(target, ShellWord):
        raise _UncertainError("a redirection names no file")
    if operator.startswith("&"):
        raise _UncertainError(f"{operator!r} means one thing to one shell and another to the next")
    return Redirection(operator=operator, target=target)


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


def _tokens(command: str, substituted: list[str]) -> Iterator[ShellWord | str]:
    """Yield words and operators; comments are skipped, and substituted commands added to a list."""
    position = 0
    documents: list[tuple[str, str]] = []
    before = ""
    while position < len(command):
        if command[position] in " \t":
            position += 1
        elif command.startswith("\\\n", position):
            position += 2
        elif command[position] == "#":
            position = _line_end(command, position)
        elif operator := _OPERATOR.match(command, position):
            position = operator.end()
            before = operator[0]
            yield before
            if before == "\n":
                position = _skip_here_documents(command, position, documents, substituted)
        else:
            start = position
            word, position = _word(command, position, substituted)
            if before in ("<<", "<<-"):
                documents.append((before, command[start:position]))
            before = ""
            yield word


def _skip_here_documents(
    command: str, position: int, documents: list[tuple[str, str]], substituted: list[str]
) -> int:
    """Return where the bodies of here-documents end; add the commands that a shell substitutes in them."""
    for operator, written in documents:
        end = re.sub(r"['\"\\]", "", written)
        body: list[str] = []
        while position < len(command):
            stop = _line_end(command, position)
            line, position = command[position:stop], stop + 1
            if (line.lstrip("\t") if operator == "<<-" else line) == end:
                break
            body.append(line)
        if end == written:
            substituted += _substitutions("\n".join(body))
    documents.clear()
    return min(position, len(command))


def _line_end(command: str, position: int) -> int:
    end = command.find("\n", position)
    return len(command) if end < 0 else end


def _word(command: str, position: int, substituted: list[str]) -> tuple[ShellWord, int]:
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
            piece, position, is_literal = _double_quoted(command, position, substituted)
            text, is_certain = text + piece, is_certain and is_literal
            continue
        if character == "\\" and position + 1 < len(command):
            text += command[position + 1].replace("\n", "")
            position += 2
            continue
        if command.startswith("$(", position):
            inner, position = _parse_substitution(command, position)
            substituted.append(inner)
            is_certain = False
            continue
        is_certain = is_certain and not _expands(command, position, text)
        glob = glob or character in _GLOB
        text += character
        position += 1
    return ShellWord(text=text, sure=is_certain, glob=glob), position


def _expands(command: str, position: int, before: str) -> bool:
    """Tell whether an unquoted character begins an expansion."""
    character = command[position]
    if character == "`":
        raise _UncertainError("holds a command in backquotes: write $(...)")
    if character == "~":
        return not before
    return character in "${" and command[position + 1 : position + 2] not in ("", " ", "/")


def _single_quoted(command: str, position: int) -> tuple[str, int]:
    end = command.find("'", position + 1)
    if end < 0:
        raise _UncertainError("a quote is not closed")
    return command[position + 1 : end], end + 1


def _double_quoted(command: str, position: int, substituted: list[str]) -> tuple[str, int, bool]:
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
        if character == "`":
            raise _UncertainError("holds a command in backquotes: write $(...)")
        if command.startswith("$(", position):
            inner, position = _parse_substitution(command, position)
            substituted.append(inner)
            is_certain = False
            continue
        is_certain = is_certain and character != "$"
        text += character
        position += 1
    raise _UncertainError("a quote is not closed")
