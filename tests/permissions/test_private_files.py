import pytest

from coder.permissions.private_files import DENY_READ, denied, readable


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "app/.env.production",
        "deploy/prod.env",
        "certs/server.PEM",
        "id_rsa",
        "/home/ada/.aws/credentials",
        ".ssh/config",
        ".netrc",
    ],
)
def test_what_holds_secrets_is_denied_wherever_it_lies(path: str) -> None:
    assert denied(path)


@pytest.mark.parametrize(
    "path",
    [".env.example", "environment.py", "src/env.py", "id_rsa.pub", "docs/keys.md", "awsome/credentials.py"],
)
def test_what_only_looks_alike_is_not(path: str) -> None:
    assert not denied(path)


def test_certificates_of_tests_belong_to_the_tests() -> None:
    assert not denied("tests/certs/server.pem")
    assert denied("tests/.env")


def test_of_many_paths_those_remain_that_are_not_denied() -> None:
    paths = [
        "src/env.py",
        ".ENV",
        "a/.env.example",
        "tests/certs/server.pem",
        "certs/server.pem",
        "src/box.py",
    ]
    assert (
        readable(paths)
        == {path for path in paths if not denied(path)}
        == {*paths} - {".ENV", "certs/server.pem"}
    )
    assert readable(["src/box.py", "src/key.py"], ("*",)) == readable([], ("*",)) == frozenset()
    assert readable(["a1.txt", "b1.txt"], ("[ab]1.*", "!b*")) == {"b1.txt"}


def test_the_last_pattern_that_fits_decides() -> None:
    assert not denied("tests/.env", (*DENY_READ, "!tests/.env"))
    assert denied("config/live/db.yml", (*DENY_READ, "config/live/*"))
