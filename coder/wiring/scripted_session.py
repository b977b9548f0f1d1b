"""Session with a scripted model."""

from pathlib import Path

from coder.core.errors import UserError
from coder.models.scripted import Scripted, load
from coder.settings import Config
from coder.strategies.registry import offered
from coder.wiring.approach import Approach


def rehearsed(script: Path, config: Config) -> Approach:
    """Return the configured strategy with a scripted model, which fails when the script is used up.

    Raises:
        UserError: there is no script.
    """
    if not script.is_file():
        raise UserError(f"There is no script {script}, so the scripted model has nothing to say.")
    strategy = offered(
        config.strategy or "linear",
        width=config.width,
        rounds=config.attempts,
        review_rounds=config.review_rounds,
    )
    return Approach(model=Scripted(load(script)), strategy=strategy, reason="as scripted")
