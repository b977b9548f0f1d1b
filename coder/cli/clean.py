"""`coder clean`: what coder's state occupies, and its removal."""

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

DAY_SECONDS = 86_400
KINDS = {
    "sessions": "sessions",
    "index": "indexes, and what was learnt of test suites",
    "overlays": "installed packages",
    "hooks": "sessions of other agents",
}
"""Purpose of each directory of the state, by its name."""


class StoredItem(NamedTuple):
    """A file or directory that can be removed by itself."""

    path: Path
    bytes: int
    used: float
    """Seconds since the epoch."""


def clean(
    older_than: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="Remove what was not used for so many days."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Show what sessions, indexes and packages occupy; with --older-than, remove what is old.

    Without it, sessions are removed that are older than `keep_sessions_days` in your settings. Branches and
    commits stay, and so does a session that a newer one continues. A removed session can no longer be shown,
    continued, applied or undone by its id.
    """
    from coder.directories import state_directory
    from coder.settings import load_config
    from coder.wiring.recovery import recover_sessions

    recover_sessions()
    state, now = state_directory(), time.time()
    items = {name: list(_find_items(state / name)) for name in KINDS}
    for name, purpose in KINDS.items():
        print(f"{_format_size(items[name]):>9}  {len(items[name]):>5}  {purpose}")
    kept_days = load_config(None, {}).keep_sessions_days
    days = kept_days if older_than is None else older_than
    if days is None:
        print(f"In {state}. To remove what is old: coder clean --older-than 30")
        return
    groups = [items["sessions"]] if older_than is None else [*items.values()]
    since = now - days * DAY_SECONDS
    continued = _find_continued([item.path for item in items["sessions"] if item.used >= since])
    old = [item for group in groups for item in group if item.used < since and item.path not in continued]
    if not old:
        print("Nothing is that old.")
        return
    summary = f"{len(old)} of these, {_format_size(old)}"
    if not yes and not typer.confirm(f"Remove {summary}?"):
        print("Nothing was removed.")
        return
    print(f"Removed {_format_size([item for item in old if _remove(item.path)])}.")


def _find_items(directory: Path) -> Iterator[StoredItem]:
    for path in sorted(directory.glob("*")):
        files = [path, *path.rglob("*")] if path.is_dir() and not path.is_symlink() else [path]
        stats = [file.lstat() for file in files if file.exists() or file.is_symlink()]
        if stats:
            yield StoredItem(
                path, sum(stat.st_blocks * 512 for stat in stats), max(stat.st_mtime for stat in stats)
            )


def _find_continued(sessions: list[Path]) -> set[Path]:
    """Return the sessions that the given ones continue, at any distance: their record belongs to these."""
    from coder.core.errors import UserError
    from coder.store.jsonl import list_conversation

    continued: set[Path] = set()
    for session in sessions:
        with suppress(UserError):  # a record that this version cannot read
            continued.update(list_conversation(session)[:-1])
    return continued


def _format_size(items: list[StoredItem]) -> str:
    return f"{sum(item.bytes for item in items) / 1e6:,.1f} MB"


def _remove(path: Path) -> bool:
    """Remove a file or directory; return whether that was done: a session in use stays."""
    from coder.core.errors import UserError
    from coder.repo.locks import session_lock

    if not path.is_dir():
        path.unlink(missing_ok=True)
        return True
    try:
        if (path / "lock").exists():
            with session_lock(path):
                shutil.rmtree(path)
        else:
            shutil.rmtree(path)
    except (UserError, OSError):
        return False
    return True
