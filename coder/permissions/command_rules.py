"""Programs that a shell command starts, and rules on them: allow, ask or deny.

The sandbox is what holds a command. Rules find the programs that are of no use inside it or speak to the
world, and what the user has named; a command whose programs are not certain before it runs is asked about.
POSIX.1, Shell Command Language, 2.3.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import escape
from posixpath import join, normpath
from typing import Literal

from coder.core.values import Value

UNKNOWN = "\0"
"""Ends a word whose rest is only known at run time: a variable, a substitution, a glob, a brace expansion."""
SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "fish"})
_STRUCTURAL = frozenset({"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!"})
"""Reserved words around commands: however the shell interprets them, only those commands can run."""
_UNCERTAIN = frozenset(
    {"case", "esac", "select", "function", "coproc", "eval", "source", ".", "exec", "alias", "trap"}
    | {"enable", "hash", "builtin"}
)
"""Words that change how the rest of the line is interpreted."""
_WRAPPERS = {
    **dict.fromkeys(("nohup", "setsid", "command"), "-$"),
    **dict.fromkeys(SHELLS, "[-+][oO]|--rcfile|--init-file"),
    "env": "-[uC]",
    "time": "-[of]",
    "nice": "-n",
    "ionice": "-[cnp]",
    "stdbuf": "-[ioe]",
    "timeout": "-[ks]|--signal|--kill-after",
    "xargs": "-[adEILnPs]",
}
"""Programs that start what their arguments name, and their options whose value is the next argument."""
_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t]|\\\n)+|\#[^\n]*)
      |(?P<redirection>(?:&>>?|\d*(?:<<<|<<-?|<>|<&|>>|>&|>\||[<>]))[ \t]*)
      |(?P<operator>&&|\|\||;;|\|&|[&|;()\n])""",
    re.VERBOSE,
)
_ARITHMETIC = r"\$\(\([^()`]*\)\)"
_EXPANSION = rf"""(?P<quote>")|(?P<expansion>{_ARITHMETIC})|(?P<substitution>\$(?=\())|(?P<variable>\$)"""
_BARE = re.compile(
    rf"""(?P<text>[^ \t\n'"\\`$&|;()<>]+)|'(?P<single>[^']*)'|\\(?P<escaped>.)|{_EXPANSION}""", re.DOTALL
)
_QUOTED = re.compile(rf"""(?P<text>(?:[^"\\`$]|\\.)+)|{_EXPANSION}""", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


class ProgramRun(Value):
    """One program that a command starts."""

    words: tuple[str, ...]
    """The program as written and its arguments, quotes removed; see UNKNOWN."""
    file: str = ""
    """The name of the file that it starts, links resolved; empty: not looked up."""
    is_own: bool = False
    """Whether that may be a file of the project, which can change."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.words[0], self.words[0].rpartition("/")[2], self.file or self.words[0]})

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]

    @property
    def is_literal(self) -> bool:
        """Whether every word is known before it runs."""
        return not any(UNKNOWN in word for word in self.words)


@dataclass
class ParsedCommand:
    runs: list[ProgramRun] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """Files that redirections name."""
    sets_variables: bool = False
    """Whether there is an assignment; PATH could be the variable."""
    unsure: str = ""
    """Why parsing is incomplete, half a sentence; empty: every program that it starts is known."""


class _UncertainError(Exception):
    """The command cannot be parsed with certainty; the text says why."""


def parse_command(command: str) -> ParsedCommand:
    """Return the programs of lists, pipelines, subshells and substitutions, also those behind wrappers.

    Parsing stops where a command is not certain before it runs, in any shell.
    """
    parsed = ParsedCommand()
    try:
        _Parser(command, parsed).parse_list()
    except _UncertainError as error:
        parsed.unsure = str(error)
    except RecursionError:
        parsed.unsure = "is nested too deeply"
    return parsed


class _Parser:
    """Recursive descent into a command; raises _UncertainError."""

    def __init__(self, text: str, parsed: ParsedCommand) -> None:
        self._parsed = parsed
        self._text = text
        self._position = 0
        self._documents: list[tuple[str, str, bool]] = []
        """Here-documents that begin at the next line: operator, delimiter, whether the shell expands them."""

    def parse_list(self, *, is_substitution: bool = False) -> None:
        """Parse up to the end, or a substitution from its parenthesis to behind the one that closes it."""
        words: list[str] = []
        depth, has_document = 0, False
        while self._position < len(self._text):
            token = _TOKEN.match(self._text, self._position)
            if token is None:
                words.append(self._parse_word())
                continue
            self._position = token.end()
            if token.lastgroup == "redirection":
                has_document |= self._redirect(token["redirection"].strip("0123456789 \t"))
            elif token.lastgroup == "operator":
                self._end_command(words, has_document=has_document)
                words, has_document = [], False
                if token[0] == "\n":
                    self._skip_documents()
                if token[0] == "(" and self._text.startswith("(", self._position):
                    raise _UncertainError("'((' is arithmetic to one shell and subshells to the next")
                depth += (token[0] == "(") - (token[0] == ")")
                if is_substitution and not depth:
                    return
        if is_substitution:
            raise _UncertainError("a parenthesis is not closed")
        self._end_command(words, has_document=has_document)

    def _parse_word(self) -> str:
        text, is_quoted = "", False
        while piece := (_QUOTED if is_quoted else _BARE).match(self._text, self._position):
            self._position = piece.end()
            match piece.lastgroup:
                case "quote":
                    is_quoted = not is_quoted
                case "text" if is_quoted:
                    text += re.sub(r'\\([$`"\\\n])', lambda escaped: escaped[1].strip("\n"), piece[0])
                case "text":
                    text += re.sub(r"(^~)|[*?]|\[(?!\[?$)|\{(?!\}?$)", rf"\g<1>{UNKNOWN}", piece[0])
                case "single":
                    text += piece["single"]
                case "escaped":
                    text += piece["escaped"].strip("\n")
                case "substitution":
                    self.parse_list(is_substitution=True)
                    text += UNKNOWN
                case _:
                    text += UNKNOWN
        if self._text.startswith("`", self._position):
            raise _UncertainError("holds a command in backquotes: write $(...)")
        if is_quoted or self._text.startswith(("'", "\\"), self._position):
            raise _UncertainError("a quote is not closed")
        before, unknown, _ = text.partition(UNKNOWN)
        return before + unknown

    def _redirect(self, operator: str) -> bool:
        """Parse the target of a redirection, and tell whether it is a here-document."""
        start = self._position
        target = self._parse_word()
        if self._position == start:
            raise _UncertainError("a redirection names no file")
        if operator.startswith("&"):
            raise _UncertainError(f"{operator!r} means one thing to one shell and another to the next")
        if operator in ("<<", "<<-"):
            self._documents.append((operator, target, target == self._text[start : self._position]))
        elif operator != "<<<" and not target.isdigit() and target not in ("-", "/dev/null"):
            self._parsed.files.append(target)
        return operator.startswith("<<")

    def _skip_documents(self) -> None:
        """Skip the bodies of here-documents; parse the commands that a shell substitutes in them."""
        for operator, delimiter, is_expanded in self._documents:
            body = ""
            while self._position < len(self._text):
                end = self._text.find("\n", self._position)
                line = self._text[self._position : end if end >= 0 else None]
                self._position += len(line) + 1
                if (line.lstrip("\t") if operator == "<<-" else line) == delimiter:
                    break
                body += f"{line}\n"
            if is_expanded:
                _Parser(re.sub(_ARITHMETIC, "", body), self._parsed).parse_document()
        self._documents.clear()

    def parse_document(self) -> None:
        """Parse the substitutions in the body of a here-document."""
        while (start := self._text.find("$(", self._position)) >= 0:
            self._position = start + 1
            self.parse_list(is_substitution=True)
        if "`" in self._text:
            raise _UncertainError("holds a command in backquotes: write $(...)")

    def _end_command(self, words: list[str], *, has_document: bool) -> None:
        """Add the runs of a simple command."""
        start = next((index for index, word in enumerate(words) if word not in _STRUCTURAL), len(words))
        words = words[start:]
        if words[:1] == ["for"]:  # its head runs nothing; its body follows the `do`, after a separator
            if len(words) < 2 or words[2:3] not in ([], ["in"]):
                raise _UncertainError("'for' makes it a program of its own")
            return
        while words and _ASSIGNMENT.match(words[0]):
            self._parsed.sets_variables = True
            del words[0]
        if has_document and any(word.rpartition("/")[2] in SHELLS for word in words):
            raise _UncertainError("gives a shell a here-document: write the commands themselves")
        self._add_run(tuple(words))

    def _add_run(self, words: tuple[str, ...]) -> None:
        """Add a program, and those that it starts itself."""
        if not words:
            return
        if UNKNOWN in words[0]:
            raise _UncertainError("which program it starts is only known when it runs")
        if words[0] in _UNCERTAIN:
            raise _UncertainError(f"{words[0]!r} makes it a program of its own")
        self._parsed.runs.append(ProgramRun(words=words))
        name = words[0].rpartition("/")[2]
        for inner in _started_programs(name, words):
            if name not in SHELLS:
                self._add_run(inner)
            elif UNKNOWN in inner[0]:
                raise _UncertainError("what a shell is told is only known when it runs")
            else:
                _Parser(inner[0], self._parsed).parse_list()
            if name == "xargs" and inner:  # what it reads becomes arguments
                self._parsed.runs.append(ProgramRun(words=(inner[0], UNKNOWN)))


def _started_programs(name: str, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the commands that a wrapper or `find` starts; of a shell the script, and its arguments."""
    if name == "find":
        starts = [i + 1 for i, word in enumerate(words) if word in ("-exec", "-execdir", "-ok", "-okdir")]
        yield from (tuple(words[start:]) for start in starts)
    elif name in _WRAPPERS and words[:2] not in (("command", "-v"), ("command", "-V")):
        index = 1
        takes_variables = name in ("env", "time")
        while words[index:] and (
            words[index].startswith(("-", "+"))
            or (takes_variables and ("=" in words[index] or words[index] in _STRUCTURAL))
        ):
            if name == "env" and re.match(r"-\w*S|--split", words[index]):
                raise _UncertainError("what env splits is only known when it runs")
            index += 2 if re.fullmatch(_WRAPPERS[name], words[index]) else 1
        is_script = any(re.fullmatch(r"-[a-z]*c", word) for word in words[:index])
        if words[index:] and (is_script or name not in SHELLS):
            yield tuple(words[index + (name == "timeout") :])


Action = Literal["allow", "ask", "deny"]
Mode = Literal["read-only", "ask", "auto-edit", "full"]
"""From the strictest to the widest."""


class Rule(Value):
    """A rule on a program with certain arguments: allow, ask or deny."""

    action: Action
    program: str
    """The file's name, for `ask` and `deny` with or without its directory; `*` is any."""
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

    def matches(self, run: ProgramRun) -> bool:
        if self.action != "allow":
            return self._occurs(run, guess=False)
        wanted, given = self.arguments, run.arguments
        if wanted and wanted[-1] == "*":
            wanted, given = wanted[:-1], given[: len(wanted) - 1]
        is_program = run.is_literal and fnmatchcase(run.words[0], self.program)
        return is_program and len(wanted) == len(given) and all(map(fnmatchcase, given, wanted))

    def may_match(self, run: ProgramRun) -> bool:
        """Tell whether it could ask about or deny a run once its words are known."""
        return self.action != "allow" and self._occurs(run, guess=True)

    def _occurs(self, run: ProgramRun, *, guess: bool) -> bool:
        """Tell whether the first glob fits where a subcommand may stand, and the others follow in order."""

        def fits(argument: str, glob: str) -> bool:
            return fnmatchcase(argument, glob) or (
                guess and UNKNOWN in argument and fnmatchcase(glob, escape(argument).replace(UNKNOWN, "*"))
            )

        if not any(fnmatchcase(name, self.program) for name in run.names):
            return False
        if not self.arguments:
            return True
        first, *others = self.arguments
        for start, argument in enumerate(run.arguments):
            rest = iter(run.arguments[start + 1 :])
            if fits(argument, first) and all(any(fits(word, glob) for word in rest) for glob in others):
                return True
            if not argument.startswith("-") and not (start and run.arguments[start - 1].startswith("-")):
                return False  # a subcommand stands after options alone, each with or without a value
        return False


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
    try:
        program, *arguments = shlex.split(pattern)
    except ValueError:
        program = ""
    if not program or re.search(r"[;&|<>()`\n]", re.sub(r"""'[^']*'|"[^"]*"|\\.""", "", pattern)):
        raise ValueError(f"{pattern!r} is no single command")
    return Rule(action=action, program=program, arguments=tuple(arguments), why="as you have set")


_PROGRAMS: tuple[tuple[Action, str, str], ...] = (
    ("deny", "would publish: only you send what leaves this machine", "git push, git send-email"),
    ("deny", "would publish", "twine upload, gem push, docker push, podman push, gh, hub, glab"),
    ("deny", "would publish", "npm publish, yarn publish, pnpm publish, cargo publish, poetry publish"),
    ("deny", "would publish", "uv publish, flit publish, hatch publish"),
    ("deny", "changes where git sends and fetches", "git remote add, git remote set-url"),
    ("deny", "changes where git sends and fetches", "git config *url*, git config --global"),
    ("deny", "takes another user's rights", "sudo, su, doas, pkexec, runuser"),
    ("deny", "changes this machine", "mount, umount, mkfs*, fdisk, insmod"),
    ("deny", "changes this machine", "shutdown, reboot, systemctl, crontab"),
    ("ask", "installs packages", "pip* install, pip* download, python* -m pip install, conda install"),
    ("ask", "installs packages", "uv add, uv sync, uv pip install, uv tool, poetry add, poetry install"),
    ("ask", "installs packages", "npm install, npm i, npm ci, yarn add, yarn install, pnpm install"),
    ("ask", "installs packages", "cargo install, cargo add, go get, go install, gem install"),
    ("ask", "installs packages", "bundle install, apt*, yum, dnf, apk, brew"),
    ("ask", "reaches the network", "curl, wget, ssh, scp, sftp, rsync, nc, ncat, socat"),
    ("ask", "reaches the network", "git fetch, git pull, git clone, git ls-remote, git submodule update"),
    ("ask", "controls other machines", "docker, podman, kubectl, helm, terraform, aws, gcloud, az"),
)
"""Programs that are of no use inside the sandbox, or speak to the world."""
BUILT_IN: tuple[Rule, ...] = tuple(
    Rule(action=action, program=program, arguments=tuple(arguments), why=why, network=action == "ask")
    for action, why, patterns in _PROGRAMS
    for program, *arguments in map(str.split, patterns.split(", "))
)
_INTERPRETERS = SHELLS | {"python", "python3", "perl", "ruby", "node"}


def find_built_in_rule(run: ProgramRun, *, root: str, is_sandboxed: bool = False) -> Rule | None:
    """Return the built-in rule for a program; `root` is the directory that commands start in."""
    is_removal = not is_sandboxed and bool({"rm", "shred"} & run.names)
    if is_removal and any(may_leave_root(argument, root) for argument in run.arguments):
        return Rule(action="deny", program="rm", why="reaches outside of the repository")
    return select_rule(BUILT_IN, run)


def pipes_download_into_shell(runs: Sequence[ProgramRun]) -> bool:
    """Tell whether something from the network is piped into a shell or an interpreter."""
    is_fed = any(
        _INTERPRETERS & run.names and {"-", "-s", "-x", "-e"}.issuperset(run.arguments) for run in runs
    )
    return is_fed and any({"curl", "wget", "nc", "ncat"} & run.names for run in runs)


def may_leave_root(path: str, root: str) -> bool:
    return path.startswith("~") or not f"{normpath(join(root, path))}/".startswith(f"{root}/")
