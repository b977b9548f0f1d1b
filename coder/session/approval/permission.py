"""Decides what may be done unasked: the mode, the rules and the walls, looked up for one command or one change."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from coder.core.values.base import Value
from coder.permissions.built_in_rules import built_in, feeds_a_shell, is_spoken_of, leads_out
from coder.permissions.command_rules import Action, Mode, Rule, Run, chosen, runs
from coder.permissions.private_files import denied
from coder.permissions.shell import Parsed, parse

Which = Callable[[str], str | None]


@dataclass(frozen=True, kw_only=True)
class Rights:
    """What the person has allowed, once and for all; a model cannot say anything here."""

    mode: Mode = "auto-edit"
    contained: bool = False
    """Do commands run within walls that keep files and network out?"""
    rules: tuple[Rule, ...] = ()
    """The person's own, and those by which a repository narrows them; they go before what is built in."""
    test_command: str = ""
    """The project's own, which runs anyway."""
    which: Which = shutil.which


class Decision(Value):
    """What becomes of one wish."""

    action: Action
    why: str = ""
    """Half a sentence for the person and the model."""
    network: bool = False
    """It runs with the network, once it is allowed."""
    rules: tuple[Rule, ...] = ()
    """What to remember, should the person never want to be asked about this again; none: it must be asked each time."""


def of_change(rights: Rights) -> Decision:
    """May files of the candidate's worktree be changed?"""
    if rights.mode == "read-only":
        return Decision(action="deny", why="nothing is changed in the mode read-only")
    return Decision(action="ask" if rights.mode == "ask" else "allow", why="changes files")


def of_command(rights: Rights, command: str, *, root: Path, network: bool = False) -> Decision:
    """May a shell command run in `root`? `network` says that it is meant to reach out."""
    parsed = parse(command)
    found, unsure = runs(parsed)
    resolved = [_resolved(run, root, rights.which) for run in found]
    matched = [_rule(rights, run, root) for run in resolved]
    if forbidden := _forbidden(resolved, matched):
        return Decision(action="deny", why=forbidden)
    doubts = [*([unsure] if unsure else []), *_doubts(parsed, rights, root)]
    if any(not run.known and is_spoken_of(rights.rules, run) for run in resolved):
        doubts.append("an argument is only known when it runs")
    asks = dict.fromkeys(rule.why for rule in matched if rule and rule.action == "ask")
    allowed = bool(matched) and all(rule is not None and rule.action == "allow" for rule in matched)
    needed = network or any(rule.network for rule in matched if rule)
    granted = allowed and any(rule.network for rule in matched if rule)
    reasons = [*asks, *doubts, *(["wants the network"] if network and not granted and not asks else [])]
    unasked = rights.mode == "full" or (
        not reasons and (allowed or (rights.contained and rights.mode != "ask"))
    )
    if unasked:
        return Decision(action="allow", network=needed)
    why = "; ".join(reasons) or ("runs a program" if rights.contained else "runs without walls around it")
    if rights.mode == "read-only":
        return Decision(action="deny", why=f"{why}: the mode read-only does not allow that")
    sure = not doubts and all(run.sure for run in resolved)
    return Decision(action="ask", why=why, network=needed, rules=_exactly(resolved, needed) if sure else ())


def _forbidden(found: Sequence[Run], matched: Sequence[Rule | None]) -> str:
    """Why this never runs; empty where it may."""
    if feeds_a_shell(found):
        return "feeds a shell with what comes from the network"
    return next((rule.why for rule in matched if rule and rule.action == "deny"), "")


def _rule(rights: Rights, run: Run, root: Path) -> Rule | None:
    own = chosen(rights.rules, run)
    return own or built_in(run, root=str(root)) or _as_test(rights.test_command, run)


def _as_test(command: str, run: Run) -> Rule | None:
    """The project's test command, on tests of the repository, is no news: `run_tests` runs it unasked."""
    parsed = parse(command)
    words = (
        tuple(word.text for word in parsed.commands[0].words)
        if len(parsed.commands) == 1 and not parsed.unsure
        else ()
    )
    own = ("", *run.arguments[: len(words) - 1])
    if not words or run.names[0] != words[0].rpartition("/")[2] or own[1:] != words[1:] or not run.sure:
        return None
    more = run.arguments[len(words) - 1 :]
    plain = all(
        argument in ("-q", "-x", "-v", "-vv", "-s") or not argument.startswith("-") for argument in more
    )
    return (
        Rule(action="allow", program=words[0], why="runs the tests")
        if plain and not any(leads_out(path, "/") for path in more)
        else None
    )


def _doubts(parsed: Parsed, rights: Rights, root: Path) -> list[str]:
    """Redirections that speak against a command, whatever programs it starts."""
    doubts = []
    for there in (there for simple in parsed.commands for there in simple.redirections):
        target = there.target
        unsafe = not target.sure or leads_out(target.text, str(root)) or denied(target.text)
        if unsafe or (there.writes and rights.mode == "read-only"):
            doubts.append(f"{'writes to' if there.writes else 'reads'} {target.text}")
    return doubts


def _resolved(run: Run, root: Path, which: Which) -> Run:
    """The run with the names that its program goes by, and whether the project brings it along itself."""
    typed = run.names[0]
    name = typed.rpartition("/")[2]
    place = root / typed if "/" in typed else Path(which(typed) or typed)
    real = Path(os.path.realpath(place))
    usual = which(name)
    own = real.is_relative_to(os.path.realpath(root)) or usual is None or os.path.realpath(usual) != str(real)
    links = any(_leads_out_by_a_link(argument, root) for argument in run.arguments)
    return run.model_copy(update={"names": (name, real.name), "own": own, "sure": run.sure and not links})


def _leads_out_by_a_link(argument: str, root: Path) -> bool:
    """Is the argument a path of the repository that lies, or points, somewhere else, or at a private file?"""
    if argument.startswith("-") or len(argument) > 1000 or "\0" in argument:
        return False
    if not os.path.lexists(root / argument):
        return False
    real, inside = os.path.realpath(root / argument), os.path.realpath(root)
    return not Path(real).is_relative_to(inside) or denied(os.path.relpath(real, inside))


def _exactly(found: Sequence[Run], network: bool) -> tuple[Rule, ...]:
    """Rules that allow these runs and no others."""
    return tuple(
        Rule(
            action="allow",
            program=escape(run.names[0]),
            arguments=tuple(map(escape, run.arguments)),
            why="as you have said before",
            network=network,
        )
        for run in found
        if not run.own
    )
