from pathlib import Path

import pytest

from coder.linux_distribution import install_hint
from tests.builders import write

ABSENT = "No such file or directory"
MINT = 'ID=linuxmint\nID_LIKE="ubuntu debian"'


@pytest.mark.parametrize(
    ("output", "release", "words"),
    [
        (f"src/a.c:1:10: fatal error: Python.h: {ABSENT}", "ID=debian", "sudo apt install python3-dev"),
        (f"error: command 'gcc' failed: {ABSENT}", MINT, "sudo apt install build-essential"),
        (f"error: command 'x86_64-linux-gnu-gcc' failed: {ABSENT}", "ID=fedora", "sudo dnf install gcc"),
        ("/bin/sh: 1: g++: not found", "ID=alpine", "sudo apk add build-base"),
        ("Error: pg_config executable not found.", "ID=arch", "sudo pacman -S postgresql-libs"),
        (f"libGL.so.1: cannot open shared object file: {ABSENT}", "ID=debian", "sudo apt install libgl1"),
        ("error: can't find Rust compiler", "ID=opensuse-leap\nID_LIKE=suse", "sudo zypper install cargo"),
        ("error: can't find Rust compiler", "ID=haiku", "This machine lacks Rust; install its package"),
    ],
)
def test_names_the_distributions_command(tmp_path: Path, output: str, release: str, words: str) -> None:
    write(tmp_path, {"etc/os-release": f"{release}\n"})
    assert words in install_hint(output, tmp_path)


def test_ignores_names_without_system_package(tmp_path: Path) -> None:
    assert install_hint("ERROR: No matching distribution found for tabulate", tmp_path) == ""
    assert install_hint("error: command 'gcc' failed with exit code 1", tmp_path) == ""
