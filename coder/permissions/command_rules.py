"""Command rules: which programs run, are asked about, or are denied, by program and arguments."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import normpath
from typing import Literal

from coder.core.values import Value
from coder.permissions.shell import SHELLS, ParsedCommand, SimpleCommand, parse_command

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
