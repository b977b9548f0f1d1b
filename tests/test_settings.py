import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from coder.core.errors import UserError
from coder.permissions.command_rules import Rule, parse_rule
from coder.settings import (
    REMOVED_SETTINGS,
    Config,
    allowed_rules,
    collect_settings,
    config_from_settings,
    configured_rules,
    forget_repository,
    ignored_settings,
    is_trusted,
    remember_rules,
    sandbox_caps,
    trust_repository,
)
from tests.builders import write


def environment(root: Path, user: str = "", **variables: str) -> dict[str, str]:
    (root / "config" / "coder").mkdir(parents=True, exist_ok=True)
    (root / "config" / "coder" / "config.toml").write_text(user)
    return {"XDG_CONFIG_HOME": str(root / "config"), **variables}


def write_repository(root: Path, table: str) -> Path:
    (root / "pyproject.toml").write_text(f"[tool.coder]\n{table}\n")
    return root


def setting_value(name: str, *arguments: Any, **options: Any) -> tuple[Any, str]:
    setting = next(setting for setting in collect_settings(*arguments, **options) if setting.name == name)
    return setting.value, setting.source


def test_later_source_overrides_earlier(tmp_path: Path) -> None:
    user = environment(tmp_path, "attempts = 5\n")
    assert setting_value("attempts", environment=user) == (
        5,
        str(tmp_path / "config" / "coder" / "config.toml"),
    )
    root = write_repository(tmp_path, "attempts = 4")
    assert setting_value("attempts", root, environment=user) == (4, f"{root / 'pyproject.toml'} [tool.coder]")
    assert setting_value("attempts", root, environment={**user, "CODER_ATTEMPTS": "2"}) == (
        2,
        "CODER_ATTEMPTS",
    )
    assert setting_value("attempts", root, environment=user, flags={"attempts": 7, "model": None}) == (
        7,
        "command line",
    )


@pytest.mark.parametrize(
    "table",
    [
        "attempts = 9",
        'model = "openai:x"',
        'base_url = "http://evil.example"',
        'strategy = "offline"',
        "unknown = 1",
    ],
)
def test_repository_may_only_narrow_settings(tmp_path: Path, table: str) -> None:
    assert (
        config_from_settings(
            collect_settings(write_repository(tmp_path, table), environment=environment(tmp_path))
        )
        == Config()
    )


def test_repository_may_set_missing_limit_and_test_command(tmp_path: Path) -> None:
    root = write_repository(tmp_path, 'max_usd = 0.5\ntest = "make test"')
    configuration = config_from_settings(collect_settings(root, environment=environment(tmp_path)))
    assert (configuration.max_usd, configuration.test) == (Decimal("0.5"), "make test")


def test_user_may_open_sandbox_for_single_repository(tmp_path: Path) -> None:
    root = write_repository(tmp_path, 'test_network = true\ntest_environment = ["HOME"]')
    assert config_from_settings(collect_settings(root, environment=environment(tmp_path))) == Config()
    own = f'[repositories."{root}"]\ntest_network = true\ntest_environment = ["DATABASE_URL"]\n'
    user = environment(tmp_path, own, CODER_TEST_NETWORK="false")
    configuration = config_from_settings(collect_settings(root, environment=user))
    assert (configuration.test_network, configuration.test_environment) == (True, ("DATABASE_URL",))
    assert config_from_settings(collect_settings(tmp_path / "other", environment=user)) == Config()


@pytest.mark.parametrize(
    ("user", "variables", "message"),
    [
        ("atempts = 5\n", {}, "'atempts', which is no setting"),
        ("attempts =", {}, "not valid TOML"),
        ('allow = ["ls; rm x"]\n', {}, "no single command"),
        ("test_network = true\n", {}, "for all repositories"),
        ("[repositories]\n'/r' = 1\n", {}, "is no table"),
        ("", {"CODER_ATTEMPTS": "0"}, "CODER_ATTEMPTS: attempts = '0' is not valid"),
        ("", {"CODER_TEST": " "}, "the test command is empty"),
    ],
)
def test_reports_wrong_user_settings(
    tmp_path: Path, user: str, variables: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        collect_settings(Path("/r"), environment=environment(tmp_path, user, **variables))


def test_removed_settings_are_passed_over_with_one_line(tmp_path: Path) -> None:
    own = f'suite = "whole"\n[repositories."{tmp_path}"]\nsuite = "whole"\n'
    user = environment(tmp_path, own, CODER_SUITE="whole")
    root = write_repository(tmp_path, 'suite = "whole"')
    assert "suite" not in {setting.name for setting in collect_settings(root, environment=user)}
    file = tmp_path / "config" / "coder" / "config.toml"
    sources = (str(file), f"{file} [repositories]", "pyproject.toml [tool.coder]", "CODER_SUITE")
    instead = "tests that use the changed code run nearest first; `wait = true` runs all of them"
    assert ignored_settings(root, user) == tuple(
        f"{source} sets 'suite', which no longer exists: {instead}." for source in sources
    )


def test_settings_of_earlier_versions_load(tmp_path: Path) -> None:
    text = Path(__file__).with_name("settings_2026_11.toml").read_text(encoding="utf-8")
    values = tomllib.loads(text)
    own = values.pop("repositories")["/home/ada/project"]
    root = Path("/home/ada/project")
    user = environment(tmp_path, text)
    settings = {setting.name: setting.value for setting in collect_settings(root, environment=user)}
    kept = {name: value for name, value in {**values, **own}.items() if name not in REMOVED_SETTINGS}
    loaded = {name: settings[name] for name in kept}
    assert {name: list(value) if isinstance(value, tuple) else value for name, value in loaded.items()} == {
        name: Decimal(str(value)) if "usd" in name else value for name, value in kept.items()
    }
    lines = ignored_settings(root, user)
    assert sorted(line.split("'")[1] for line in lines) == sorted(REMOVED_SETTINGS)
    variables = {f"CODER_{name.upper()}": "1" for name in REMOVED_SETTINGS if name.isidentifier()}
    assert len(ignored_settings(root, environment(tmp_path, **variables))) == len(variables)


def test_stores_trust_and_approvals_outside_repository(tmp_path: Path) -> None:
    place = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    root = tmp_path / "repository"
    root.mkdir()
    first, second = (
        Rule(action="allow", program="make", arguments=("docs",)),
        Rule(action="allow", program="pip", network=True),
    )
    trust_repository(root, place)
    remember_rules(root, [first], place)
    remember_rules(root, [second, first], place)
    assert (is_trusted(root, place), allowed_rules(root, place)) == (True, (first, second))
    assert (is_trusted(tmp_path, place), allowed_rules(tmp_path, place)) == (False, ())
    assert list(root.iterdir()) == []


def test_revoking_trust_removes_approvals(tmp_path: Path) -> None:
    place = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    other = tmp_path / "other"
    for root in (tmp_path, other):
        trust_repository(root, place)
        remember_rules(root, [Rule(action="allow", program="make")], place)
    forget_repository(tmp_path, place)
    assert (is_trusted(tmp_path, place), allowed_rules(tmp_path, place)) == (False, ())
    assert (is_trusted(other, place), allowed_rules(other, place)) == (
        True,
        (Rule(action="allow", program="make"),),
    )


def test_unreadable_approvals_allow_nothing(tmp_path: Path) -> None:
    place = environment(tmp_path)
    (tmp_path / "config" / "coder" / "allowed.json").write_text(f'{{"{tmp_path}": [{{"program": "make"}}]}}')
    assert allowed_rules(tmp_path, place) == ()


@pytest.mark.parametrize(
    ("own", "wish", "holds"),
    [("auto-edit", "ask", "ask"), ("ask", "full", "ask"), ("full", "read-only", "read-only")],
)
def test_repository_may_only_tighten_approvals(tmp_path: Path, own: str, wish: str, holds: str) -> None:
    root = write_repository(tmp_path, f'approve = "{wish}"')
    assert (
        config_from_settings(
            collect_settings(root, environment=environment(tmp_path, f'approve = "{own}"\n'))
        ).approve
        == holds
    )


def test_repository_may_add_denials_but_no_permissions(tmp_path: Path) -> None:
    root = write_repository(
        tmp_path, 'allow = ["git push"]\ndeny = ["make deploy"]\ndeny_read = ["live/*", "!.env"]'
    )
    configuration = config_from_settings(
        collect_settings(
            root, environment=environment(tmp_path, 'allow = ["make *"]\ndeny = ["npm start"]\n')
        )
    )
    assert configured_rules(configuration) == (
        parse_rule("make *", "allow"),
        parse_rule("npm start", "deny"),
        parse_rule("make deploy", "deny"),
    )
    assert configuration.deny_read == ("live/*",)


def test_reports_ignored_repository_settings(tmp_path: Path) -> None:
    root = write_repository(tmp_path, 'atempts = 2\nmodel = "openai:x"\nattempts = 2')
    assert ignored_settings(root) == (
        "pyproject.toml [tool.coder] sets 'atempts', which is no setting. Did you mean attempts?",
        "pyproject.toml [tool.coder] sets 'model', which a repository may not: it is passed over. "
        "Your own settings may.",
    )


def test_hooks_of_earlier_versions_are_named(tmp_path: Path) -> None:
    user = environment(tmp_path)
    write(tmp_path, {"config/coder/hooks.json": "{}", ".coder/hooks.json": "{}"})
    lines = ignored_settings(tmp_path, user)
    assert [line.partition(" ")[0] for line in lines] == [
        str(tmp_path / "config" / "coder" / "hooks.json"),
        str(tmp_path / ".coder" / "hooks.json"),
    ]
    assert all(
        line.endswith("denies nothing any more: the settings `deny` and `approve` do.") for line in lines
    )


def test_repository_without_pyproject_has_settings_of_the_same_rank(tmp_path: Path) -> None:
    own = environment(tmp_path, "attempts = 3\n")
    (tmp_path / "coder.toml").write_text('attempts = 2\ntest = "make check"\nmodel = "openai:x"\n')
    assert setting_value("attempts", tmp_path, environment=own) == (2, f"{tmp_path / 'coder.toml'}")
    assert setting_value("test", tmp_path, environment=own)[0] == "make check"
    assert setting_value("model", tmp_path, environment=own) == (None, "default")
    assert ignored_settings(tmp_path) == (
        "coder.toml sets 'model', which a repository may not: it is passed over. Your own settings may.",
    )
    (tmp_path / "coder.toml").write_text("attempts = 9\n")
    assert setting_value("attempts", tmp_path, environment=own)[0] == 3
    (tmp_path / "coder.toml").write_text("attempts =")
    with pytest.raises(UserError, match=r"coder\.toml is not valid TOML"):
        collect_settings(tmp_path, environment=own)


def test_repository_may_only_lower_sandbox_limits(tmp_path: Path) -> None:
    root = write_repository(tmp_path, "sandbox_memory_mb = 512\nsandbox_cpu_seconds = 1")
    configuration = config_from_settings(
        collect_settings(
            root, environment={"XDG_CONFIG_HOME": str(tmp_path), "CODER_SANDBOX_CPU_SECONDS": "20"}
        )
    )
    assert sandbox_caps(configuration) == {"resident_bytes": 512 << 20, "cpu_seconds": 20}
