"""The Linux distribution of this machine, and how it installs a package."""

from collections.abc import Mapping
from pathlib import Path

from coder.files.regular_files import read_regular

INSTALL_COMMANDS = {
    "debian": "sudo apt install",
    "ubuntu": "sudo apt install",
    "fedora": "sudo dnf install",
    "rhel": "sudo dnf install",
    "arch": "sudo pacman -S",
    "suse": "sudo zypper install",
    "opensuse": "sudo zypper install",
    "alpine": "sudo apk add",
    "gentoo": "sudo emerge",
}
"""By the distribution's ID, or one of its ID_LIKE, in /etc/os-release."""
OS_RELEASE_BYTES = 20_000


def distribution_ids(root: Path = Path("/")) -> tuple[str, ...]:
    """Return the distribution's ID, then those it derives from; empty where unknown."""
    words = (
        (read_regular(root / "etc" / "os-release", limit_bytes=OS_RELEASE_BYTES) or b"")
        .decode("utf-8", "replace")
        .splitlines()
    )
    fields = dict(line.split("=", 1) for line in words if "=" in line)
    return tuple(f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".replace('"', "").split())


def install_command(packages: Mapping[str, str], root: Path = Path("/")) -> str:
    """Return the command that installs a package.

    Empty where the distribution or its name for the package is unknown.

    Args:
        packages: the package's name by distribution; under "" the default name.
        root: parent directory of /etc.
    """
    for name in distribution_ids(root):
        package = packages.get(name) or packages.get("")
        if name in INSTALL_COMMANDS and package:
            return f"{INSTALL_COMMANDS[name]} {package}"
    return ""
