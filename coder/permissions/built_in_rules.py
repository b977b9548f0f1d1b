"""Built-in command rules: what holds for a program where the user has set no rule."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from posixpath import normpath

from coder.permissions.command_rules import SHELLS, Action, ProgramRun, Rule, select_rule
from coder.permissions.private_files import is_read_denied


def _rules(action: Action, why: str, *patterns: str, network: bool = False) -> Iterator[Rule]:
    for pattern in patterns:
        program, *arguments = pattern.split()
        yield Rule(action=action, program=program, arguments=tuple(arguments), why=why, network=network)


BUILT_IN: tuple[Rule, ...] = (
    *_rules(
        "deny",
        "would publish: only you send what leaves this machine",
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
"""Subcommands that show no content of other commits, where private files may lie."""
_GIT_HARMLESS = re.compile(
    r"--(?:oneline|stat|name-only|name-status|short|porcelain|cached|staged|graph|all|follow)|-[nsLSG]?\d*|--max-count=\d+"
)
_LINES = re.compile(r"(?:\d+|\$)(?:,(?:\d+|\$))?p(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*")


def find_built_in_rule(run: ProgramRun, *, root: str) -> Rule | None:
    """Return the built-in rule for a program; `root` is the directory that commands start in."""
    if found := select_rule(BUILT_IN, run):
        return found
    name = run.names[0]
    if name in CHANGES and any(may_leave_root(argument, root) for argument in run.arguments):
        return Rule(
            action="deny" if name in ("rm", "shred") else "ask",
            program=name,
            why="reaches outside of the repository",
        )
    if _reads(run, root=root):
        return Rule(action="allow", program=name, why="only reads")
    return None


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


def _reads(run: ProgramRun, *, root: str) -> bool:
    """Tell whether a program only reads the repository's own files."""
    name, arguments = run.names[0], run.arguments
    if (
        not run.sure
        or run.own
        or any(
            may_leave_root(argument, root) or is_read_denied(argument.rpartition(":")[2])
            for argument in arguments
        )
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
