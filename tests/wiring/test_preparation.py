"""View of the sandbox in a session, and preparation of projects."""

from pathlib import Path
from typing import Any

import pytest

import coder
from coder.wiring import preparation


def test_sandbox_shows_all_code_that_runs_in_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation elsewhere is not readable: its recorders would not be found."""
    options: dict[str, Any] = {}
    monkeypatch.setattr(preparation, "ProcessSandbox", lambda _environment, **fields: options.update(fields))
    preparation.make_sandbox(None)
    directories = {path for path in Path(coder.__file__).parent.rglob("target") if path.is_dir()}
    assert len(directories) > 1
    assert directories <= set(options["exposed"])
