"""Detection of files under filter drivers (git-lfs, git-crypt, nbstripout, ...), which are never run."""

from collections.abc import Iterable, Mapping, Sequence

from coder.permissions.git_configuration import parse_configuration
from coder.repo.git import Git

MOST_LISTED_FILES = 5


def find_filter_drivers(git: Git, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the filter driver of each path that has a configured one.

    A driver counts whether the user, the repository or an included file configures it.
    """
    if not paths or git.inert is None:
        return {}
    stdin = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    environment = {"GIT_COMMON_DIR": str(git.inert.path_with_filters)}
    output = git.call("check-attr", "-z", "--stdin", "filter", stdin=stdin, environment=environment).stdout
    fields = output.decode("utf-8", "surrogateescape").split("\0")
    drivers = {
        path: driver
        for path, driver in zip(fields[::3], fields[2::3], strict=False)
        if driver not in ("unspecified", "unset", "set")
    }
    return _select_configured(git, drivers) if drivers else {}


def find_tracked_filter_drivers(git: Git) -> Mapping[str, str]:
    """Return the drivers of all tracked files, using one git process if there are none."""
    assert git.inert is not None
    environment = {"GIT_COMMON_DIR": str(git.inert.path_with_filters), "GIT_LITERAL_PATHSPECS": "0"}
    output = git.call("ls-files", "-z", "--", ".", ":(exclude,attr:!filter)", environment=environment).stdout
    return find_filter_drivers(git, output.decode("utf-8", "surrogateescape").split("\0")[:-1])


def filter_notices(drivers: Mapping[str, str]) -> tuple[str, ...]:
    """Return a line for each driver that names its files."""
    return tuple(
        _notice(driver, sorted(path for path in drivers if drivers[path] == driver))
        for driver in sorted(set(drivers.values()))
    )


def _notice(driver: str, paths: Iterable[str]) -> str:
    names = list(paths)
    more = f" and {len(names) - MOST_LISTED_FILES} more" if len(names) > MOST_LISTED_FILES else ""
    return (
        f"The git filter {driver} is not run: {', '.join(names[:MOST_LISTED_FILES])}{more} are worked on "
        "as they are committed, and uncommitted changes to them are left out."
    )


def _select_configured(git: Git, by_path: Mapping[str, str]) -> Mapping[str, str]:
    assert git.inert is not None
    repository_keys = [key for key, _ in parse_configuration(git.inert.text)]
    # An included file is not read, so it may define any driver.
    if any(key.startswith(("include.", "includeif.")) for key in repository_keys):
        return by_path
    user_keys = git.call(
        "config", "-z", "--name-only", "--get-regexp", r"^filter\.", accept=(0, 1)
    ).stdout.decode("utf-8", "surrogateescape")
    drivers = {
        key.partition(".")[2].rpartition(".")[0]
        for key in (*repository_keys, *user_keys.split("\0"))
        if key.startswith("filter.")
    }
    return {path: driver for path, driver in by_path.items() if driver in drivers}
