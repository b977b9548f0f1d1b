"""The Linux distribution of this machine, and how it installs a package."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from coder.core.ports import SystemPackage
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


ANSWERS = {
    "apt": ("--yes",),
    "dnf": ("--assumeyes",),
    "pacman": ("--noconfirm",),
    "zypper": ("--non-interactive",),
}
"""Options by which a command asks nothing, by program; they follow its subcommand, except for zypper."""
INSTALL_SECONDS = 1800.0


def run_install_command(command: str) -> str:
    """Run a command of `install_command` with all rights of the user, who has agreed to it.

    Return the output if it failed, empty otherwise. Where sudo needs a password it fails: the user has to
    run it in a terminal.
    """
    _, program, *words = command.split()
    options = ANSWERS.get(program, ())
    words = [*options, *words] if program == "zypper" else [*words[:1], *options, *words[1:]]
    prefix = () if os.geteuid() == 0 else ("sudo", "--non-interactive")
    try:
        result = subprocess.run(
            [*prefix, program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=INSTALL_SECONDS,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (result.stdout.strip() or f"exit code {result.returncode}") if result.returncode else ""


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


DISTRIBUTIONS = (("debian", "ubuntu"), ("fedora", "rhel", "suse", "opensuse"), ("arch",), ("alpine",))
"""Those that name packages alike."""
PACKAGES = (
    (
        r"Python\.h: No such file",
        "the headers of Python",
        "python3-dev | python3-devel | python | python3-dev",
    ),
    (
        r"(?:command|program) '?(?:\S+-)?(?:gcc|cc|clang)'? (?:failed: No such|not found)"
        r"|\b(?:gcc|cc): not found",
        "a C compiler",
        "build-essential | gcc | base-devel | build-base",
    ),
    (
        r"(?:command|program) '?(?:g\+\+|c\+\+|clang\+\+)'? (?:failed: No such|not found)"
        r"|(?:g\+\+|c\+\+): not found",
        "a C++ compiler",
        "build-essential | gcc-c++ | base-devel | build-base",
    ),
    (r"\bffi\.h: No such file", "libffi", "libffi-dev | libffi-devel | libffi | libffi-dev"),
    (r"openssl/\w+\.h: No such file", "OpenSSL", "libssl-dev | openssl-devel | openssl | openssl-dev"),
    (
        r"libxml/\w+\.h: No such file|xml2-config: not found|libxml2 and libxslt dev",
        "libxml2 and libxslt",
        "libxml2-dev libxslt1-dev | libxml2-devel libxslt-devel | libxml2 libxslt | libxml2-dev libxslt-dev",
    ),
    (
        r"pg_config executable not found|libpq-fe\.h: No such file|libpq\.so",
        "the client library of PostgreSQL",
        "libpq-dev | libpq-devel | postgresql-libs | libpq-dev",
    ),
    (
        r"mysql_config: not found|mysqlclient.*not found|mysql\.h: No such file",
        "the client library of MySQL",
        "default-libmysqlclient-dev | mariadb-connector-c-devel | mariadb-libs | mariadb-connector-c-dev",
    ),
    (r"libGL\.so", "libGL", "libgl1 | mesa-libGL | libglvnd | mesa-gl"),
    (r"libgomp\.so", "OpenMP", "libgomp1 | libgomp | gcc-libs | libgomp"),
    (r"failed to find libmagic|libmagic\.so", "libmagic", "libmagic1 | file-libs | file | libmagic"),
    (r"libsndfile\.so", "libsndfile", "libsndfile1 | libsndfile | libsndfile | libsndfile"),
    (r"cargo: not found|Rust toolchain|can't find Rust compiler", "Rust", "cargo"),
    (r"cmake: not found|CMake must be installed|CMake is not installed", "CMake", "cmake"),
    (
        r"pkg-config: not found|pkg-config.*not (?:found|installed)",
        "pkg-config",
        "pkg-config | pkgconf-pkg-config | pkgconf | pkgconf",
    ),
)
"""Pattern of an error message, what is missing in words, and its package in each of `DISTRIBUTIONS`, or
everywhere.
"""


def find_missing_package(output: str, root: Path = Path("/")) -> SystemPackage | None:
    """Return the system package for want of which a program printed its error; None if none is known."""
    for pattern, what, packages in PACKAGES:
        if re.search(pattern, output):
            names = packages.split(" | ")
            groups = zip(DISTRIBUTIONS, names, strict=True) if len(names) > 1 else [(("",), packages)]
            named = {distribution: name for group, name in groups for distribution in group}
            return SystemPackage(what=what, command=install_command(named, root))
    return None


def install_hint(output: str, root: Path = Path("/")) -> str:
    """Return what is missing and how to install it, as a sentence; empty if no pattern matches the output."""
    missing = find_missing_package(output, root)
    if missing is None:
        return ""
    remedy = f": {missing.command}" if missing.command else "; install its package"
    return f"This machine lacks {missing.what}{remedy}"
