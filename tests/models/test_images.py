import pytest

from coder.models.catalog import ModelChoice, accepts_images
from coder.models.provider import open_model
from tests.builders import lines
from tests.models.fakes import serve_answers


@pytest.mark.parametrize(
    ("model", "accepted"),
    [
        (model, name == "accepting")
        for name in ("accepting", "others")
        for model in lines(f"images/{name}.txt")
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
