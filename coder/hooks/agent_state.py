"""Memory of a coding agent's session: where it began, what was judged, how often it was sent back."""

from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from coder.core.values.base import Value
from coder.files.replacing import replace_text


class AgentSession(Value):
    """One session of a coding agent in one repository."""

    base: str
    """Commit that was checked out when it began."""
    tree: str
    """Git tree of the work tree when it began."""
    judged: str = ""
    """Git tree that was judged last."""
    refusal: str = ""
    """The reason why that was refused; empty if it was not."""
    rounds: int = 0
    """Refusals since the user's last turn."""


def state_file(directory: Path, *, agent: str, session: str, root: Path) -> Path:
    """Return the file of a session in coder's directory of states."""
    digest = sha256(f"{session}\0{root}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return directory / "hooks" / f"{agent}-{digest}.json"


def read_session(path: Path) -> AgentSession | None:
    """Return a stored session; None if there is none that can be read."""
    try:
        return AgentSession.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError):
        return None


def write_session(path: Path, session: AgentSession) -> None:
    """Store a session."""
    replace_text(path, session.model_dump_json())
