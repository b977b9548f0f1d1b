"""Effective configuration: defaults < user file < repository < environment < flags, with sources.

And the memory of repositories that the user trusts, and of commands that were allowed there.
"""

import ast
import inspect
import json
import os
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, field_validator

from coder.core.errors import UserError
from coder.core.text import explain_invalid_value, parse_toml, suggest_name
from coder.core.values import Value
from coder.core.verdict import Requirement
from coder.files.regular_files import config_directory, read_regular, replace_text
from coder.permissions.command_rules import Action, Mode, Rule, parse_rule
from coder.repo.git import find_main_root


class Config(Value):
    """All settings; built once and passed down."""

    model: str | None = None
    """Model to use, as `provider:name`; None: chosen from the available keys and local servers."""
    base_url: str | None = None
    """OpenAI-compatible server to use instead of the provider's own."""
    planner_model: str | None = None
    """Model that plans and locates; None: `model`."""
    reviewer_model: str | None = None
    """Model that reviews changes; None: `model`."""
    effort: Literal["default", "low", "medium", "high"] = "default"
    """Reasoning effort of models; `default` leaves it to their provider.

    It costs time and money, and changes nothing for models that do not think.
    """
    context_tokens: int | None = Field(default=None, ge=8192)
    """Size of the model's context window; None: as listed for the model, else learnt when it overflows."""
    images: bool | None = None
    """Whether the model accepts images; None: as far as its name or its server tells."""
    tool_calling: bool = True
    """Tool calling of the model; without it, calls are written as text."""
    seed: int | None = None
    """Seed sent to providers that support it: OpenAI-compatible servers, Google."""
    max_usd: Decimal | None = Field(default=None, gt=0)
    """Most US dollars that a session spends."""
    max_usd_per_day: Decimal | None = Field(default=None, gt=0)
    """Most US dollars that all sessions of a day (UTC) spend."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Most tokens that a session sends and receives; the limit for models whose price is unknown."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Longest time of a session."""
    max_requests: int | None = Field(default=None, gt=0)
    """Most requests of a session to models."""
    attempts: int = Field(default=3, ge=1)
    """Failed verifications before giving up."""
    attempts_per_side: int = Field(default=2, ge=1)
    """Attempts at the code, or at the test, after which the same failure is blamed on the other."""
    strategy: Literal["linear", "plan", "tree", "committee", "auto", "offline"] | None = None
    """Strategy of fixes; None: linear if there is a model, otherwise offline."""
    offline_first: bool = True
    """Whether to search ten seconds for an edit that passes a failing test before a model is asked."""
    keep_steps: bool = False
    """Whether each step is delivered as a commit of its own, with the verdict on the last."""
    test: str | None = None
    """The project's test command; None: detected."""
    build: str | None = None
    """Command that builds the project, run on both sides of a change before its tests; None: detected.

    Detected are extension modules of Python, built where a change touches their sources.
    """
    wait: bool = False
    """Whether all tests that use the changed code run, up to `suite_seconds`, however long they take.

    Otherwise they run nearest first, for three times as long as the tests of the fix, 20 s to 120 s.
    """
    suite_seconds: float = Field(default=900.0, gt=0)
    """Time limit of each test run."""
    behavior_seconds: float = Field(default=10.0, ge=0)
    """Time limit for comparing the answers to calls of tests, and to calls near them; 0 compares nothing."""
    checks: Literal["show", "block"] = "show"
    """New findings of the project's own linters: shown, or a reason against PROVEN (`block`)."""
    require: Requirement = "fixed"
    """The least verdict that ends with exit code 0: `proven`, `fixed`, `passing` or `not-broken`."""
    test_network: bool = False
    """Network access of this repository's tests: services on loopback, and the internet."""
    test_environment: tuple[str, ...] = ()
    """Names of environment variables that are passed to tests of this repository."""
    approve: Mode = "auto-edit"
    """Approval mode: actions that need an answer first.

    In `ask` changes and programs, in `auto-edit` what leaves the sandbox, in `full` nothing; `read-only`
    allows no change.
    """
    install: bool = False
    """Whether packages that tests lack are installed without asking, into an environment of coder's own.

    They come from the package index, wheels only; your own environment stays as it is.
    """
    allow: tuple[str, ...] = ()
    """Commands that run without asking, such as `make test` or `npm run *`."""
    ask: tuple[str, ...] = ()
    """Commands that are asked about."""
    deny: tuple[str, ...] = ()
    """Commands that never run."""
    deny_read: tuple[str, ...] = ()
    """Patterns of files that neither tools nor commands may read; `!` in front allows.

    They extend those of coder.permissions.secrets.
    """
    url_hosts: tuple[str, ...] = ()
    """Hosts from which `coder ask --url` may fetch a page."""
    sandbox: str | None = None
    """Sandbox of another package, by its name in the entry points `coder.sandboxes`; None: coder's own."""
    image: str | None = None
    """Local container image in which commands and tests run, by podman or Docker."""
    sandbox_memory_mb: int = Field(default=8192, ge=256)
    """Memory of everything that one command starts, in MiB; never more than most of the machine's."""
    sandbox_cpu_seconds: int | None = Field(default=None, gt=0)
    """CPU time of each process in the sandbox; None: only the wall clock limits it."""
    inline: bool = False
    """Whether the interface stays in the terminal's own screen and leaves a transcript there."""
    screen_reader: bool = False
    """Whether the interface is a conversation in plain lines, for screen readers."""
    vim: bool = False
    """Whether the prompt of the interface has vim's normal and insert mode."""
    keys: Mapping[str, str] = Field(default={})
    """Keys of the interface: a table `[keys]` with lines such as `send = "ctrl+s"`."""

    @field_validator("allow", "ask", "deny")
    @classmethod
    def _validate_rules(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            parse_rule(pattern, "ask")
        return patterns


SETTING_GROUPS: Mapping[str, str] = {
    "Models": "model",
    "Limits": "max_usd",
    "Strategy": "strategy",
    "Tests and verdicts": "test",
    "Permissions": "approve",
    "Sandbox": "sandbox",
    "Interface": "inline",
}
"""Headings for all settings, in their order, with the first one below each."""


class Setting(Value):
    """One value of the configuration with its source."""

    name: str
    value: Any
    source: str

    @property
    def text(self) -> str:
        """The value as it is written in a file; empty where there is none."""
        if isinstance(self.value, tuple):
            return ", ".join(self.value)
        if self.value is None or self.value == {}:
            return ""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


MODES: tuple[Mode, ...] = get_args(Mode)
LIST_SETTINGS = ("allow", "ask", "deny", "deny_read", "url_hosts")
"""Settings that accumulate the entries of all files; the environment cannot set them."""
TABLE_SETTINGS = ("keys",)
"""Settings that are tables; the environment cannot set them."""
OWN_SETTINGS = ("test_network", "test_environment")
"""Settings that the user makes for single repositories, below `[repositories."PATH"]` of their file."""
LOWERABLE_SETTINGS = (
    *("attempts", "max_usd", "max_tokens", "max_seconds", "max_requests", "suite_seconds"),
    "sandbox_memory_mb",
)
"""Settings that a repository may lower but not raise."""
NEAREST_FIRST = "tests that use the changed code run nearest first; `wait = true` runs all of them"
REMOVED_SETTINGS: Mapping[str, str] = {
    "alerts": "the terminal's own settings say if its bell is heard",
    "branch_models": "all candidates of a tree are written by `model`",
    "fallback_models": "a model that is down is asked again, then the session ends; --model names another",
    "keep_sessions_days": "`coder clean --older-than DAYS` removes old sessions",
    "max_usd_per_month": "`max_usd_per_day` limits each day",
    "minimise": "the review marks the hunks that no test needs",
    "requests_per_minute": "a provider's own limit is waited for",
    "review_rounds": "what reviewers flag is repaired twice; `coder build --max-iterations` is an option",
    "suite": NEAREST_FIRST,
    "foreground_suite_seconds": NEAREST_FIRST,
    "impacted_suite_seconds": NEAREST_FIRST,
    "sandbox_processes": "a command may have 1,024 processes and threads",
    "summariser_model": "`model` shortens long conversations",
    "width": "a tree has three candidates",
}
"""Former settings, each with what is true or to be used instead; they are passed over."""
REPOSITORY_FILE = "coder.toml"
"""Settings of a repository that need no pyproject.toml."""
REPOSITORY_SETTINGS = (*LOWERABLE_SETTINGS, "test", "build", "checks", "approve", "ask", "deny", "deny_read")
"""Settings that a repository may set; it must not choose who reads the user's code, or the costs."""


def collect_settings(
    repository: Path | None = None,
    *,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> tuple[Setting, ...]:
    """Return every setting in the order of Config's fields.

    Args:
        repository: root of the repository whose own settings count; None if there is none.
        flags: values from the command line; None values are absent.

    Raises:
        UserError: a file cannot be parsed, a name is unknown, or a value is invalid.
    """
    user = config_directory(environment) / "config.toml"
    entries = {
        name: Setting(name=name, value=field.default, source="default")
        for name, field in Config.model_fields.items()
    }
    table = dict(_read_user_table(user))
    own_tables = table.pop("repositories", {})
    for name in OWN_SETTINGS:
        if name in table:
            raise UserError(f'{user} sets {name!r} for all repositories: set it below [repositories."PATH"].')
    _overlay(entries, table, source=str(user))
    if repository is not None:
        for source, values in _repository_tables(repository):
            _overlay_repository(entries, values, source=f"{repository}/{source}")
        _overlay(entries, _own_table(own_tables, repository, user), source=f"{user} [repositories]")
    for name in Config.model_fields:
        text = environment.get(f"CODER_{name.upper()}")
        if text and name not in (*LIST_SETTINGS, *TABLE_SETTINGS, *OWN_SETTINGS):
            _overlay(entries, {name: text}, source=f"CODER_{name.upper()}")
    _overlay(
        entries,
        {name: value for name, value in (flags or {}).items() if value is not None},
        source="command line",
    )
    return tuple(entries.values())


def describe_settings() -> dict[str, str]:
    """Return the docstring of each field of `Config`, on one line."""
    descriptions: dict[str, str] = {}
    name = ""
    for node in ast.parse(textwrap.dedent(inspect.getsource(Config))).body[0].body:  # type: ignore[attr-defined]
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                descriptions[name] = " ".join(text.split()).replace("None:", "not set:")
    return descriptions


def config_from_settings(entries: tuple[Setting, ...]) -> Config:
    """Return the values of settings as a configuration."""
    return Config.model_validate({setting.name: setting.value for setting in entries})


def sandbox_caps(configuration: Config) -> dict[str, int]:
    """Return the limits of every command in the sandbox, by their names in `coder.core.ports.Limits`."""
    caps = {"resident_bytes": configuration.sandbox_memory_mb << 20}
    cpu_seconds = configuration.sandbox_cpu_seconds
    return caps if cpu_seconds is None else {**caps, "cpu_seconds": cpu_seconds}


def configured_rules(configuration: Config) -> tuple[Rule, ...]:
    """Return rules for the commands that a configuration allows, asks about and denies."""
    return tuple(
        parse_rule(pattern, action)
        for action in get_args(Action)
        for pattern in getattr(configuration, action)
    )


def _overlay(entries: dict[str, Setting], values: Mapping[str, Any], *, source: str) -> None:
    for name, value in values.items():
        if name in REMOVED_SETTINGS:
            continue
        if name not in Config.model_fields:
            raise UserError(
                f"{source} sets {name!r}, which is no setting. {suggest_name(name, Config.model_fields)}"
                "All settings: coder config"
            )
        entries[name] = Setting(name=name, value=_validate(name, value, source), source=source)


def _own_table(tables: Any, repository: Path, file: Path) -> Mapping[str, Any]:
    """Return the user's own settings for a repository."""
    for path, table in tables.items() if isinstance(tables, dict) else ():
        if Path(path).expanduser().resolve() == repository.resolve():
            if not isinstance(table, dict):
                raise UserError(f"{file}: [repositories] {path} is no table of settings.")
            return table
    return {}


def _overlay_repository(entries: dict[str, Setting], values: Mapping[str, Any], *, source: str) -> None:
    """Overlay settings of an untrusted repository: unknown ones are ignored, limits can only go down."""
    for name, value in values.items():
        if name not in REPOSITORY_SETTINGS:
            continue
        checked_value = _validate(name, value, source)
        current = entries[name].value
        if name in LIST_SETTINGS:
            new_entries = tuple(pattern for pattern in checked_value if not pattern.startswith("!"))
            entries[name] = Setting(
                name=name,
                value=(*current, *new_entries),
                source=f"{entries[name].source}, {source}" if current else source,
            )
        elif not _widens(name, checked_value, current):
            entries[name] = Setting(name=name, value=checked_value, source=source)


def _widens(name: str, value: Any, current: Any) -> bool:
    """Tell whether a repository's value would allow more than the user's."""
    if name == "approve":
        return MODES.index(value) > MODES.index(current)
    if name == "checks":
        return bool(value == "show" and current == "block")
    return name in LOWERABLE_SETTINGS and current is not None and bool(value > current)


def ignored_settings(repository: Path, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return a message on each entry that is passed over.

    Such are removed settings, names in a repository's own settings that are unknown or not allowed there,
    and variables of the environment whose names are close to that of a setting.
    """
    user = config_directory(environment) / "config.toml"
    table = _read_user_table(user)
    sources = (
        (str(user), table),
        (f"{user} [repositories]", _own_table(table.get("repositories"), repository, user)),
        *_repository_tables(repository),
        *((name, {name[6:].lower(): text}) for name, text in environment.items() if name[:6] == "CODER_"),
    )
    variables = [f"CODER_{name.upper()}" for name in Config.model_fields]
    misspelt = {
        name: suggest_name(name, variables, closeness=0.9)
        for name in environment
        if name.startswith("CODER_") and name not in variables and name[6:].lower() not in REMOVED_SETTINGS
    }
    hooks = (user.with_name("hooks.json"), repository / ".coder" / "hooks.json")
    return (
        *(
            f"{path} denies nothing any more: the settings `deny` and `approve` do."
            for path in hooks
            if path.exists()
        ),
        *(
            f"{source} sets {name!r}, which no longer exists: {REMOVED_SETTINGS[name]}."
            for source, values in sources
            for name in values
            if name in REMOVED_SETTINGS
        ),
        *(
            f"{source} sets {name!r}, which {_objection_to(name)}"
            for source, table in _repository_tables(repository)
            for name in table
            if name not in REPOSITORY_SETTINGS and name not in REMOVED_SETTINGS
        ),
        *(f"{name} sets nothing. {hint}".rstrip() for name, hint in misspelt.items() if hint),
    )


def _objection_to(name: str) -> str:
    if name in Config.model_fields:
        return "a repository may not: it is passed over. Your own settings may."
    return f"is no setting. {suggest_name(name, REPOSITORY_SETTINGS)}".rstrip()


def _validate(name: str, value: Any, source: str) -> Any:
    if name == "test" and isinstance(value, str) and not value.strip():
        raise UserError(f"{source}: the test command is empty. Name one, or omit it to have it detected.")
    try:
        return getattr(Config.model_validate({name: str(value) if isinstance(value, float) else value}), name)
    except ValidationError as error:
        reason = explain_invalid_value(error.errors()[0]["msg"])
        choices = suggest_name(str(value), re.findall(r"'([^']*)'", reason))
        raise UserError(f"{source}: {name} = {value!r} is not valid: {reason}. {choices}".rstrip()) from None


def _read_user_table(path: Path) -> Mapping[str, Any]:
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}") from None


def _repository_tables(repository: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the settings of a repository with their source: its `[tool.coder]`, and its `coder.toml`.

    A file may be a pipe, or a link that leads out of the repository. The project's own tools report an
    invalid pyproject.toml.
    """
    for source, keys in (("pyproject.toml [tool.coder]", ("tool", "coder")), (REPOSITORY_FILE, ())):
        path = repository / source.partition(" ")[0]
        try:
            table: Any = parse_toml((read_regular(path) or b"").decode() if path.exists() else "")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            if not keys:
                raise UserError(f"{path} is not valid TOML: {error}") from None
            continue
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        yield source, table if isinstance(table, dict) else {}


def load_config(root: Path | None, flags: Mapping[str, Any]) -> Config:
    """Return the effective configuration of a command in a repository."""
    return config_from_settings(collect_settings(root, flags=flags))


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
