"""Forges a session's log."""

Path(at.home, ".local/state/coder/sessions/s1/events.jsonl").write_text("owned")
