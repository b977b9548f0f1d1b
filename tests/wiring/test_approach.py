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
        branch_models=("b", "c"),
        reviewer_model="r",
        fallback_models=("f",),
        width=4,
    )
    return choose_approach(config, model_name="a")


def test_roles_and_branches_have_own_models_with_shared_fallback(role_approach: Approach) -> None:
    names = {
        role: [model.name.rpartition(":")[2] for model in chain]
        for role, chain in role_approach.models.items()
    }
    assert names == {
        "executor": ["a", "f"],
        "reviewer": ["r", "a", "f"],
        "branch 1": ["b", "a", "f"],
        "branch 2": ["c", "a", "f"],
        "branch 3": ["b", "a", "f"],
    }
