import pytest

from coder.models.catalog import ModelChoice
from coder.models.prices import describe_price
from coder.settings import Config
from coder.wiring.model_listing import list_models


def test_lists_chosen_and_configured_models_at_a_server() -> None:
    config = Config(base_url="http://127.0.0.1:1/v1", model="big", fallback_models=("small",))
    lines = list_models(config, model_name=None)
    assert [line.split()[:2] for line in lines[:1]] == [["*", "compatible:big"]]
    assert [line.split()[0] for line in lines[1:]] == ["compatible:small"]
    assert all("context and price unknown" in line for line in lines)


@pytest.mark.parametrize(
    ("provider", "model", "text"),
    [
        ("openai", "gpt-4o", "128k tokens, $2.5 in and $10 out per million"),
        ("openai", "no-such-model", "context and price unknown"),
    ],
)
def test_describes_context_and_price(provider: str, model: str, text: str) -> None:
    assert describe_price(ModelChoice(provider=provider, model=model, reason="")) == text
