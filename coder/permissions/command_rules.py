"""Shell commands as far as they are certain, and rules: which programs run, are asked about, or are denied.

POSIX.1, Shell Command Language, 2.3.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from posixpath import normpath
from typing import Literal

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
    for is_between, part in groupby(tokens, key=lambda token: token in OPERATORS):
        if not is_between:
            yield [*part]


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
    text, is_certain, glob, quote = "", True, False, ""
    while position < len(command):
        character, following = command[position], command[position + 1 : position + 2]
        if character == quote:
            quote = ""
        elif quote == "'":
            text += character
        elif character == "`":
            raise _UncertainError("holds a command in backquotes: write $(...)")
        elif character + following == "$(":
            inner, position = _parse_substitution(command, position)
            substituted.append(inner)
            is_certain = False
            continue
        elif character == "\\" and following and (not quote or following in '$`"\\\n'):
            text += following.replace("\n", "")
            position += 1
        elif not quote and character in "'\"":
            quote = character
        elif not quote and (character in " \t" or _OPERATOR.match(command, position)):
            break
        else:
            is_certain = is_certain and not _expands(character, following, before=text, quote=quote)
            glob = glob or (not quote and character in _GLOB)
            text += character
        position += 1
    if quote:
        raise _UncertainError("a quote is not closed")
    return ShellWord(text=text, sure=is_certain, glob=glob), position


def _expands(character: str, following: str, *, before: str, quote: str) -> bool:
    """Tell whether a character begins an expansion."""
    if quote or character == "~":
        return character == "$" or not (quote or before)
    return character in "${" and following not in ("", " ", "/")


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
_SCRIPT = re.compile(r"-[elux]*c")
SCRATCH = re.compile(r"(?:\$TMPDIR|\$\{TMPDIR\}|/tmp)/(?!.*\.\.)[\w./@%+=:,-]*")
"""Scratch files of a command: private to the sandbox."""


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
    known = not first.glob and all(word.sure or SCRATCH.fullmatch(word.text) for word in simple.words)
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
    """Parse a rule of a configuration, such as `make test`, `npm run *` or, on MCP servers, `mcp__time__*`.

    Raises:
        ValueError: it is empty, or holds more than one plain command.
    """
    if re.fullmatch(r"mcp__[\w*-]+", pattern):
        return Rule(action=action, program=pattern, why="as you have set")
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


PUBLISHERS = ("npm", "yarn", "pnpm", "cargo", "poetry", "uv", "flit", "hatch")


def _rules(action: Action, why: str, patterns: str, *, network: bool = False) -> Iterator[Rule]:
    for pattern in patterns.split(", "):
        program, *arguments = pattern.split()
        yield Rule(action=action, program=program, arguments=tuple(arguments), why=why, network=network)


BUILT_IN: tuple[Rule, ...] = (
    *_rules("deny", "would publish: only you send what leaves this machine", "git push, git send-email"),
    *_rules("deny", "would publish", "twine upload, gem push, docker push, podman push, gh, hub, glab"),
    *_rules("deny", "would publish", ", ".join(f"{program} publish" for program in PUBLISHERS)),
    *_rules("deny", "changes where git sends and fetches", "git remote add, git remote set-url"),
    *_rules("deny", "changes where git sends and fetches", "git config *url*, git config --global"),
    *_rules("deny", "takes another user's rights", "sudo, su, doas, pkexec, runuser"),
    *_rules("deny", "changes this machine", "mount, umount, mkfs*, fdisk, shutdown, reboot, systemctl"),
    *_rules("deny", "changes this machine", "crontab, insmod"),
    *_rules("ask", "installs packages", "pip* install, pip* download, python* -m pip install", network=True),
    *_rules("ask", "installs packages", "uv add, uv sync, uv pip install, uv tool", network=True),
    *_rules("ask", "installs packages", "poetry add, poetry install, conda install", network=True),
    *_rules("ask", "installs packages", "npm install, npm i, npm ci, npx, yarn add", network=True),
    *_rules("ask", "installs packages", "yarn install, pnpm install, gem install", network=True),
    *_rules("ask", "installs packages", "cargo install, cargo add, go get, go install", network=True),
    *_rules("ask", "installs packages", "bundle install, apt*, yum, dnf, apk, brew", network=True),
    *_rules("ask", "reaches the network", "curl, wget, aria2c, http, https, ftp, ssh, scp", network=True),
    *_rules("ask", "reaches the network", "sftp, rsync, nc, ncat, netcat, socat, telnet", network=True),
    *_rules("ask", "reaches the network", "nslookup, dig, host, ping, git submodule update", network=True),
    *_rules("ask", "reaches the network", "git fetch, git pull, git clone, git ls-remote", network=True),
    *_rules("ask", "controls other machines", "docker, podman, kubectl, helm, terraform", network=True),
    *_rules("ask", "controls other machines", "aws, gcloud, az, heroku", network=True),
)
INTERPRETERS = SHELLS | {"python", "python3", "perl", "ruby", "node"}
FETCHERS = frozenset({"curl", "wget", "aria2c", "http", "https", "ftp", "nc", "ncat"})
CHANGES = frozenset(
    {"rm", "rmdir", "shred", "unlink", "mv", "dd", "truncate", "chmod", "chown", "chgrp", "ln", "tee", "cp"}
)
"""Programs that change the files they are told."""


def find_built_in_rule(run: ProgramRun, *, root: str, is_sandboxed: bool = False) -> Rule | None:
    """Return the built-in rule for a program; `root` is the directory that commands start in."""
    if is_sandboxed and run.names[0] == "npx" and _is_installed(run, root):
        return None
    if found := select_rule(BUILT_IN, run):
        return found
    name = run.names[0]
    outside = [argument for argument in run.arguments if may_leave_root(argument, root)]
    if name in CHANGES and any(not (is_sandboxed and SCRATCH.fullmatch(argument)) for argument in outside):
        return Rule(
            action="deny" if name in ("rm", "shred") else "ask",
            program=name,
            why="reaches outside of the repository",
        )
    return None


def _is_installed(run: ProgramRun, root: str) -> bool:
    """Tell whether npx runs a program of the project's own `node_modules`."""
    name = run.arguments[0] if run.arguments else "/"
    return run.sure and "/" not in name and Path(root, "node_modules", ".bin", name).exists()


def pipes_download_into_shell(found: Sequence[ProgramRun]) -> bool:
    """Tell whether something from the network is piped into a shell or an interpreter."""
    fed = any(INTERPRETERS & set(run.names) and _reads_input(run) for run in found)
    return fed and any(FETCHERS & set(run.names) for run in found)


def _reads_input(run: ProgramRun) -> bool:
    return all(argument in ("-", "-s", "-x", "-e") for argument in run.arguments)


def depends_on_arguments(rules: Iterable[Rule], run: ProgramRun) -> bool:
    """Tell whether any rule, set or built in, judges this program by its arguments."""
    return bool({*CHANGES, *INTERPRETERS} & set(run.names)) or any(
        rule.action != "allow" and any(fnmatchcase(name, rule.program) for name in run.names)
        for rule in (*rules, *BUILT_IN)
    )


def may_leave_root(argument: str, root: str) -> bool:
    """Tell whether an argument may name a file outside of `root`: as path, `--option=path` or `-opath`."""
    for text in (argument, argument.partition("=")[2], argument[2:] if argument.startswith("-") else ""):
        if text.startswith("~") or (
            text.startswith("/") and not f"{normpath(text)}/".startswith(f"{root}/") and text != "/dev/null"
        ):
            return True
        if normpath(text or ".").startswith(".."):
            return True
    return False
