"""A session whose model says what a script says."""

from pathlib import Path

from coder.core.errors import UserError
from coder.models.scripted import Scripted, load
from coder.settings import Config
from coder.strategies.follow import DIRECT, follow
from coder.wiring.approach import Approach


def rehearsed(script: Path, config: Config) -> Approach:
    """The linear strategy with a scripted model.

    Raises:
        UserError: there is no script, or the strategy is another one: a script is written for one course of events.
    """
    if config.strategy not in (None, "linear"):
        raise UserError(f"Scripts are written for the strategy linear, not for {config.strategy}.")
    if not script.is_file():
        raise UserError(f"There is no script {script}, so the scripted model has nothing to say.")
    return Approach(model=Scripted(load(script)), strategy=follow(DIRECT), reason="as scripted")
