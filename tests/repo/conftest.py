"""Git without the configuration of the machine that runs the tests."""

import pytest

from tests.builders import ISOLATED


@pytest.fixture(autouse=True)
def isolate_git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
        monkeypatch.setenv(name, ISOLATED[name])
