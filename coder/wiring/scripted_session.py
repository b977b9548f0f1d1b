"""Session with a scripted model."""

from pathlib import Path

from coder.core.errors import UserError
from coder.core.values.task import Mode
from coder.models.scripted import ScriptedModel, load_script
from coder.settings import Config
from coder.wiring.approach import Approach, choose_strategy


def scripted_approach(script: Path, config: Config, *, mode: Mode = "fix") -> Approach:
    """Return the configured strategy with a scripted model, which fails when the script is used up.

    Raises:
        UserError: there is no script.
    """
    if not script.is_file():
        raise UserError(f"There is no script {script}, so the scripted model has nothing to say.")
    strategy = choose_strategy(config.model_copy(update={"offline_first": False}), mode)
    return Approach(model=ScriptedModel(load_script(script)), strategy=strategy, reason="as scripted")
