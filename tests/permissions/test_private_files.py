import pytest

from coder.permissions.secrets import DENY_READ, is_read_denied, readable_paths


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
def test_denies_secret_files_in_any_directory(path: str) -> None:
    assert is_read_denied(path)


@pytest.mark.parametrize(
    "path",
    [".env.example", "environment.py", "src/env.py", "id_rsa.pub", "docs/keys.md", "awsome/credentials.py"],
)
def test_allows_files_with_similar_names(path: str) -> None:
    assert not is_read_denied(path)


def test_allows_test_certificates() -> None:
    assert not is_read_denied("tests/certs/server.pem")
    assert is_read_denied("tests/.env")


def test_filters_denied_paths() -> None:
    readable = {"src/env.py", "a/.env.example", "tests/certs/server.pem", "src/box.py"}
    assert readable_paths([*readable, ".ENV", "certs/server.pem"]) == readable
    assert readable_paths(["src/box.py", "src/key.py"], ("*",)) == readable_paths([], ("*",)) == frozenset()
    assert readable_paths(["a1.txt", "b1.txt"], ("[ab]1.*", "!b*")) == {"b1.txt"}
    assert readable_paths(["a.txt"], ()) == {"a.txt"}


def test_last_matching_pattern_decides() -> None:
    assert not is_read_denied("tests/.env", (*DENY_READ, "!tests/.env"))
    assert is_read_denied("config/live/db.yml", (*DENY_READ, "config/live/*"))
