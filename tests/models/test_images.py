import pytest

from coder.models.catalog import ModelChoice, accepts_images
from coder.models.provider import open_model
from tests.models.fakes import serve_answers


@pytest.mark.parametrize(
    ("model", "accepted"),
    [
        ("claude-sonnet-5-5", True),
        ("anthropic/claude-opus-4.1", True),
        ("gpt-4o-mini", True),
        ("gpt-6-luna", True),
        ("o3", True),
        ("openai/o4-mini", True),
        ("gemini-4-argon", True),
        ("qwen2.5vl:7b", True),
        ("Qwen/Qwen3-VL-8B-Instruct", True),
        ("gemma3:12b", True),
        ("llama3.2-vision", True),
        ("meta-llama/Llama-4-Scout", True),
        ("o3-mini", False),
        ("gpt-3.5-turbo", False),
        ("claude-2.1", False),
        ("deepseek-chat", False),
        ("qwen3:8b", False),
        ("smollm2", False),
        ("marvl2", False),
    ],
)
def test_knows_families_that_accept_images(model: str, accepted: bool) -> None:
    assert accepts_images(ModelChoice(provider="openai", model=model, reason="")) is accepted


@pytest.mark.loopback
@pytest.mark.parametrize(("props", "accepted"), [("true", True), ("false", False)])
def test_asks_llama_cpp_and_believes_the_user(props: str, accepted: bool) -> None:
    with serve_answers({"/props": f'{{"modalities": {{"vision": {props}}}}}'.encode()}) as url:
        for name in ("llava", "smollm2"):
            choice = ModelChoice(provider="llamacpp", model=name, base_url=f"{url}/v1", reason="")
            assert accepts_images(choice) is accepted
            assert open_model(choice, environment={}).accepts_images is accepted
            assert open_model(choice, environment={}, images=not accepted).accepts_images is not accepted
