"""The effective configuration: defaults < user file < the repository's own < environment < flags, each value with its source."""

import json
import os
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from coder.core.errors import UserError
from coder.core.value import Value


class Config(Value):
    """Everything that can be configured; built once, passed down."""

    model: str | None = None
    """`provider:name`; none is chosen from the keys and local servers at hand."""
    strategy: Literal["linear", "offline"] | None = None
    """None: linear where there is a model, offline elsewhere."""
    base_url: str | None = None
    """An OpenAI-compatible server to use instead of the provider's own."""
    tool_calling: bool = True
    """False: the model has no tool calling, and calls are written as text."""
    test: str | None = None
    """The project's test command; none is found out."""
    suite_seconds: float = Field(default=900.0, gt=0)
    """Time limit of one run of the whole suite."""
    attempts: int = Field(default=3, ge=1)
    """Red verifications before giving up."""
    max_usd: Decimal | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)


class Setting(Value):
    """One value of the configuration and where it comes from."""

    name: str
    value: Any
    source: str


NARROWING = ("attempts", "max_usd", "max_tokens", "max_seconds", "suite_seconds")
"""What a repository may lower, never raise."""
REPOSITORY = (*NARROWING, "test")
"""What a repository may say at all: it must not choose who gets to read its user's code, or the bill."""


def config_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "coder"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "coder"


def settings(
    repository: Path | None = None, *, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] = os.environ
) -> tuple[Setting, ...]:
    """Every setting in the order of Config's fields.

    Args:
        repository: root of the repository whose `[tool.coder]` counts; None where there is none.
        flags: values given on the command line; None values are absent.

    Raises:
        UserError: a file cannot be parsed, a name is unknown, or a value does not fit.
    """
    user = config_directory(environment) / "config.toml"
    chosen = {name: Setting(name=name, value=field.default, source="default") for name, field in Config.model_fields.items()}
    _overlay(chosen, _table(user, ()), source=str(user))
    if repository is not None:
        project = repository / "pyproject.toml"
        _overlay_repository(chosen, _table(project, ("tool", "coder")), source=f"{project} [tool.coder]")
    variables = {name: environment.get(f"CODER_{name.upper()}") for name in Config.model_fields}
    for name, text in variables.items():
        if text:
            _overlay(chosen, {name: text}, source=f"CODER_{name.upper()}")
    _overlay(chosen, {name: value for name, value in (flags or {}).items() if value is not None}, source="command line")
    return tuple(chosen.values())


def config(chosen: tuple[Setting, ...]) -> Config:
    """The values alone."""
    return Config.model_validate({setting.name: setting.value for setting in chosen})


def _overlay(chosen: dict[str, Setting], values: Mapping[str, Any], *, source: str) -> None:
    for name, value in values.items():
        if name not in Config.model_fields:
            raise UserError(f"{source} sets {name!r}, which is no setting. There are: {', '.join(Config.model_fields)}.")
        chosen[name] = Setting(name=name, value=_checked(name, value, source), source=source)


def _overlay_repository(chosen: dict[str, Setting], values: Mapping[str, Any], *, source: str) -> None:
    """A repository is untrusted: what it may not say is passed over, limits only go down."""
    for name, value in values.items():
        if name not in REPOSITORY:
            continue
        wish = _checked(name, value, source)
        present = chosen[name].value
        if name in NARROWING and present is not None and wish > present:
            continue
        chosen[name] = Setting(name=name, value=wish, source=source)


def _checked(name: str, value: Any, source: str) -> Any:
    try:
        return getattr(Config.model_validate({name: str(value) if isinstance(value, float) else value}), name)
    except ValidationError as error:
        raise UserError(f"{source}: {name} = {value!r} does not fit ({error.errors()[0]['msg']}).") from None


def _table(path: Path, keys: tuple[str, ...]) -> Mapping[str, Any]:
    try:
        table: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        if keys:
            return {}  # a repository's broken pyproject.toml is for its own tools to complain about
        raise UserError(f"{path} is not valid TOML: {error}") from None
    for key in keys:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}


def trusted(directory: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Has the person said that code from this repository may run here?"""
    return str(directory.resolve()) in _trusted(environment)


def trust(directory: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Remember that a repository is trusted, outside of it."""
    path = config_directory(environment) / "trusted.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(sorted({*_trusted(environment), str(directory.resolve())}), indent=1), encoding="utf-8")
    fresh.replace(path)


def _trusted(environment: Mapping[str, str]) -> list[str]:
    try:
        known = json.loads((config_directory(environment) / "trusted.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return []
    return [str(entry) for entry in known] if isinstance(known, list) else []
