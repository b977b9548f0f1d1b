"""Forges a session's log."""

from pathlib import Path

from stage import at

Path(at.home, ".local/state/coder/sessions/s1/events.jsonl").write_text("owned")
