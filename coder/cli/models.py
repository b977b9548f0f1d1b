"""`coder models`: models that can be asked here, with context, price and support of tools."""

from pathlib import Path
from typing import Any

from coder.cli.options import ModelOption, RepositoryOption, ServerOption


def models(repo: RepositoryOption = Path(), model: ModelOption = None, base_url: ServerOption = None) -> int:
    """List the model that a session would take, those of roles, those with a key, and those that run here.

    Each with its context window, its price, how it calls tools, and whether it accepts images. Nothing is
    asked that costs.
    """
    from coder.cli.tui_services import InterfaceSettings
    from coder.repo.git import find_checkout

    flags: dict[str, Any] = {"model": model, "base_url": base_url}
    print(*InterfaceSettings(find_checkout(repo).root, flags).list_models(), sep="\n")
    return 0
