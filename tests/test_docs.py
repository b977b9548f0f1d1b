"""Documents: every path that they mention exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLACES = (ROOT, ROOT / "coder", ROOT / "coder" / "verify", ROOT / "coder" / "strategies")
"""Directories that a mentioned path may be relative to."""
MENTIONED = re.compile(
    r"`((?:[a-z][\w-]*/)+[a-z0-9_]+\.(?:py|json|toml)|(?:coder|docs|prompts|tests|tools)/(?:[\w-]+/)*)`"
)


def missing_paths(text: str) -> list[str]:
    mentioned = MENTIONED.findall(text)
    return [path for path in mentioned if not any((place / path).exists() for place in PLACES)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_mentions_only_paths_that_exist(document: Path) -> None:
    assert missing_paths(document.read_text(encoding="utf-8")) == []


def test_finds_a_path_that_is_missing() -> None:
    assert missing_paths("see `verify/proof.py` and `coder/core/events.py`") == ["verify/proof.py"]
