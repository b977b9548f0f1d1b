"""The pre-push hook of a git repository, which runs an existing one first."""

from collections.abc import Sequence
from pathlib import Path

from coder.core.errors import UserError
from coder.files.regular_files import replace_text

NAME = "pre-push"
EARLIER = "pre-push.before-coder"
"""Name of a hook that was there before; ours runs it first."""
MARK = "# Has coder judge what is pushed. Remove it with: coder hook remove git"
SCRIPT = """#!/bin/sh
{mark}
pushed=$(cat)
feed() {{ [ -z "$pushed" ] || printf '%s\\n' "$pushed"; }}
earlier=$(dirname "$0")/{earlier}
if [ -x "$earlier" ]; then
    feed | "$earlier" "$@" || exit $?
fi
if ! command -v {program} >/dev/null; then
    echo "coder was not found, so the push is not judged; remove its hook: $0" >&2
    exit 0
fi
feed | {program} hook run git{options} "$@"
"""


def install_hook(hooks: Path, *, program: str, options: Sequence[str] = ()) -> Path:
    """Write the hook into a directory of hooks; an existing hook is kept and runs first.

    `program` starts coder, as a word of a shell; `options` are those of `coder hook run`.

    Raises:
        UserError: there are two earlier hooks already; nothing was changed.
    """
    path, earlier = hooks / NAME, hooks / EARLIER
    if _exists(path) and not _is_own(path):
        if _exists(earlier):
            raise UserError(f"{path} and {earlier} both exist and are not coder's: nothing was changed.")
        path.rename(earlier)
    words = "".join(f" {option}" for option in options)
    replace_text(path, SCRIPT.format(mark=MARK, earlier=EARLIER, program=program, options=words))
    path.chmod(0o755)
    return path


def remove_hook(hooks: Path) -> bool:
    """Remove the hook and put an earlier one back; return whether there was any."""
    path, earlier = hooks / NAME, hooks / EARLIER
    if not _is_own(path):
        return False
    path.unlink()
    if _exists(earlier):
        earlier.rename(path)
    return True


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _is_own(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and MARK in path.read_text("utf-8", errors="replace")
