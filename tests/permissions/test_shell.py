import pytest

from coder.permissions.shell import parse_command


def programs(command: str) -> list[tuple[str, ...]]:
    return [
        tuple(word.text for word in simple.words)
        for simple in parse_command(command).commands
        if simple.words
    ]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git push", [("git", "push")]),
        ("'g''it' \"pu\"sh", [("git", "push")]),
        ("\\git push", [("git", "push")]),
        ("ls -la | wc -l && echo 'a;b' ; pwd", [("ls", "-la"), ("wc", "-l"), ("echo", "a;b"), ("pwd",)]),
        ("(cd src; ls)\nls", [("cd", "src"), ("ls",), ("ls",)]),
        ("ls # git push", [("ls",)]),
        ("echo a\\\nb", [("echo", "ab")]),
        ("A=1 B='x y' make test", [("make", "test")]),
        ("pytest -q 2>&1 >out.txt", [("pytest", "-q")]),
        ('echo "$HOME"', [("echo", "$HOME")]),
        ("if test -f x; then git push; else ! ls; fi", [("test", "-f", "x"), ("git", "push"), ("ls",)]),
        ("for f in *.py; do wc -l $f; done > out", [("wc", "-l", "$f")]),
        ("f() { git push; }; f", [("f",), ("git", "push"), ("f",)]),
        (
            "echo $(git push) \"$(sh -c 'x)' $(ls))\"",
            [("echo", "", ""), ("git", "push"), ("sh", "-c", "x)", ""), ("ls",)],
        ),
        ("cat <<END > x; ls\ngit push\nEND\npwd", [("cat",), ("ls",), ("pwd",)]),
        ("cat <<-'END'\n$(git push)\n\tEND", [("cat",)]),
        ("cat <<END\n$(git push)\nEND", [("cat",), ("git", "push")]),
        ("echo '<<END'\ngit push\nEND", [("echo", "<<END"), ("git", "push"), ("END",)]),
    ],
)
def test_splits_command_as_shell_does(command: str, expected: list[tuple[str, ...]]) -> None:
    assert programs(command) == expected
    assert parse_command(command).unsure == ""


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ('echo "`git push`"', "backquotes"),
        ("echo $(git push", "not closed"),
        ("echo $($PROGRAM push)", "only known when it runs"),
        ("$PROGRAM push", "only known when it runs"),
        ("g*t push", "only known when it runs"),
        ("eval git push", "'eval'"),
        (". ./script", "'.'"),
        ("case x in x) git push;; esac", "'case'"),
        ("f() { for x do git push; done; }; f 1", "'for'"),
        ("echo &>out git push", "'&>'"),
        ("cat <(git push)", "names no file"),
        ("$'git' push", "only known when it runs"),
        ("env sh <<END\ngit push\nEND", "gives a shell a here-document"),
        ("echo 'never closed", "not closed"),
    ],
)
def test_reports_parts_unknown_before_run(command: str, why: str) -> None:
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
