"""Takes a shell command apart into its simple commands, as far as that can be done for sure (POSIX.1, Shell Command Language, 2.3)."""

import re
from collections.abc import Iterator

from coder.core.values.base import Value

OPERATORS = ("&&", "||", ";;", "|&", "&", "|", ";", "(", ")", "\n")
REDIRECTIONS = ("<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">", "&>>", "&>")
FRAMING = frozenset({"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!"})
"""Reserved words around commands: whatever the shell makes of them, those commands are all that can run."""
RESERVED = frozenset({"case", "esac", "select", "function", "[[", "coproc"})
SPECIAL = frozenset(
    {"eval", "source", ".", "exec", "alias", "unalias", "trap", "set", "shopt", "enable", "hash", "builtin"}
)
"""What changes how the rest of the line is read."""
_OPERATOR = re.compile("|".join(map(re.escape, sorted((*OPERATORS, *REDIRECTIONS), key=len, reverse=True))))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_GLOB = frozenset("*?[")


class Word(Value):
    """One word of a command, quotes removed."""

    text: str
    sure: bool = True
    """False: what it will be is only known when it runs (a variable, a substitution, a brace expansion)."""
    glob: bool = False


class Redirection(Value):
    """Where a command reads from or writes to."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        return (
            ">" in self.operator
            and not self.target.text.isdigit()
            and self.target.text not in ("-", "/dev/null")
        )


class Simple(Value):
    """A program and its arguments."""

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()
    redirections: tuple[Redirection, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words[1:])


class Parsed(Value):
    """What a shell command consists of."""

    commands: tuple[Simple, ...] = ()
    unsure: str = ""
    """Why this is not all of it, half a sentence; empty: every program that it starts is known."""


class _Unsure(Exception):
    """The command cannot be read for sure; the text says why."""


def parse(command: str) -> Parsed:
    """The simple commands in order of lists, pipelines and subshells, as far as they can be told before it runs."""
    found: list[Simple] = []
    try:
        for tokens in _separated(_tokens(command)):
            found.append(_simple(tokens))
    except _Unsure as error:
        return Parsed(commands=tuple(found), unsure=str(error))
    return Parsed(
        commands=tuple(
            simple for simple in found if simple.words or simple.redirections or simple.assignments
        )
    )


def _separated(tokens: Iterator[Word | str]) -> Iterator[list[Word | str]]:
    part: list[Word | str] = []
    for token in tokens:
        if isinstance(token, str) and token in OPERATORS:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _simple(tokens: list[Word | str]) -> Simple:
    while tokens and isinstance(tokens[0], Word) and tokens[0].text in FRAMING:
        tokens = tokens[1:]
    if tokens and isinstance(tokens[0], Word) and tokens[0].text == "for":
        return _loop(tokens)
    words: list[Word] = []
    assignments: list[str] = []
    redirections: list[Redirection] = []
    rest = iter(tokens)
    for token in rest:
        if isinstance(token, str):
            target = next(rest, None)
            if not isinstance(target, Word) or token.startswith("<<"):
                raise _Unsure("it holds a here-document")
            if token.startswith("&"):
                raise _Unsure(f"{token!r} means one thing to one shell and another to the next")
            redirections.append(Redirection(operator=token, target=target))
            if (
                words and words[-1].text.isdigit()
            ):  # the descriptor in `2>file`; an argument taken for one is no harm
                words.pop()
        elif not words and _ASSIGNMENT.match(token.text):
            assignments.append(token.text)
        else:
            words.append(token)
    _check(words)
    return Simple(words=tuple(words), assignments=tuple(assignments), redirections=tuple(redirections))


def _loop(tokens: list[Word | str]) -> Simple:
    """The head of a `for` loop runs nothing; what it does stands after the `do`, which a separator must set apart."""
    words = [token.text for token in tokens if isinstance(token, Word)]
    if len(words) < len(tokens) or len(words) < 2 or words[2:3] not in ([], ["in"]):
        raise _Unsure("'for' makes it a program of its own")
    return Simple(words=())


def _check(words: list[Word]) -> None:
    """Raises _Unsure where the first word does not tell which program runs."""
    if not words:
        return
    first = words[0]
    if not first.sure or first.glob:
        raise _Unsure("which program it starts is only known when it runs")
    if first.text in RESERVED or first.text in SPECIAL:
        raise _Unsure(f"{first.text!r} makes it a program of its own")


def _tokens(command: str) -> Iterator[Word | str]:
    """Words and operators; a comment is left out."""
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


def _word(command: str, position: int) -> tuple[Word, int]:
    text, sure, glob = "", True, False
    while (
        position < len(command) and command[position] not in " \t" and not _OPERATOR.match(command, position)
    ):
        character = command[position]
        if character == "'":
            piece, position = _single_quoted(command, position)
            text += piece
            continue
        if character == '"':
            piece, position, fixed = _double_quoted(command, position)
            text, sure = text + piece, sure and fixed
            continue
        if character == "\\" and position + 1 < len(command):
            text += command[position + 1].replace("\n", "")
            position += 2
            continue
        sure = sure and not _expands(command, position, text)
        glob = glob or character in _GLOB
        text += character
        position += 1
    return Word(text=text, sure=sure, glob=glob), position


def _expands(command: str, position: int, before: str) -> bool:
    """Does an unquoted character begin what the shell replaces by something else?"""
    character = command[position]
    if character == "`" or command.startswith("$(", position):
        raise _Unsure("it holds a command substitution")
    if character == "~":
        return not before
    return character in "${" and command[position + 1 : position + 2] not in ("", " ", "/")


def _single_quoted(command: str, position: int) -> tuple[str, int]:
    end = command.find("'", position + 1)
    if end < 0:
        raise _Unsure("a quote is not closed")
    return command[position + 1 : end], end + 1


def _double_quoted(command: str, position: int) -> tuple[str, int, bool]:
    text, sure = "", True
    position += 1
    while position < len(command):
        character = command[position]
        if character == '"':
            return text, position + 1, sure
        if character == "\\" and command[position + 1 : position + 2] in ("$", "`", '"', "\\", "\n"):
            text += command[position + 1].replace("\n", "")
            position += 2
            continue
        if character == "`" or command.startswith("$(", position):
            raise _Unsure("it holds a command substitution")
        sure = sure and character != "$"
        text += character
        position += 1
    raise _Unsure("a quote is not closed")
