"""Assignment of models to roles."""

import pytest

from coder.settings import Config
from coder.wiring.session import choose_approach


def test_role_has_its_own_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODER_MODEL", raising=False)
    config = Config(tool_calling=False, base_url="https://models.example/v1", reviewer_model="r")
    approach = choose_approach(config, model_name="a")
    assert approach.model.name.endswith(":a")
    assert [(role, model.name.rpartition(":")[2]) for role, model in approach.models.items()] == [
        ("reviewer", "r")
    ]
