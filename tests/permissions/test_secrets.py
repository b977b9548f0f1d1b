import random
import re
import string

import pytest

from coder.permissions.secrets import PLACEHOLDER, Secrets, looks_random, secret_environment_values
from tests.builders import lines

SECRETS = Secrets(key=b"of this session")
KEY_LINE = "[masked: private key]"
BODY = "MIIEpAIBAAKCAQEA04up8hoqzS1+APIB0RhjXyObwHQnOzhAk5Bd7mhkSbPkyhP1"


def strip_digests(text: str) -> str:
    return re.sub(r"(\[masked: [^]]*) [0-9a-f]{6}\]", r"\1]", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id AKIA" + "IOSFODNN7QWERTYU", "id [masked: AWS access key]"),
        ("ghp_" + "aB3d" * 9, "[masked: GitHub token]"),
        ("github_pat_" + "11ABCDEFG0" * 6, "[masked: GitHub token]"),
        ("sk-proj-" + "Ab1" * 12, "[masked: OpenAI key]"),
        ("sk-ant-api03-" + "x9Y-" * 8, "[masked: Anthropic key]"),
        ("AIza" + "SyA1_b-" * 5, "[masked: Google key]"),
        ("xoxb-123456789012-" + "abcDEF", "[masked: Slack token]"),
        ("sk_live_" + "4eC39HqLyjWDarjtT1", "[masked: Stripe key]"),
        (
            "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3jVmNHl0w5N_X",
            "[masked: JSON web token]",
        ),
        ("npm_" + "a1B2c3" * 6, "[masked: npm token]"),
        ("pypi-" + "AgEIcHlwaS5vcmc" * 4, "[masked: PyPI token]"),
        (
            f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\nabc=\n-----END RSA PRIVATE KEY-----\nx",
            (
                f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINE}\n{KEY_LINE}\n{KEY_LINE}\n"
                "-----END RSA PRIVATE KEY-----\nx"
            ),
        ),
        (
            f"    1| -----BEGIN PRIVATE KEY-----\n    2| {BODY}\n    3| {BODY}\nx",
            f"    1| -----BEGIN PRIVATE KEY-----\n    2| {KEY_LINE}\n    3| {KEY_LINE}\nx",
        ),
        ("DB_PASSWORD=tr0ub4dor&3", "DB_PASSWORD=[masked: a secret]"),
        ('api_key: "9f86d081884c7d659a2feaa0c55ad015"', 'api_key: "[masked: a secret]"'),
        (
            "Authorization: Bearer 8f14e45fceea167a5a36dedd4bea2543",
            "Authorization: Bearer [masked: a secret]",
        ),
        ("postgres://bob:s3cr3t9x9@db/shop", "postgres://bob:[masked: a secret]@db/shop"),
        ("drawn: q8Zt1LmW4nRx7Yp0KdV2sHb6", "drawn: [masked: a random value]"),
    ],
)
def test_masks_secret_and_keeps_surrounding_text(text: str, expected: str) -> None:
    assert strip_digests(SECRETS.mask(text)) == expected


@pytest.mark.parametrize("text", lines("secrets/ordinary.txt"))
def test_leaves_ordinary_text_alone(text: str) -> None:
    assert SECRETS.mask(text) == text


def test_distinguishes_random_values_from_names() -> None:
    draw = random.Random(7)
    values = ["".join(draw.choices(string.ascii_letters + string.digits, k=32)) for _ in range(500)]
    assert sum(map(looks_random, values)) >= 475
    names = [
        "AbstractSingletonProxyFactoryBean2",
        "convert_utf8_to_utf16_le_with_bom",
        "getElementsByTagNameNS4Version2",
    ]
    assert not any(map(looks_random, names))


def test_masks_user_values_verbatim() -> None:
    harmless = {
        "SSH_AUTH_SOCK": "/run/agent",
        "AUTH_METHOD": "client_secret_basic",
        "TOKEN_SECONDS": "86400000",
        "AUTH_URL": "https://a.example",
    }
    other = {
        "MY_TOKEN": "short",
        "GIT_AUTHOR_NAME": "Ada Lovelace 1815",
        "KEYBOARD": "us-intl-1234",
        "PATH": "/usr/bin:/bin",
    }
    user_values = secret_environment_values({"OPENAI_API_KEY": "correct horse battery", **harmless, **other})
    assert user_values == ("correct horse battery",)
    secrets = Secrets(own=user_values)
    assert secret_environment_values({"DATABASE_DSN": "postgres://ada:1815@db/x", "KEY": "q1w2e3r4"}) == (
        "postgres://ada:1815@db/x",
        "q1w2e3r4",
    )
    assert (
        strip_digests(secrets.mask("it was 'correct horse battery'"))
        == "it was '[masked: a secret of yours]'"
    )
    assert secrets.mask_own_values("ghp_" + "aB3d" * 9) == "ghp_" + "aB3d" * 9


@pytest.mark.parametrize(
    "text",
    [
        "ghp_" + "aB3d" * 9,
        "PASSWORD=tr0ub4dor&3",
        "q8Zt1LmW4nRx7Yp0KdV2sHb6",
        f"-----BEGIN PRIVATE KEY-----\n{BODY}",
    ],
)
def test_recognizes_placeholder_of_secret(text: str) -> None:
    assert PLACEHOLDER.search(SECRETS.mask(text))
    assert PLACEHOLDER.fullmatch(Secrets(own=("sesame-77",)).mask("sesame-77"))


def test_masks_stream_by_line_and_private_key_as_whole() -> None:
    key = [
        "-----BEGIN RSA PRIVATE KEY-----",
        "Proc-Type: 4,ENCRYPTED",
        "",
        "c2VzYW1lIG9wZW4=",
        "-----END RSA PRIVATE KEY-----",
    ]
    mask = Secrets(own=("hunter2hunter2",)).line_masker()
    lines = ["1 passed in 0.1 s", *key, "after hunter2hunter2", "key AKIAQ2W3E4R5T6Y7U5I6"]
    hidden = "[masked: private key]"
    assert [strip_digests(mask(line)) for line in lines] == [
        lines[0], *[hidden] * 5, "after [masked: a secret of yours]", "key [masked: AWS access key]",
    ]  # fmt: skip


def test_truncated_private_key_hides_nothing_after_it() -> None:
    mask = Secrets().line_masker()
    assert [
        mask(line)
        for line in ("-----BEGIN PRIVATE KEY-----", "c2VzYW1lIG9wZW4=", "2 tests failed.", "c2VzYW1lIG9wZW4=")
    ][2:] == [
        "2 tests failed.",
        "c2VzYW1lIG9wZW4=",
    ]


@pytest.mark.parametrize("line", lines("secrets/literals.txt"))
def test_masks_literal_value_and_restores_it_in_its_file(line: str) -> None:
    masked_line = SECRETS.mask(line)
    assert masked_line != line
    assert SECRETS.mask(masked_line) == masked_line
    assert SECRETS.restore_placeholders(masked_line, line) == line
    assert Secrets(key=b"of another").mask(line) != masked_line
    with pytest.raises(LookupError):
        SECRETS.restore_placeholders(masked_line, "password = 'another'")


@pytest.mark.parametrize("line", lines("secrets/code.txt"))
def test_leaves_code_that_assigns_no_literal(line: str) -> None:
    assert SECRETS.mask(line) == line
