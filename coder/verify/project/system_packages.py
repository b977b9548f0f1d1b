"""Missing system packages, and the distribution's command that installs them."""

import re
from collections.abc import Mapping
from pathlib import Path

from coder.linux_distribution import install_command

_RED_HAT, _DEBIAN = ("fedora", "rhel", "suse", "opensuse"), ("debian", "ubuntu")


def _package_names(debian: str, red_hat: str, arch: str, alpine: str) -> Mapping[str, str]:
    return {
        **dict.fromkeys(_DEBIAN, debian),
        **dict.fromkeys(_RED_HAT, red_hat),
        "arch": arch,
        "alpine": alpine,
    }


PACKAGES: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    (
        r"Python\.h: No such file",
        "the headers of Python",
        _package_names("python3-dev", "python3-devel", "python", "python3-dev"),
    ),
    (
        r"(?:command|program) '?(?:\S+-)?(?:gcc|cc|clang)'? (?:failed: No such|not found)"
        r"|\b(?:gcc|cc): not found",
        "a C compiler",
        _package_names("build-essential", "gcc", "base-devel", "build-base"),
    ),
    (
        r"(?:command|program) '?(?:g\+\+|c\+\+|clang\+\+)'? (?:failed: No such|not found)"
        r"|(?:g\+\+|c\+\+): not found",
        "a C++ compiler",
        _package_names("build-essential", "gcc-c++", "base-devel", "build-base"),
    ),
    (
        r"\bffi\.h: No such file",
        "libffi",
        _package_names("libffi-dev", "libffi-devel", "libffi", "libffi-dev"),
    ),
    (
        r"openssl/\w+\.h: No such file",
        "OpenSSL",
        _package_names("libssl-dev", "openssl-devel", "openssl", "openssl-dev"),
    ),
    (
        r"libxml/\w+\.h: No such file|xml2-config: not found|libxml2 and libxslt dev",
        "libxml2 and libxslt",
        _package_names(
            "libxml2-dev libxslt1-dev",
            "libxml2-devel libxslt-devel",
            "libxml2 libxslt",
            "libxml2-dev libxslt-dev",
        ),
    ),
    (
        r"pg_config executable not found|libpq-fe\.h: No such file|libpq\.so",
        "the client library of PostgreSQL",
        _package_names("libpq-dev", "libpq-devel", "postgresql-libs", "libpq-dev"),
    ),
    (
        r"mysql_config: not found|mysqlclient.*not found|mysql\.h: No such file",
        "the client library of MySQL",
        _package_names(
            "default-libmysqlclient-dev",
            "mariadb-connector-c-devel",
            "mariadb-libs",
            "mariadb-connector-c-dev",
        ),
    ),
    (r"libGL\.so", "libGL", _package_names("libgl1", "mesa-libGL", "libglvnd", "mesa-gl")),
    (r"libgomp\.so", "OpenMP", _package_names("libgomp1", "libgomp", "gcc-libs", "libgomp")),
    (
        r"failed to find libmagic|libmagic\.so",
        "libmagic",
        _package_names("libmagic1", "file-libs", "file", "libmagic"),
    ),
    (
        r"libsndfile\.so",
        "libsndfile",
        _package_names("libsndfile1", "libsndfile", "libsndfile", "libsndfile"),
    ),
    (r"cargo: not found|Rust toolchain|can't find Rust compiler", "Rust", {"": "cargo"}),
    (r"cmake: not found|CMake must be installed|CMake is not installed", "CMake", {"": "cmake"}),
    (
        r"pkg-config: not found|pkg-config.*not (?:found|installed)",
        "pkg-config",
        {
            "": "pkg-config",
            **dict.fromkeys(_RED_HAT, "pkgconf-pkg-config"),
            "arch": "pkgconf",
            "alpine": "pkgconf",
        },
    ),
)
"""Pattern of an error message, what is missing in words, and its package by distribution."""


def install_hint(output: str, root: Path = Path("/")) -> str:
    """Return what is missing and how to install it, as a sentence; empty if no pattern matches the output."""
    for pattern, what, packages in PACKAGES:
        if re.search(pattern, output):
            command = install_command(packages, root)
            return (
                f"This machine lacks {what}: {command}"
                if command
                else f"This machine lacks {what}; install its package"
            )
    return ""
