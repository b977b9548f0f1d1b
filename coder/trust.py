"""Memory of repositories that the user trusts, and of commands that were allowed there."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from coder.directories import config_directory
from coder.files.regular_files import replace_text
from coder.permissions.command_rules import Rule
from coder.repo.git import find_main_root


def is_trusted(directory: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether the user has said that code from this repository, in any worktree, may run here."""
    return not _names(directory).isdisjoint(_trusted_roots(environment))


def trust_repository(directory: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Remember that a repository is trusted, in the user's own configuration."""
    names = {*_trusted_roots(environment), _repository_name(directory)}
    _write_json("trusted.json", sorted(names), environment)


def forget_repository(directory: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Withdraw trust in a repository, and forget what was always allowed in it."""
    names = _names(directory)
    _write_json(
        "trusted.json",
        [known_root for known_root in _trusted_roots(environment) if known_root not in names],
        environment,
    )
    table = _read_rules(environment)
    kept = {root: rules for root, rules in table.items() if root not in names}
    _write_json("allowed.json", kept, environment)


def allowed_rules(directory: Path, environment: Mapping[str, str] = os.environ) -> tuple[Rule, ...]:
    """Return the rules that the user has always allowed in this repository; none if they cannot be read."""
    try:
        return tuple(
            Rule.model_validate(rule)
            for rule in _read_rules(environment).get(_repository_name(directory), [])
        )
    except ValidationError:
        return ()


def remember_rules(
    directory: Path, rules: Sequence[Rule], environment: Mapping[str, str] = os.environ
) -> None:
    """Remember rules for a repository, in the user's own configuration."""
    all_rules = dict.fromkeys((*allowed_rules(directory, environment), *rules))
    table = {
        **_read_rules(environment),
        _repository_name(directory): [rule.model_dump() for rule in all_rules],
    }
    _write_json("allowed.json", table, environment)


def _repository_name(directory: Path) -> str:
    return str(find_main_root(directory.resolve()))


def _names(directory: Path) -> set[str]:
    """Return the names that a repository may be stored by: its own, and of old that of the checkout."""
    return {_repository_name(directory), str(directory.resolve())}


def _read_rules(environment: Mapping[str, str]) -> dict[str, Any]:
    data = _read_json("allowed.json", environment)
    return data if isinstance(data, dict) else {}


def _trusted_roots(environment: Mapping[str, str]) -> list[str]:
    data = _read_json("trusted.json", environment)
    return [str(entry) for entry in data] if isinstance(data, list) else []


def _read_json(name: str, environment: Mapping[str, str]) -> Any:
    try:
        return json.loads((config_directory(environment) / name).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def _write_json(name: str, data: Any, environment: Mapping[str, str]) -> None:
    replace_text(config_directory(environment) / name, json.dumps(data, indent=1))
