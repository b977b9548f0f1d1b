import shlex

import pytest

from coder.permissions.command_rules import UNKNOWN, ProgramRun, may_leave_root, parse_command, parse_rule
from tests.builders import paragraphs


@pytest.mark.parametrize("case", paragraphs("commands/split.txt"))
def test_finds_programs_of_command(case: str) -> None:
    command, *expected = case.split("\n=> ")
    parsed = parse_command(command)
    assert [shlex.join(run.words).replace(UNKNOWN, "?") for run in parsed.runs] == expected
    assert parsed.unsure == ""


@pytest.mark.parametrize("case", paragraphs("commands/unsure.txt"))
def test_reports_parts_unknown_before_run(case: str) -> None:
    command, why = case.split("\n=> ")
    assert why in parse_command(command).unsure


def test_names_files_of_redirections_and_variables() -> None:
    parsed = parse_command("A=1 make >../log 2>> err 2>&1 </dev/null >/dev/null <<END; B=2 ls\nEND\ncat <$X")
    assert (parsed.files, parsed.sets_variables) == (["../log", "err", UNKNOWN], True)


@pytest.mark.parametrize(
    ("rule", "command", "matches"),
    [
        ("make test", "make test", True),
        ("make test", "make test deploy", False),
        ("make test", "make $X", False),
        ("make test *", "make test -k", True),
        ("make test *", "make test $X", False),
        ("make test", "./make test", False),
        ("./gradlew *", "./gradlew test", True),
    ],
)
def test_rule_allows_only_arguments_it_names(rule: str, command: str, *, matches: bool) -> None:
    (run,) = parse_command(command).runs
    assert parse_rule(rule, "allow").matches(run) == matches


@pytest.mark.parametrize(
    ("rule", "command", "matches", "may_match"),
    [
        ("git push", "git -C there --bare push --force", True, True),
        ("git push", "/usr/bin/git push", True, True),
        ("git push", "git log push", False, False),
        ("git push", "git commit -m $X", False, False),
        ("git push", "git pu*", False, True),
        ("git push", "git -C there $X", False, True),
        ("git remote add", "git remote $X", False, True),
        ("./deploy.sh", "./deploy.sh all", True, True),
    ],
)
def test_denies_subcommand_after_options(rule: str, command: str, *, matches: bool, may_match: bool) -> None:
    (run,) = parse_command(command).runs
    deny = parse_rule(rule, "deny")
    assert (deny.matches(run), deny.may_match(run)) == (matches, may_match)


def test_denies_link_to_program() -> None:
    assert parse_rule("git push", "deny").matches(ProgramRun(words=("./g", "push"), file="git"))


@pytest.mark.parametrize("text", ["", "ls; rm x", "ls $(x)", "ls > x", "'"])
def test_a_rule_is_one_plain_command(text: str) -> None:
    with pytest.raises(ValueError, match="no single command"):
        parse_rule(text, "allow")


@pytest.mark.parametrize("path", ["/repository/a", "../x", "a/../../b", "~/x", "/"])
def test_detects_path_outside(path: str) -> None:
    assert may_leave_root(path, "/repo")
    assert not may_leave_root("a/../b", "/repo") and not may_leave_root("/repo/a", "/repo")
