import pytest

from coder.__main__ import _crashed


def test_a_crash_report_holds_no_secret(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "wisteria-sings-99")
    try:
        raise ValueError("401 for wisteria-sings-99, then for ghp_" + "aB3d" * 9)
    except ValueError as error:
        _crashed(ValueError, error, error.__traceback__)
    told = capsys.readouterr().err
    assert told.startswith("Traceback (most recent call last):")
    assert told.endswith("ValueError: 401 for [masked: a secret of yours], then for [masked: GitHub token]\n")
