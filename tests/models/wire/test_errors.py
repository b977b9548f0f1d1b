from socket import gaierror

import httpx2
import pytest
from pydantic import SecretStr
from pydantic_ai import exceptions

from coder.models.catalog import ModelChoice
from coder.models.request_errors import translate_error

CHOICE = ModelChoice(provider="openai", model="gpt-6-luna", reason="named by a test")


def http_error(
    category: type[exceptions.ModelRateLimitError | exceptions.ModelQuotaExceededError] | None,
    status: int,
    message: object,
) -> exceptions.ModelHTTPError:
    return exceptions.ModelHTTPError.for_category(category, status_code=status, model_name="m", body=message)


@pytest.mark.parametrize(
    ("error", "line", "retryable"),
    [
        (
            http_error(
                exceptions.ModelQuotaExceededError, 429, {"message": "You exceeded your current quota."}
            ),
            "The account behind openai:gpt-6-luna is out of credit or quota: HTTP 429, You exceeded "
            "your current quota. "
            "Top it up, or take another with --model.",
            False,
        ),
        (
            http_error(exceptions.ModelRateLimitError, 429, {"message": "Please try again in 14.036s."}),
            "openai:gpt-6-luna asks for a pause of 20 s: HTTP 429, Please try again in 14.036s.",
            True,
        ),
        (
            exceptions.ModelTimeoutError("m", "Request timed out."),
            "openai:gpt-6-luna did not answer in time: Request timed out.",
            True,
        ),
        (
            httpx2.ReadError("broken pipe"),
            "The connection to openai:gpt-6-luna broke: broken pipe.",
            True,
        ),
        (
            exceptions.ModelConnectionError("m", "Connection error.", phase="connect"),
            "The connection to openai:gpt-6-luna broke: Connection error.",
            True,
        ),
        (
            http_error(None, 408, {"error": {"message": "Request Timeout"}}),
            "openai:gpt-6-luna rejected the request: HTTP 408, Request Timeout.",
            True,
        ),
        (
            http_error(None, 413, {"error": {"message": "Request\n  too large"}}),
            "The request is larger than openai:gpt-6-luna, or a gateway before it, accepts: HTTP 413, "
            "Request too large.",
            False,
        ),
        (
            http_error(None, 400, [{"error": {"code": 400, "message": "API key not valid."}}]),
            "openai:gpt-6-luna rejected the request: HTTP 400, API key not valid.",
            False,
        ),
        (
            exceptions.UserError("This model takes no tools."),
            "openai:gpt-6-luna cannot be asked this way: This model takes no tools.",
            False,
        ),
        (
            exceptions.UnexpectedModelBehavior("Streamed response ended unexpectedly"),
            "openai:gpt-6-luna sent something unreadable: Streamed response ended unexpectedly.",
            True,
        ),
    ],
)
def test_failure_is_one_line_with_remedy(error: Exception, line: str, retryable: bool) -> None:
    translation = translate_error(error, choice=CHOICE, key=None)
    assert (str(translation), translation.retryable) == (line, retryable)


@pytest.mark.parametrize(
    "message",
    [
        "request (30031 tokens) exceeds the available context size (8192 tokens), try increasing it",
        (
            "Trying to keep the first 9000 tokens when context the overflows. However, the model is "
            "loaded with context length of only 4096"
        ),
        "This model's maximum context length is 8192 tokens",
    ],
)
def test_recognizes_context_errors_of_local_servers(message: str) -> None:
    translation = translate_error(http_error(None, 400, {"message": message}), choice=CHOICE, key=None)
    assert (translation.context_overflow, translation.retryable) == (True, False)


def test_cuts_long_body_and_masks_key() -> None:
    translation = translate_error(
        http_error(None, 400, {"message": "x" * 195 + "sk-secret" + "x" * 1000}),
        choice=CHOICE,
        key=SecretStr("sk-secret"),
    )
    assert "sk-" not in str(translation)
    assert len(str(translation)) < 300


def test_unresolved_host_fails_at_once_by_name() -> None:
    choice = ModelChoice(provider="compatible", model="m", base_url="http://nowhere.invalid/v1", reason="")
    error = exceptions.ModelConnectionError("m", "Connection error.", phase="connect")
    error.__cause__ = gaierror(-2, "Name or service not known")
    translated = translate_error(error, choice=choice, key=None)
    assert "http://nowhere.invalid/v1 cannot be found" in str(translated)
    assert not translated.retryable


def test_broken_connection_names_the_proxy_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5h://user:pass@proxy.example:1080")
    error = exceptions.ModelConnectionError("m", "Connection error.", phase="connect")
    line = (
        "The connection to openai:gpt-6-luna broke, by way of the proxy proxy.example:1080: Connection error."
    )
    assert str(translate_error(error, choice=CHOICE, key=None)) == line


def test_web_page_instead_of_reply_points_to_base_url() -> None:
    choice = ModelChoice(provider="compatible", model="m", reason="")
    error = exceptions.ModelHTTPError(404, "m", body="<!DOCTYPE html><html>Log in</html>")
    assert "check the base URL" in str(translate_error(error, choice=choice, key=None))
    for status in (413, 502):
        error = exceptions.ModelHTTPError(status, "m", body="<html>502 Bad Gateway</html>")
        assert "base URL" not in str(translate_error(error, choice=choice, key=None))
