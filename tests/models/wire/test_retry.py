import asyncio

import pytest

from coder.core.errors import ModelError
from coder.core.messages import AssistantMessage, Reply
from coder.models.request_errors import RetryPolicy, request_with_retries
from tests.models.contract import record_pauses

REPLY = Reply(message=AssistantMessage(text="Yes."))


def retry_until_reply(*failures: ModelError, tries: int = 5) -> tuple[list[float], list[str]]:
    """Return the pauses and the notices until there was a reply."""
    remaining = list(failures)
    pauses: list[float] = []
    notices: list[str] = []

    async def ask() -> Reply:
        if remaining:
            raise remaining.pop(0)
        return REPLY

    assert (
        asyncio.run(request_with_retries(ask, policy=record_pauses(pauses, tries), report=notices.append))
        == REPLY
    )
    return pauses, notices


def busy_error(seconds: float | None = None) -> ModelError:
    return ModelError("Busy.", retryable=True, retry_after_seconds=seconds)


def test_pauses_double() -> None:
    assert retry_until_reply(busy_error(), busy_error(), busy_error()) == (
        [1.0, 2.0, 4.0],
        ["Busy. Trying again in 1 s.", "Busy. Trying again in 2 s.", "Busy. Trying again in 4 s."],
    )


def test_waits_as_server_requests() -> None:
    assert retry_until_reply(busy_error(12.5), busy_error()) == (
        [12.5, 2.0],
        ["Busy. Trying again in 12 s.", "Busy. Trying again in 2 s."],
    )


def test_does_not_wait_through_long_pause() -> None:
    with pytest.raises(ModelError, match=r"^Busy\.$"):
        retry_until_reply(busy_error(61.0))


def test_does_not_retry_permanent_error() -> None:
    with pytest.raises(ModelError, match=r"^Bad key\.$"):
        retry_until_reply(ModelError("Bad key."))


def test_last_try_reports_number_of_tries() -> None:
    with pytest.raises(ModelError, match=r"^Busy\. Tried 2 times\.$"):
        retry_until_reply(busy_error(), busy_error(), tries=2)


def test_pauses_are_bounded_and_spread() -> None:
    late = RetryPolicy(longest_pause_seconds=60.0, chance=lambda: 1.0)
    assert [late.pause_seconds(failures, None) for failures in (1, 3, 20)] == [1.25, 5.0, 75.0]
