"""Assignment of models to roles."""

import pytest

from coder.settings import Config
from coder.wiring.session import Approach, choose_approach


@pytest.fixture
def role_approach(monkeypatch: pytest.MonkeyPatch) -> Approach:
    monkeypatch.delenv("CODER_MODEL", raising=False)
    config = Config(
        tool_calling=False,
        base_url="https://models.example/v1",
        reviewer_model="r",
    )
    return choose_approach(config, model_name="a")


def test_role_has_own_model_and_falls_back_on_the_main_one(role_approach: Approach) -> None:
    names = {
        role: [model.name.rpartition(":")[2] for model in chain]
        for role, chain in role_approach.models.items()
    }
    assert names == {"executor": ["a"], "reviewer": ["r", "a"]}
