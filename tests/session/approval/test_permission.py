from pathlib import Path

import pytest

from coder.permissions.command_rules import Action, Mode, Rule, parse_rule
from coder.session.approval import PermissionDecision, Permissions, decide_change, decide_command
from tests.builders import lines

PROGRAMS = {
    name: f"/usr/bin/{name}" for name in ("ls", "cat", "make", "git", "pip", "sh", "curl", "env", "python3")
}


def make_permissions(
    mode: Mode = "auto-edit", *, contained: bool = True, rules: tuple[Rule, ...] = ()
) -> Permissions:
    return Permissions(mode=mode, is_sandboxed=contained, rules=rules, which=PROGRAMS.get)


def actions(
    command: str, permissions: Permissions, root: Path = Path("/repo"), *, network: bool = False
) -> str:
    return decide_command(permissions, command, root=root, network=network).action


@pytest.mark.parametrize(
    ("command", "within", "without", "asking", "reading", "full"),
    [
        ("ls src", "allow", "ask", "ask", "deny", "allow"),
        ("python3 - <<'END'\nprint(1)\nEND", "allow", "ask", "ask", "deny", "allow"),
        ("make $(cat x) > ../log", "allow", "ask", "ask", "deny", "allow"),
        ("npx jest", "allow", "ask", "ask", "deny", "allow"),
        ("rm -rf $X; python3 -c $X", "allow", "ask", "ask", "deny", "allow"),
        ("rm -rf build ../other", "allow", "deny", "ask", "deny", "deny"),
        ("rm -rf /*", "allow", "deny", "ask", "deny", "deny"),
        ("rm -rf ~/*", "allow", "deny", "ask", "deny", "deny"),
        ('for f in *.py; do cat "$f"; done', "allow", "ask", "ask", "deny", "allow"),
        ("git diff -- *.py && git commit -m $X", "allow", "ask", "ask", "deny", "allow"),
        ("ls | xargs cat", "allow", "ask", "ask", "deny", "allow"),
        ("pip install x", "ask", "ask", "ask", "deny", "allow"),
        ("python3 x.py < .env", "ask", "ask", "ask", "deny", "allow"),
        ("make `x`", "ask", "ask", "ask", "deny", "allow"),
        ("git push", "deny", "deny", "deny", "deny", "deny"),
    ],
)
def test_mode_and_sandbox_decide_questions(
    command: str, within: str, without: str, asking: str, reading: str, full: str
) -> None:
    assert actions(command, make_permissions()) == within
    assert actions(command, make_permissions(contained=False)) == without
    assert actions(command, make_permissions("ask")) == asking
    assert actions(command, make_permissions("read-only", contained=False)) == reading
    assert actions(command, make_permissions("full", contained=False)) == full


@pytest.mark.parametrize("case", lines("commands/ruled.txt"))
def test_built_in_rules_precede_sandbox(case: str) -> None:
    action, _, command = case.partition(": ")
    decisions = {actions(command, make_permissions(contained=contained)) for contained in (True, False)}
    assert decisions == {action}


def test_sandboxed_read_only_mode_runs_programs_without_write_access() -> None:
    assert actions("make docs", make_permissions("read-only")) == "allow"
    assert actions("git $WHAT", make_permissions("read-only")) == "deny"


def test_allows_asks_about_or_refuses_changes() -> None:
    modes: tuple[Mode, ...] = ("read-only", "ask", "auto-edit", "full")
    decisions = [decide_change(make_permissions(mode)).action for mode in modes]
    assert decisions == ["deny", "ask", "allow", "allow"]


@pytest.mark.parametrize(
    ("command", "network", "why"),
    [("make docs", True, "wants the network"), ("pip install x", False, "installs packages")],
)
def test_approval_with_network_includes_network_next_time(command: str, network: bool, why: str) -> None:
    first = decide_command(make_permissions(), command, root=Path("/repo"), network=network)
    assert (first.action, first.why, first.network) == ("ask", why, True)
    allowed = make_permissions(rules=first.rules)
    again = decide_command(allowed, command, root=Path("/repo"), network=network)
    assert again == PermissionDecision(action="allow", network=True)
    assert actions(f"{command} y", allowed, network=True) == "ask"


def test_strictest_user_rule_precedes_built_in_rules() -> None:
    texts: tuple[tuple[str, Action], ...] = (
        ("git push", "allow"),
        ("make *", "allow"),
        ("make deploy", "deny"),
    )
    rights = make_permissions(rules=tuple(parse_rule(text, action) for text, action in texts))
    commands = ("git push", "make docs", "make deploy", "make $X")
    assert [actions(command, rights) for command in commands] == ["allow", "allow", "deny", "ask"]


def test_user_rule_allows_program_on_path_alone(tmp_path: Path) -> None:
    (tmp_path / "ls").write_text("#!/bin/sh\n")
    (tmp_path / "g").symlink_to("/usr/bin/git")
    allowed = make_permissions(contained=False, rules=(parse_rule("ls *", "allow"),))
    commands = (
        *("ls a.py", "ls a.py > out 2>&1"),
        *("./ls a.py", "PATH=. ls a.py", "PATH=.; ls a.py", "ls $X", "ls a.py; make", "unheard_of"),
        *("ls > ../out", "ls > $X", "ls < .env", "ls `x`", "ls $(ls)", "ls | xargs ls"),
    )
    assert [actions(command, allowed, tmp_path) for command in commands] == ["allow"] * 2 + ["ask"] * 12
    assert actions("./g push", allowed, tmp_path) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "make $X",
        "make `x`",
        "make > ../x",
        "make *.mk",
        "ls | xargs make",
        "A=1 make",
        "./make",
        "unheard_of",
    ],
)
def test_never_remembers_uncertain_program(command: str) -> None:
    assert decide_command(make_permissions(contained=False), command, root=Path("/repo")).rules == ()
