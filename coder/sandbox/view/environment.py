"""Environment of a sandboxed command: an allow-list of variables, without the user's keys."""

from collections.abc import Mapping
from pathlib import Path

from coder.sandbox.view.build_tools import TOOL_VARIABLES

ALLOWED_VARIABLES = frozenset(
    {
        "HOME",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_MESSAGES",
        "LC_MONETARY",
        "LC_NUMERIC",
        "LC_TIME",
        "LOGNAME",
        "PATH",
        "PYENV_ROOT",
        "SHELL",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
    }
)


def filter_environment(environment: Mapping[str, str], *, scratch: Path) -> dict[str, str]:
    """Return the variables that programs need to start, with temporary files directed to `scratch`."""
    allowed = {
        name: value for name, value in environment.items() if name in ALLOWED_VARIABLES | TOOL_VARIABLES
    }
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **allowed, "TERM": "dumb", "TMPDIR": str(scratch)}


def private_directories(directory: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return HOME and TMPDIR inside `directory`, creating them where needed.

    Packages in the user's own site directory stay importable.
    """
    directories = {"HOME": directory / "home", "TMPDIR": directory / "tmp"}
    for path in directories.values():
        path.mkdir(exist_ok=True)
    site = {"PYTHONUSERBASE": f"{environment['HOME']}/.local"} if environment.get("HOME") else {}
    return {**{name: str(path) for name, path in directories.items()}, **site}
