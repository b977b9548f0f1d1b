"""Choice of model and strategy for a session."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlsplit

from coder.core.errors import UserError
from coder.core.ports.model import Model
from coder.core.values.candidate import Patch
from coder.core.values.task import Mode, Task
from coder.models.catalog import ModelChoice, choose_beside, choose_by_name, choose_model
from coder.models.opening import open_model
from coder.models.scripted import ScriptedModel
from coder.permissions.secrets import PLACEHOLDER
from coder.repo.history.existing_change import has_tree, resolve_change
from coder.session.context import Strategy
from coder.settings import Config
from coder.strategies.auto import log_strategy_choice
from coder.strategies.building.strategy import build_components
from coder.strategies.existing_change import judge_and_review, judge_existing_change
from coder.strategies.offline import search_repair
from coder.strategies.offline_first import offline_first
from coder.strategies.registry import answer_strategy, build_strategy
from coder.strategies.research.offline_answer import answer_offline
from coder.strategies.review.reviewers import committee_reviewers

NO_MODEL = (
    "no key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY) and no model "
    "server answers on this machine "
    "(Ollama, llama.cpp, LM Studio, vLLM; or give --base-url)."
)


@dataclass(frozen=True, kw_only=True)
class Approach:
    """Model and strategy of a session."""

    model: Model
    strategy: Strategy
    models: Mapping[str, tuple[Model, ...]] = field(default_factory=dict)
    """Models by role, for roles with a model or fallbacks of their own."""
    reason: str
    """Reason of the choice, for the user."""
    is_offline: bool = False
    """Whether no model is asked."""
    base_url: str | None = None
    """The server that the user gave; empty for the provider's own; None if it must not be recorded."""


def choose_approach(config: Config, *, model_name: str | None, mode: Mode = "fix") -> Approach:
    """Return the configured strategy with its model; without key and server, the built-in engine.

    `model_name` is the value of --model.

    Raises:
        UserError: the model cannot be used, or a strategy or mode needs one and there is none.
    """
    nobody = ScriptedModel((), name="no model")
    if config.strategy == "offline" and (mode == "fix" or (mode == "ask" and model_name is None)):
        strategy = answer_offline if mode == "ask" else search_repair()
        return Approach(model=nobody, strategy=strategy, reason="as asked", is_offline=True)
    choice = choose_model(
        model=model_name, configured=config.model, base_url=config.base_url, environment=os.environ
    )
    if choice is not None:
        model, models = _open_models(choice, config)
        return Approach(
            model=model,
            models=models,
            strategy=choose_strategy(config, mode),
            reason=choice.reason,
            base_url=_recordable_url(config.base_url or ""),
        )
    if mode != "fix":
        requests = {"ask": "A question", "build": "New code"}
        request = requests.get(mode, "A change that is not a bug")
        search = " coder ask --offline answers what search can." if mode == "ask" else ""
        raise UserError(f"{request} needs a model: {NO_MODEL}{search}")
    if config.strategy is not None:
        raise UserError(f"The strategy {config.strategy} needs a model: {NO_MODEL}")
    return Approach(
        model=nobody,
        strategy=search_repair(),
        reason=f"{NO_MODEL} So the built-in engine looks for a repair.",
        is_offline=True,
    )


def _recordable_url(url: str) -> str | None:
    """Return a URL unless it may hold a password or a key."""
    parts = urlsplit(url)
    return None if parts.username or parts.query else url


def choose_strategy(config: Config, mode: Mode) -> Strategy:
    """Return the strategy of a mode under a configuration.

    Raises:
        UserError: it is for bugs alone, and the mode is another one.
    """
    if mode == "ask":
        return answer_strategy
    if mode == "build":
        return build_components(rounds=config.review_rounds)
    name = config.strategy or "linear"
    if name == "offline":
        raise UserError("The strategy offline repairs bugs alone: choose another one for a change.")
    strategy = build_strategy(
        name,
        width=config.width,
        rounds=config.attempts,
        review_rounds=config.review_rounds,
        reproduces=mode == "fix",
    )
    strategy = offline_first(strategy) if config.offline_first and mode == "fix" else strategy
    return strategy if config.strategy in (None, "auto") else log_strategy_choice(name, "as asked", strategy)


def _open_models(choice: ModelChoice, config: Config) -> tuple[Model, dict[str, tuple[Model, ...]]]:
    """Return the executor's model, and the models of each role, followed by their fallbacks."""
    tool_calling = None if config.tool_calling else False

    def open_choice(model_choice: ModelChoice) -> Model:
        return open_model(
            model_choice, environment=os.environ, tool_calling=tool_calling, images=config.images
        )

    def open_named(name: str, reason: str) -> Model:
        return open_choice(
            choose_by_name(name, reason=reason, environment=os.environ)
            if config.base_url is None
            else choose_beside(name, choice, reason=reason)
        )

    main = open_choice(choice)
    spare = tuple(open_named(name, "to fall back on") for name in config.fallback_models)
    roles = {
        "planner": config.planner_model,
        "reviewer": config.reviewer_model,
        "summariser": config.summariser_model,
    }
    branches = islice(cycle(config.branch_models), config.width - 1)
    roles |= {f"branch {number}": name for number, name in enumerate(branches, start=1)}
    own_models = {
        role: (open_named(name, f"for the {role}"), main, *spare) for role, name in roles.items() if name
    }
    return main, {"executor": (main, *spare), **own_models}


def reviewing_approach(judging: Approach, config: Config, *, model_name: str | None) -> Approach:
    """Return how to judge an existing change and have it read by the committee's reviewers.

    Raises:
        UserError: there is no model.
    """
    choice = choose_model(
        model=model_name, configured=config.model, base_url=config.base_url, environment=os.environ
    )
    if choice is None:
        raise UserError(f"A review needs a model: {NO_MODEL} coder verify judges a change without one.")
    model, models = _open_models(choice, config)
    strategy = judge_and_review(judging.strategy, choose_reviewers=committee_reviewers)
    return Approach(
        model=model, models=models, strategy=strategy, reason=f"{choice.reason}; {judging.reason}"
    )


def judging_approach(
    directory: Path,
    *,
    revision: str | None,
    diff: str | None,
    against: str | None,
    test_ids: tuple[str, ...] = (),
    tree: str = "",
) -> tuple[Approach, Task]:
    """Return how to judge an existing change, and its task: the base and the purpose of the change.

    `test_ids` are tests that must show it. `tree` is the git tree that the diff leads to; it is judged itself
    if the stored diff has masked secrets.

    Raises:
        UserError: there is no such change.
    """
    nobody = ScriptedModel((), name="judging")
    if diff is not None:
        base_name = against or "HEAD with the uncommitted work"
        patch = Patch(diff=diff)
        if PLACEHOLDER.search(diff) and tree:
            if not has_tree(directory, tree):
                raise UserError(
                    "The stored diff holds masked secrets and this repository no longer has the judged tree. "
                    "Name the commit instead."
                )
            patch = Patch(diff="", tree=tree)
        return Approach(
            model=nobody,
            strategy=judge_existing_change(patch, test_ids),
            reason=f"the diff against {base_name}",
        ), Task(issue="", directory=directory, base=against, given=True)
    change = resolve_change(directory, revision=revision, against=against)
    chosen_approach = Approach(
        model=nobody,
        strategy=judge_existing_change(Patch(diff="", tree=change.tree), test_ids),
        reason=change.label,
    )
    return chosen_approach, Task(issue=change.message, directory=directory, base=change.base, given=True)
