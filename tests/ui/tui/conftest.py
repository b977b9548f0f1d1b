"""Shorter waits for the application under test: Textual's are most of the time of these tests."""

import pytest


@pytest.fixture(autouse=True)
def _wait_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look four times as often whether the application has nothing to do."""
    monkeypatch.setattr("textual._wait.SLEEP_GRANULARITY", 1 / 200)
    monkeypatch.setattr("textual._wait.SLEEP_IDLE", 1 / 4000)
