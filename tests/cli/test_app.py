"""Advice on wrong use of the command line."""

from pathlib import Path

import pytest

from tests.place import Place


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("--width=5", "It is a setting: CODER_WIDTH=... for one run, or width in your config.toml"),
        ("--no-offline-first", "It is a setting: CODER_OFFLINE_FIRST=... for one run"),
        ("--fallback-model=x", "It is a setting: fallback_models in your config.toml"),
        ("--nonsense", "See coder --help."),
    ],
)
def test_unknown_options_that_are_settings_say_so(tmp_path: Path, option: str, advice: str) -> None:
    result = Place(tmp_path).coder("fix", "It fails.", option)
    assert (result.returncode, result.stderr.count("\n"), advice in result.stderr) == (2, 1, True)
