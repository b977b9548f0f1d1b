"""Session with a scripted model."""

from pathlib import Path

from coder.core.errors import UserError
from coder.models.scripted import ScriptedModel, load_script
from coder.settings import Config
from coder.strategies.registry import build_strategy
from coder.wiring.approach import Approach


def scripted_approach(script: Path, config: Config) -> Approach:
    """Return the configured strategy with a scripted model, which fails when the script is used up.

    Raises:
        UserError: there is no script.
    """
    if not script.is_file():
        raise UserError(f"There is no script {script}, so the scripted model has nothing to say.")
    strategy = build_strategy(
        config.strategy or "linear",
        width=config.width,
        rounds=config.attempts,
        review_rounds=config.review_rounds,
    )
    return Approach(model=ScriptedModel(load_script(script)), strategy=strategy, reason="as scripted")
