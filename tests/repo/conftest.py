"""Git here is deaf to the configuration of the machine that the tests run on."""

import pytest

from tests.builders import ISOLATED


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
        monkeypatch.setenv(name, ISOLATED[name])
