"""The environment that a sandboxed command starts with: an allow-list, never the person's keys."""

from collections.abc import Mapping
from pathlib import Path

ALLOWED = frozenset(
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


def filtered(environment: Mapping[str, str], *, scratch: Path) -> dict[str, str]:
    """Keep what programs need to find themselves, and point temporary files to `scratch`."""
    kept = {name: value for name, value in environment.items() if name in ALLOWED}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **kept, "TERM": "dumb", "TMPDIR": str(scratch)}


def private_places(directory: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return HOME and TMPDIR inside of `directory`, made where needed; packages of the user's own site stay importable."""
    places = {"HOME": directory / "home", "TMPDIR": directory / "tmp"}
    for place in places.values():
        place.mkdir(exist_ok=True)
    site = {"PYTHONUSERBASE": f"{environment['HOME']}/.local"} if environment.get("HOME") else {}
    return {**{name: str(place) for name, place in places.items()}, **site}
