"""The effective configuration: defaults < user file < the repository's own < environment < flags, each value with its source."""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, field_validator

from coder.core.errors import UserError
from coder.core.values.base import Value
from coder.files.regular_files import read_regular
from coder.permissions.command_rules import Action, Mode, Rule, written


class Config(Value):
    """Everything that can be configured; built once, passed down."""

    model: str | None = None
    """`provider:name`; none is chosen from the keys and local servers at hand."""
    strategy: Literal["linear", "plan", "tree", "committee", "offline", "auto"] | None = None
    """None: linear where there is a model, offline elsewhere."""
    planner_model: str | None = None
    reviewer_model: str | None = None
    summariser_model: str | None = None
    """Roles with a model of their own; None: the executor's."""
    fallback_models: tuple[str, ...] = ()
    """What goes on, in this order, when a model is down."""
    branch_models: tuple[str, ...] = ()
    """Who thinks in the second and further candidates of a tree, in turn; none: the model of the first."""
    seed: int | None = None
    """Sent to providers that draw the same for the same seed: OpenAI-compatible servers, Google."""
    width: int = Field(default=3, ge=1, le=5)
    """Candidates of a tree."""
    review_rounds: int = Field(default=2, ge=0)
    """Times that what reviewers flag is mended and read again."""
    offline_first: bool = True
    """Before a model is asked, ten seconds of search for an edit that makes a failing test pass."""
    base_url: str | None = None
    """An OpenAI-compatible server to use instead of the provider's own."""
    tool_calling: bool = True
    """False: the model has no tool calling, and calls are written as text."""
    test: str | None = None
    """The project's test command; none is found out."""
    suite_seconds: float = Field(default=900.0, gt=0)
    """Time limit of one run of the whole suite."""
    suite: Literal["auto", "impacted", "whole"] = "auto"
    """What runs for a verdict: `whole` the suite, `impacted` the tests that the change can reach; `auto` the suite where it ends within
    `foreground_suite_seconds`, else the impacted tests."""
    foreground_suite_seconds: float = Field(default=60.0, gt=0)
    """With `auto`: how long the whole suite may take on the untouched code."""
    impacted_suite_seconds: float = Field(default=120.0, gt=0)
    """Time limit of one run of the impacted tests; where it cuts them off, a fix is PASSING at most."""
    checks: Literal["show", "block"] = "show"
    """block: what the project's own linters and their like newly find keeps a fix from being PROVEN."""
    attempts: int = Field(default=3, ge=1)
    """Red verifications before giving up."""
    attempts_per_side: int = Field(default=2, ge=1)
    """Attempts at the code, or at the test, after which the same failure is taken for a fault of the other."""
    sandbox_cpu_seconds: int | None = Field(default=None, gt=0)
    """CPU time of each process in the sandbox; None: only the wall clock limits it."""
    sandbox_memory_mb: int = Field(default=8192, ge=256)
    """Memory of everything that one command starts, in MiB; never more than most of the machine's."""
    sandbox_processes: int = Field(default=1024, ge=16)
    """Processes and threads of one command at a time."""
    max_usd: Decimal | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_requests: int | None = Field(default=None, gt=0)
    requests_per_minute: int | None = Field(default=None, gt=0)
    approve: Mode = "auto-edit"
    """What is asked before it is done: in `ask` changes and programs, in `auto-edit` what leaves the sandbox, in `full` nothing;
    in `read-only` nothing is changed at all."""
    allow: tuple[str, ...] = ()
    """Commands that run unasked, such as `make test` or `npm run *`."""
    ask: tuple[str, ...] = ()
    """Commands that are asked about."""
    deny: tuple[str, ...] = ()
    """Commands that never run."""
    image: str | None = None
    """A container image that is here already: commands and tests run in it, by podman or Docker, instead of on this machine."""
    deny_read: tuple[str, ...] = ()
    """Patterns of files that neither tools nor commands read, besides those of coder.permissions.private_files; `!` in front allows."""

    @field_validator("allow", "ask", "deny")
    @classmethod
    def _are_rules(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            written(pattern, "ask")
        return patterns


class Setting(Value):
    """One value of the configuration and where it comes from."""

    name: str
    value: Any
    source: str


MODES: tuple[Mode, ...] = get_args(Mode)
LISTS = ("allow", "ask", "deny", "deny_read", "fallback_models", "branch_models")
"""Settings of which each file's entries count; the environment has none of them."""
NARROWING = (
    "attempts",
    "max_usd",
    "max_tokens",
    "max_seconds",
    "max_requests",
    "suite_seconds",
    "sandbox_memory_mb",
    "sandbox_processes",
)
"""What a repository may lower, never raise."""
REPOSITORY = (*NARROWING, "test", "checks", "suite", "approve", "ask", "deny", "deny_read")
"""What a repository may say at all: it must not choose who gets to read its user's code, or the bill."""


def config_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "coder"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "coder"


def sessions_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where each session has a directory of its own."""
    return state_directory(environment) / "sessions"


def index_database(root: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Where the symbol index of a tree, and of all its worktrees, is kept."""
    digest = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    return state_directory(environment) / "index" / f"{digest}.sqlite"


def settings(
    repository: Path | None = None,
    *,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> tuple[Setting, ...]:
    """Every setting in the order of Config's fields.

    Args:
        repository: root of the repository whose `[tool.coder]` counts; None where there is none.
        flags: values given on the command line; None values are absent.

    Raises:
        UserError: a file cannot be parsed, a name is unknown, or a value does not fit.
    """
    user = config_directory(environment) / "config.toml"
    chosen = {
        name: Setting(name=name, value=field.default, source="default")
        for name, field in Config.model_fields.items()
    }
    _overlay(chosen, _table(user, ()), source=str(user))
    if repository is not None:
        project = repository / "pyproject.toml"
        _overlay_repository(chosen, _table(project, ("tool", "coder")), source=f"{project} [tool.coder]")
    variables = {
        name: environment.get(f"CODER_{name.upper()}") for name in Config.model_fields if name not in LISTS
    }
    for name, text in variables.items():
        if text:
            _overlay(chosen, {name: text}, source=f"CODER_{name.upper()}")
    _overlay(
        chosen,
        {name: value for name, value in (flags or {}).items() if value is not None},
        source="command line",
    )
    return tuple(chosen.values())


def config(chosen: tuple[Setting, ...]) -> Config:
    """The values alone."""
    return Config.model_validate({setting.name: setting.value for setting in chosen})


def sandbox_caps(chosen: Config) -> dict[str, int]:
    """The limits of every command in the sandbox, by their names in `coder.core.ports.Limits`."""
    caps = {"resident_bytes": chosen.sandbox_memory_mb << 20, "processes": chosen.sandbox_processes}
    return caps if chosen.sandbox_cpu_seconds is None else {**caps, "cpu_seconds": chosen.sandbox_cpu_seconds}


def rules(chosen: Config) -> tuple[Rule, ...]:
    """The commands of a configuration that are allowed, asked about and denied."""
    return tuple(
        written(pattern, action) for action in get_args(Action) for pattern in getattr(chosen, action)
    )


def _overlay(chosen: dict[str, Setting], values: Mapping[str, Any], *, source: str) -> None:
    for name, value in values.items():
        if name not in Config.model_fields:
            raise UserError(
                f"{source} sets {name!r}, which is no setting. There are: {', '.join(Config.model_fields)}."
            )
        chosen[name] = Setting(name=name, value=_checked(name, value, source), source=source)


def _overlay_repository(chosen: dict[str, Setting], values: Mapping[str, Any], *, source: str) -> None:
    """A repository is untrusted: what it may not say is passed over, limits only go down."""
    for name, value in values.items():
        if name not in REPOSITORY:
            continue
        wish = _checked(name, value, source)
        present = chosen[name].value
        if name in LISTS:
            added = tuple(entry for entry in wish if not entry.startswith("!"))
            chosen[name] = Setting(
                name=name,
                value=(*present, *added),
                source=f"{chosen[name].source}, {source}" if present else source,
            )
        elif not _widens(name, wish, present):
            chosen[name] = Setting(name=name, value=wish, source=source)


def _widens(name: str, wish: Any, present: Any) -> bool:
    """Would a repository's wish allow more than the person does?"""
    if name == "approve":
        return MODES.index(wish) > MODES.index(present)
    if name == "suite":
        return bool(wish != "whole")
    if name == "checks":
        return bool(wish == "show" and present == "block")
    return name in NARROWING and present is not None and bool(wish > present)


def passed_over(repository: Path) -> tuple[str, ...]:
    """A sentence on each name in a repository's `[tool.coder]` that means nothing there: a slip of the pen, or not its to say."""
    told = []
    for name in _table(repository / "pyproject.toml", ("tool", "coder")):
        if name in Config.model_fields and name not in REPOSITORY:
            told.append(
                f"[tool.coder] sets {name!r}, which a repository may not: it is passed over. Your own "
                "settings may."
            )
        elif name not in Config.model_fields:
            near = get_close_matches(name, REPOSITORY, n=1)
            told.append(
                f"[tool.coder] sets {name!r}, which is no setting.{f' Is {near[0]!r} meant?' if near else ''}"
            )
    return tuple(told)


def _checked(name: str, value: Any, source: str) -> Any:
    try:
        return getattr(Config.model_validate({name: str(value) if isinstance(value, float) else value}), name)
    except ValidationError as error:
        raise UserError(f"{source}: {name} = {value!r} does not fit ({error.errors()[0]['msg']}).") from None


def _table(path: Path, keys: tuple[str, ...]) -> Mapping[str, Any]:
    try:
        # A repository's own file may be a pipe, or lead out of it.
        text = (read_regular(path) or b"").decode() if keys else path.read_text(encoding="utf-8")
        table: Any = tomllib.loads(text)
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
    _keep("trusted.json", sorted({*_trusted(environment), str(directory.resolve())}), environment)


def forget(directory: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Trust a repository no longer, and forget what was allowed always in it."""
    root = str(directory.resolve())
    _keep("trusted.json", [other for other in _trusted(environment) if other != root], environment)
    _keep(
        "allowed.json",
        {other: held for other, held in _table_of_rules(environment).items() if other != root},
        environment,
    )


def allowed(directory: Path, environment: Mapping[str, str] = os.environ) -> tuple[Rule, ...]:
    """What the person has allowed always in this repository; what cannot be read counts as nothing."""
    try:
        return tuple(
            Rule.model_validate(rule)
            for rule in _table_of_rules(environment).get(str(directory.resolve()), [])
        )
    except ValidationError:
        return ()


def allow(directory: Path, rules: Sequence[Rule], environment: Mapping[str, str] = os.environ) -> None:
    """Remember rules for a repository, outside of it."""
    every = dict.fromkeys((*allowed(directory, environment), *rules))
    table = {**_table_of_rules(environment), str(directory.resolve()): [rule.model_dump() for rule in every]}
    _keep("allowed.json", table, environment)


def _table_of_rules(environment: Mapping[str, str]) -> dict[str, Any]:
    known = _kept("allowed.json", environment)
    return known if isinstance(known, dict) else {}


def _trusted(environment: Mapping[str, str]) -> list[str]:
    known = _kept("trusted.json", environment)
    return [str(entry) for entry in known] if isinstance(known, list) else []


def _kept(name: str, environment: Mapping[str, str]) -> Any:
    try:
        return json.loads((config_directory(environment) / name).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def _keep(name: str, data: Any, environment: Mapping[str, str]) -> None:
    path = config_directory(environment) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(data, indent=1), encoding="utf-8")
    fresh.replace(path)


def configured(root: Path | None, flags: Mapping[str, Any]) -> Config:
    """What holds for a command in a repository."""
    return config(settings(root, flags=flags))
