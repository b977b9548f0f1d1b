"""Who does the work, and how."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

from coder.core.errors import UserError
from coder.core.ports.model import Model
from coder.core.values.candidate import Patch
from coder.core.values.task import Task
from coder.models.catalog import Choice, at, choose, place
from coder.models.opening import open_model
from coder.models.scripted import Scripted
from coder.permissions.secrets import PLACEHOLDER
from coder.repo.history.existing_change import given, has_tree
from coder.session.context import Strategy
from coder.settings import Config
from coder.strategies.auto import chosen
from coder.strategies.existing_change import judge_given
from coder.strategies.offline import search_repair
from coder.strategies.offline_first import offline_first
from coder.strategies.registry import offered

NO_MODEL = (
    "no key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY) and no model "
    "server answers on this machine "
    "(Ollama, llama.cpp, LM Studio, vLLM; or give --base-url)."
)


@dataclass(frozen=True, kw_only=True)
class Approach:
    """Who does the work, and how."""

    model: Model
    strategy: Strategy
    models: Mapping[str, tuple[Model, ...]] = field(default_factory=dict)
    """By role, where a role has its own or others to fall back on."""
    reason: str
    """For the screen: why this one."""
    alone: bool = False
    """No model is asked."""


def approach(config: Config, *, named: str | None) -> Approach:
    """The strategy asked for, with the model it needs; without key and server the engine that needs none. `named` is what --model says.

    Raises:
        UserError: the model asked for cannot be used, or a strategy needs one and there is none.
    """
    nobody = Scripted((), name="no model")
    if config.strategy == "offline":
        return Approach(model=nobody, strategy=search_repair(), reason="as asked", alone=True)
    choice = choose(model=named, configured=config.model, base_url=config.base_url, environment=os.environ)
    if choice is not None:
        model, models = _models(choice, config)
        return Approach(model=model, models=models, strategy=_strategy(config), reason=choice.reason)
    if config.strategy is not None:
        raise UserError(f"The strategy {config.strategy} needs a model: {NO_MODEL}")
    return Approach(
        model=nobody,
        strategy=search_repair(),
        reason=f"{NO_MODEL} So the built-in engine looks for a repair.",
        alone=True,
    )


def _strategy(config: Config) -> Strategy:
    name = config.strategy or "linear"
    strategy = offered(name, width=config.width, rounds=config.attempts, review_rounds=config.review_rounds)
    strategy = offline_first(strategy) if config.offline_first else strategy
    return strategy if config.strategy in (None, "auto") else chosen(name, "as asked", strategy)


def _models(choice: Choice, config: Config) -> tuple[Model, dict[str, tuple[Model, ...]]]:
    """The executor's model, and those of roles; each is followed by the ones that speak while it is down."""
    tool_calling = None if config.tool_calling else False

    def opened(chosen: Choice) -> Model:
        return open_model(chosen, environment=os.environ, tool_calling=tool_calling)

    def named(name: str, reason: str) -> Model:
        return opened(
            place(name, reason=reason, environment=os.environ)
            if config.base_url is None
            else at(name, choice, reason=reason)
        )

    main = opened(choice)
    spare = tuple(named(name, "to fall back on") for name in config.fallback_models)
    roles = {
        "planner": config.planner_model,
        "reviewer": config.reviewer_model,
        "summariser": config.summariser_model,
    }
    branches = islice(cycle(config.branch_models), config.width - 1)
    roles |= {f"branch {number}": name for number, name in enumerate(branches, start=1)}
    own = {role: (named(name, f"for the {role}"), main, *spare) for role, name in roles.items() if name}
    return main, {"executor": (main, *spare), **own}


def judging(
    directory: Path,
    *,
    revision: str | None,
    diff: str | None,
    against: str | None,
    named: tuple[str, ...] = (),
    tree: str = "",
) -> tuple[Approach, Task]:
    """Return how to judge a change that exists already, and what is known of the task: where to start from, what the change is for.

    `named` are tests that must show it; `tree` is the git tree that the diff leads to: judged itself where the diff was stored masked.

    Raises:
        UserError: there is no such change.
    """
    nobody = Scripted((), name="judging")
    if diff is not None:
        onto = against or "HEAD with the uncommitted work"
        patch = Patch(diff=diff)
        if PLACEHOLDER.search(diff) and tree:
            if not has_tree(directory, tree):
                raise UserError(
                    "The stored diff holds masked secrets and this repository no longer has the judged tree. "
                    "Name the commit instead."
                )
            patch = Patch(diff="", tree=tree)
        return Approach(
            model=nobody, strategy=judge_given(patch, named), reason=f"the diff against {onto}"
        ), Task(issue="", directory=directory, base=against, given=True)
    found = given(directory, revision=revision, against=against)
    how = Approach(
        model=nobody, strategy=judge_given(Patch(diff="", tree=found.tree), named), reason=found.label
    )
    return how, Task(issue=found.message, directory=directory, base=found.base, given=True)
