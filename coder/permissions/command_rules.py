"""Command rules: which programs run, are asked about, or are denied, by program and arguments."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from coder.core.values.base import Value
from coder.permissions.shell import ParsedCommand, SimpleCommand, parse_command

Action = Literal["allow", "ask", "deny"]
Mode = Literal["read-only", "ask", "auto-edit", "full"]
"""From the strictest to the widest."""


class Rule(Value):
    """A rule on a program with certain arguments: allow, ask or deny."""

    action: Action
    program: str
    """The file's name, without its directory; `*` is any."""
    arguments: tuple[str, ...] = ()
    """Globs.

    For `allow` they match all arguments one by one, and a last `*` matches any that follow. For `ask` and
    `deny` they occur among the arguments in this order, with options alone before the first: `git push`
    matches `git -C there push --force`.
    """
    why: str = ""
    """What the program would do, for the user: `installs packages`."""
    network: bool = False
    """It is of no use without the network."""

    def __str__(self) -> str:
        network = " with network" if self.network else ""
        return f"{' '.join((self.program, *self.arguments))}{network}"

    def matches(self, run: "ProgramRun") -> bool:
        if not any(fnmatchcase(name, self.program) for name in run.names):
            return False
        if self.action != "allow":
            return any(_occur(self.arguments, run.arguments[start:]) for start in _starts(run.arguments))
        if not run.sure:
            return False
        wanted, given = self.arguments, run.arguments
        if wanted and wanted[-1] == "*":
            wanted, given = wanted[:-1], given[: len(wanted) - 1]
        return len(wanted) == len(given) and all(map(fnmatchcase, given, wanted))


class ProgramRun(Value):
    """One program that a command starts."""

    names: tuple[str, ...]
    """Its name as written, without the directory once resolved, and the name of the file that it links to."""
    arguments: tuple[str, ...] = ()
    sure: bool = True
    """Whether every argument is known literally."""
    known: bool = True
    """Whether its action is known, though perhaps not its files."""
    own: bool = False
    """Whether it is a file of the project."""


def _starts(arguments: Sequence[str]) -> Iterator[int]:
    """Where a subcommand may stand: after options alone, each with or without a value."""
    yield 0
    for index, argument in enumerate(arguments):
        if argument.startswith("-"):
            yield from (index + 1, index + 2)
        elif not index or not arguments[index - 1].startswith("-"):
            return


def _occur(wanted: Sequence[str], arguments: Sequence[str]) -> bool:
    """Tell whether the first glob matches the first argument, and the others follow in order."""
    if not wanted:
        return True
    rest = iter(arguments[1:])
    first = bool(arguments) and fnmatchcase(arguments[0], wanted[0])
    return first and all(any(fnmatchcase(argument, glob) for argument in rest) for glob in wanted[1:])


WRAPPERS = {
    "env": 0,
    "nohup": 0,
    "time": 0,
    "nice": 0,
    "ionice": 0,
    "stdbuf": 0,
    "setsid": 0,
    "command": 0,
    "timeout": 1,
    "xargs": 0,
}
"""Programs that start the one their arguments name, after so many arguments of their own."""
SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "fish"})
_SCRIPT = re.compile(r"-[elux]*c")


def find_program_runs(parsed: ParsedCommand) -> tuple[tuple[ProgramRun, ...], str]:
    """Return the programs that a command starts, also through wrappers, and why there may be others."""
    found: list[ProgramRun] = []
    unsure = parsed.unsure
    for simple in parsed.commands:
        inner, doubt = _unwrap(simple)
        found += inner
        unsure = unsure or doubt
    if any(simple.assignments and not simple.words for simple in parsed.commands):  # PATH=. is one of them
        found = [run.model_copy(update={"sure": False}) for run in found]
    return tuple(found), unsure


def _unwrap(simple: SimpleCommand) -> tuple[list[ProgramRun], str]:
    if not simple.words:
        return [], ""
    sure = not simple.assignments and all(word.sure and not word.glob for word in simple.words)
    first = next((word for word in simple.words[1:] if not word.text.startswith("-")), simple.words[0])
    known = not first.glob and all(word.sure for word in simple.words)
    whole = ProgramRun(names=(simple.words[0].text,), arguments=simple.arguments, sure=sure, known=known)
    name = whole.names[0].rpartition("/")[2]
    if name in SHELLS and len(simple.words) > 2 and _SCRIPT.fullmatch(simple.words[1].text):
        inner, doubt = find_program_runs(parse_command(simple.words[2].text))
        return [whole, *inner], doubt if simple.words[
            2
        ].sure else "what a shell is told is only known when it runs"
    start = _inner(name, simple)
    if start is None or start >= len(simple.words):
        return [whole], _doubt(name, simple)
    inner_runs, doubt = _unwrap(simple.model_copy(update={"words": simple.words[start:]}))
    if name == "xargs":  # what it reads becomes arguments
        inner_runs = [inner.model_copy(update={"sure": False, "known": False}) for inner in inner_runs]
    return [whole, *inner_runs], doubt or _doubt(name, simple)


def _inner(name: str, simple: SimpleCommand) -> int | None:
    """Where in the words the program stands that another one starts."""
    texts = [word.text for word in simple.words]
    if name == "find":
        return next(
            (index + 1 for index, text in enumerate(texts) if text in ("-exec", "-execdir", "-ok", "-okdir")),
            None,
        )
    if name not in WRAPPERS:
        return None
    index = 1
    while index < len(texts) and (texts[index].startswith("-") or (name == "env" and "=" in texts[index])):
        index += 2 if texts[index] in ("-n", "-s", "-k", "-P", "-I", "-u", "-c", "-L") else 1
    return index + WRAPPERS[name]


def _doubt(name: str, simple: SimpleCommand) -> str:
    """Why a simple command's words do not tell what it does."""
    if name == "env" and any(word.text.startswith(("-S", "--split")) for word in simple.words):
        return "what env splits is only known when it runs"
    return ""


def select_rule(rules: Iterable[Rule], run: ProgramRun) -> Rule | None:
    """Return the strictest of the rules that fit; None where none does."""
    fitting = [rule for rule in rules if rule.matches(run)]
    return next(
        (rule for action in ("deny", "ask", "allow") for rule in fitting if rule.action == action), None
    )


def parse_rule(pattern: str, action: Action) -> Rule:
    """Parse a rule of a configuration, such as `make test` or `npm run *`.

    Raises:
        ValueError: it is empty, or holds more than one plain command.
    """
    parsed = parse_command(pattern)
    if (
        parsed.unsure
        or len(parsed.commands) != 1
        or not parsed.commands[0].words
        or parsed.commands[0].redirections
    ):
        raise ValueError(f"{pattern!r} is no single command")
    words = parsed.commands[0].words
    return Rule(
        action=action,
        program=words[0].text,
        arguments=tuple(word.text for word in words[1:]),
        why="as you have set",
    )
