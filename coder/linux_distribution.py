"""The Linux distribution of this machine, and how it installs a package."""

import os
import re
import subprocess
from collections.abc import Mapping
from functools import cache
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


LIBRARY_DIRECTORIES = ("lib", "lib64", "usr/lib", "usr/lib64")
OWNERS = (
    ("/usr/bin/dpkg-query", ("-S",), r"^(?!diversion)(\S+?)(?::\w+)?: "),
    ("/usr/bin/rpm", ("-qf", "--queryformat", "%{NAME} %{VERSION}-%{RELEASE}\\n"), r"^(\S+ \S+)$"),
    ("/usr/bin/pacman", ("-Qo",), r" is owned by (\S+ \S+)$"),
    ("/sbin/apk", ("info", "--who-owns"), r" is owned by (\S+)$"),
)
"""Programs that name the package of files, their options, and the pattern of a package in a line."""
ANSWERS = {
    "apt": ("--yes",),
    "dnf": ("--assumeyes",),
    "pacman": ("--noconfirm",),
    "zypper": ("--non-interactive",),
}
"""Options by which a command asks nothing, by program; they follow its subcommand, except for zypper."""
INSTALL_SECONDS = 1800.0
QUERY_SECONDS = 20.0


@cache
def owning_packages(programs: frozenset[str], libraries: frozenset[str]) -> tuple[str, ...]:
    """Return the system packages of programs, and of shared libraries with their development files.

    Programs are absolute paths, libraries file names such as `libz.so.1`. Packages are `name version`,
    sorted; what no package owns is left out.
    """
    files = [os.path.realpath(program) for program in programs]
    names = {*libraries, *(f"{name.partition('.so')[0]}.so" for name in libraries)}
    for directory in filter(Path.is_dir, (Path("/", name) for name in LIBRARY_DIRECTORIES)):
        places = (directory, *directory.glob("*-linux-*"))
        files += [str(place / name) for place in places for name in names if (place / name).exists()]
    for program, options, pattern in OWNERS:
        if files and os.access(program, os.X_OK):
            found = {*re.findall(pattern, _output(program, *options, *sorted({*files})), re.MULTILINE)}
            if program == OWNERS[0][0] and found:
                found = {*_output(program, "-W", "-f", "${Package} ${Version}\n", *found).splitlines()}
            return tuple(sorted(found))
    return ()


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


def _output(*command: str) -> str:
    """Return the standard output of a program, whatever its exit code; empty if it cannot be run."""
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=QUERY_SECONDS,
            check=False,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout


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
