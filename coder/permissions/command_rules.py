"""Which commands run, which are asked about, which never run: rules over programs and arguments, and those that come built in."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Literal

from coder.core.values.base import Value
from coder.permissions.private_files import denied
from coder.permissions.shell import Parsed, Simple, parse

Action = Literal["allow", "ask", "deny"]
Mode = Literal["read-only", "ask", "auto-edit", "full"]
"""From the strictest to the widest."""


class Rule(Value):
    """What becomes of a program with certain arguments."""

    action: Action
    program: str
    """The file's name, without its directory; `*` is any."""
    arguments: tuple[str, ...] = ()
    """Globs. For `allow` they fit all arguments one by one, and a last `*` fits any that follow. For `ask` and `deny` they occur among
    the arguments in this order, and only options stand before the first: `git push` is meant by `git -C there push --force`."""
    why: str = ""
    """What the program would do, for the person: `installs packages`."""
    network: bool = False
    """It is of no use without the network."""

    def fits(self, run: "Run") -> bool:
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


class Run(Value):
    """One program that a command starts."""

    names: tuple[str, ...]
    """As it was written, without a directory once it is resolved, and as the file is called that it leads to."""
    arguments: tuple[str, ...] = ()
    sure: bool = True
    """Is every argument known as it stands?"""
    known: bool = True
    """Is it at least clear what it is told to do, though perhaps not with which files?"""
    own: bool = False
    """Is it a file of the project itself, whatever it is called?"""


def _starts(arguments: Sequence[str]) -> Iterator[int]:
    """Where a subcommand may stand: after options alone, each with or without a value."""
    yield 0
    for index, argument in enumerate(arguments):
        if argument.startswith("-"):
            yield from (index + 1, index + 2)
        elif not index or not arguments[index - 1].startswith("-"):
            return


def _occur(wanted: Sequence[str], arguments: Sequence[str]) -> bool:
    """Is the first of the wanted globs the first argument, and do the others follow, with anything between?"""
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


def runs(parsed: Parsed) -> tuple[tuple[Run, ...], str]:
    """Every program that a command starts, wrappers looked through, and why this may not be all; empty: it is all."""
    found: list[Run] = []
    unsure = parsed.unsure
    for simple in parsed.commands:
        inner, doubt = _unwrapped(simple)
        found += inner
        unsure = unsure or doubt
    if any(simple.assignments and not simple.words for simple in parsed.commands):  # PATH=. is one of them
        found = [run.model_copy(update={"sure": False}) for run in found]
    return tuple(found), unsure


def _unwrapped(simple: Simple) -> tuple[list[Run], str]:
    if not simple.words:
        return [], ""
    sure = not simple.assignments and all(word.sure and not word.glob for word in simple.words)
    first = next((word for word in simple.words[1:] if not word.text.startswith("-")), simple.words[0])
    known = not first.glob and all(word.sure for word in simple.words)
    whole = Run(names=(simple.words[0].text,), arguments=simple.arguments, sure=sure, known=known)
    name = whole.names[0].rpartition("/")[2]
    if name in SHELLS and len(simple.words) > 2 and _SCRIPT.fullmatch(simple.words[1].text):
        inner, doubt = runs(parse(simple.words[2].text))
        return [whole, *inner], doubt if simple.words[
            2
        ].sure else "what a shell is told is only known when it runs"
    start = _inner(name, simple)
    if start is None or start >= len(simple.words):
        return [whole], _doubt(name, simple)
    inner_runs, doubt = _unwrapped(simple.model_copy(update={"words": simple.words[start:]}))
    if name == "xargs":  # what it reads becomes arguments
        inner_runs = [inner.model_copy(update={"sure": False, "known": False}) for inner in inner_runs]
    return [whole, *inner_runs], doubt or _doubt(name, simple)


def _inner(name: str, simple: Simple) -> int | None:
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


def _doubt(name: str, simple: Simple) -> str:
    """Why a simple command's words do not tell what it does."""
    if name == "env" and any(word.text.startswith(("-S", "--split")) for word in simple.words):
        return "what env splits is only known when it runs"
    return ""


def _rules(action: Action, why: str, *patterns: str, network: bool = False) -> Iterator[Rule]:
    for pattern in patterns:
        program, *arguments = pattern.split()
        yield Rule(action=action, program=program, arguments=tuple(arguments), why=why, network=network)


BUILT_IN: tuple[Rule, ...] = (
    *_rules(
        "deny",
        "would publish: what leaves this machine is the person's to send",
        "git push",
        "git send-email",
        "twine upload",
    ),
    *_rules(
        "deny",
        "would publish",
        "npm publish",
        "yarn publish",
        "pnpm publish",
        "cargo publish",
        "poetry publish",
        "uv publish",
    ),
    *_rules(
        "deny",
        "would publish",
        "flit publish",
        "hatch publish",
        "gem push",
        "docker push",
        "podman push",
        "gh",
        "hub",
        "glab",
    ),
    *_rules(
        "deny",
        "changes where git sends and fetches",
        "git remote add",
        "git remote set-url",
        "git config *url*",
        "git config --global",
    ),
    *_rules("deny", "takes another user's rights", "sudo", "su", "doas", "pkexec", "runuser"),
    *_rules(
        "deny",
        "changes this machine",
        "mount",
        "umount",
        "mkfs*",
        "fdisk",
        "shutdown",
        "reboot",
        "systemctl",
        "crontab",
        "insmod",
    ),
    *_rules(
        "ask",
        "installs packages",
        "pip* install",
        "pip* download",
        "uv add",
        "uv sync",
        "uv pip install",
        "uv tool",
        network=True,
    ),
    *_rules(
        "ask",
        "installs packages",
        "python* -m pip install",
        "poetry add",
        "poetry install",
        "conda install",
        network=True,
    ),
    *_rules(
        "ask",
        "installs packages",
        "npm install",
        "npm i",
        "npm ci",
        "npx",
        "yarn add",
        "yarn install",
        "pnpm install",
        network=True,
    ),
    *_rules(
        "ask",
        "installs packages",
        "cargo install",
        "cargo add",
        "go get",
        "go install",
        "gem install",
        "bundle install",
        network=True,
    ),
    *_rules("ask", "installs packages", "apt*", "yum", "dnf", "apk", "brew", network=True),
    *_rules(
        "ask",
        "reaches the network",
        "curl",
        "wget",
        "aria2c",
        "http",
        "https",
        "ftp",
        "ssh",
        "scp",
        "sftp",
        "rsync",
        network=True,
    ),
    *_rules(
        "ask",
        "reaches the network",
        "nc",
        "ncat",
        "netcat",
        "socat",
        "telnet",
        "nslookup",
        "dig",
        "host",
        "ping",
        network=True,
    ),
    *_rules(
        "ask",
        "reaches the network",
        "git fetch",
        "git pull",
        "git clone",
        "git ls-remote",
        "git submodule update",
        network=True,
    ),
    *_rules(
        "ask",
        "controls other machines",
        "docker",
        "podman",
        "kubectl",
        "helm",
        "terraform",
        "aws",
        "gcloud",
        "az",
        "heroku",
        network=True,
    ),
)
INTERPRETERS = SHELLS | {"python", "python3", "perl", "ruby", "node"}
FETCHERS = frozenset({"curl", "wget", "aria2c", "http", "https", "ftp", "nc", "ncat"})
INSPECTIONS = frozenset(
    {
        *(
            "basename",
            "cat",
            "cmp",
            "cut",
            "diff",
            "dirname",
            "du",
            "echo",
            "false",
            "head",
            "ls",
            "nl",
            "od",
            "printf",
            "pwd",
        ),
        *("readlink", "realpath", "stat", "tail", "test", "[", "tr", "true", "wc"),
    }
)
"""Programs that only read, whatever their options are."""
CHANGES = frozenset(
    {"rm", "rmdir", "shred", "unlink", "mv", "dd", "truncate", "chmod", "chown", "chgrp", "ln", "tee", "cp"}
)
"""Programs that change the files they are told."""
GIT_READS = frozenset(
    {"blame", "describe", "diff", "log", "ls-files", "ls-tree", "rev-list", "rev-parse", "shortlog", "status"}
)
"""What reads and shows no content of other commits, in which private files may lie."""
_GIT_HARMLESS = re.compile(
    r"--(?:oneline|stat|name-only|name-status|short|porcelain|cached|staged|graph|all|follow)|-[nsLSG]?\d*|--max-count=\d+"
)
_LINES = re.compile(r"(?:\d+|\$)(?:,(?:\d+|\$))?p(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*")


def built_in(run: Run, *, root: str) -> Rule | None:
    """The rule that holds for a run where the person has set none; `root` is the directory that commands start in."""
    if found := _strictest(BUILT_IN, run):
        return found
    name = run.names[0]
    if name in CHANGES and any(leads_out(argument, root) for argument in run.arguments):
        return Rule(
            action="deny" if name in ("rm", "shred") else "ask",
            program=name,
            why="reaches outside of the repository",
        )
    if _reads(run, root=root):
        return Rule(action="allow", program=name, why="only reads")
    return None


def feeds_a_shell(found: Sequence[Run]) -> bool:
    """Is something that comes from the network handed to a shell or an interpreter?"""
    fed = any(INTERPRETERS & set(run.names) and _reads_input(run) for run in found)
    return fed and any(FETCHERS & set(run.names) for run in found)


def _reads_input(run: Run) -> bool:
    return all(argument in ("-", "-s", "-x", "-e") for argument in run.arguments)


def is_spoken_of(rules: Iterable[Rule], run: Run) -> bool:
    """Does it matter what this program is told? It does where a rule, or what is built in, judges it by its arguments."""
    return bool({*CHANGES, *INTERPRETERS} & set(run.names)) or any(
        rule.action != "allow" and any(fnmatchcase(name, rule.program) for name in run.names)
        for rule in (*rules, *BUILT_IN)
    )


def chosen(rules: Iterable[Rule], run: Run) -> Rule | None:
    """The strictest of the person's rules that fits; None where none does."""
    return _strictest(rules, run)


def _strictest(rules: Iterable[Rule], run: Run) -> Rule | None:
    fitting = [rule for rule in rules if rule.fits(run)]
    return next(
        (rule for action in ("deny", "ask", "allow") for rule in fitting if rule.action == action), None
    )


def _reads(run: Run, *, root: str) -> bool:
    """Is this an inspection of the repository's own files that changes nothing?"""
    name, arguments = run.names[0], run.arguments
    if (
        not run.sure
        or run.own
        or any(leads_out(argument, root) or denied(argument.rpartition(":")[2]) for argument in arguments)
    ):
        return False
    if name == "sed":
        return (
            len(arguments) >= 3
            and arguments[0] == "-n"
            and bool(_LINES.fullmatch(arguments[1]))
            and not any(argument.startswith("-") for argument in arguments[2:])
        )
    if name == "git":
        verb, *rest = arguments or ("",)
        return verb in GIT_READS and all(
            not option.startswith("-") or _GIT_HARMLESS.fullmatch(option) for option in rest
        )
    if name == "grep":
        return not any(
            re.fullmatch(r"-[A-Za-z]*[rRf].*|--(recursive|dereference-recursive|file|include).*", argument)
            for argument in arguments
        )
    return name in INSPECTIONS


def leads_out(argument: str, root: str) -> bool:
    """Could this argument name a file outside of `root`, taken as a path, as `--option=path` or as `-opath`?"""
    for text in (argument, argument.partition("=")[2], argument[2:] if argument.startswith("-") else ""):
        if text.startswith("~") or (
            text.startswith("/") and not f"{normpath(text)}/".startswith(f"{root}/") and text != "/dev/null"
        ):
            return True
        if normpath(text or ".").startswith(".."):
            return True
    return False


def written(pattern: str, action: Action) -> Rule:
    """A rule as it is written in a configuration: `make test`, `npm run *`.

    Raises:
        ValueError: it is empty, or holds more than one plain command.
    """
    parsed = parse(pattern)
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
