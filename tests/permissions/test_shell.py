import shlex

import pytest

from coder.permissions.command_rules import parse_command
from tests.builders import paragraphs


@pytest.mark.parametrize("case", paragraphs("commands/split.txt"))
def test_splits_command_as_shell_does(case: str) -> None:
    command, *expected = case.split("\n=> ")
    parsed = parse_command(command)
    programs = [[word.text for word in simple.words] for simple in parsed.commands if simple.words]
    assert [shlex.join(words) for words in programs] == expected
    assert parsed.unsure == ""


@pytest.mark.parametrize("case", paragraphs("commands/unsure.txt"))
def test_reports_parts_unknown_before_run(case: str) -> None:
    command, why = case.split("\n=> ")
    assert why in parse_command(command).unsure


def test_words_with_expansion_are_not_literal() -> None:
    (simple,) = parse_command("cat $A ~/x a{b,c} *.py '$A' \\$A").commands
    assert [word.sure for word in simple.words] == [True, False, False, False, True, True, True]
    assert [word.glob for word in simple.words] == [False, False, False, False, True, False, False]


def test_redirections_name_their_targets() -> None:
    (simple,) = parse_command("make >../log 2>>err 2>&1 </dev/null >/dev/null").commands
    assert [
        (redirection.operator, redirection.target.text, redirection.writes)
        for redirection in simple.redirections
    ] == [
        (">", "../log", True),
        (">>", "err", True),
        (">&", "1", False),
        ("<", "/dev/null", False),
        (">", "/dev/null", False),
    ]
