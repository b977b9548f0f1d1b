"""What an attacker may know of the machine, and the system calls that Python has no function for."""

import ctypes
import json
import os
import platform
from pathlib import Path
from types import SimpleNamespace

at = SimpleNamespace(**json.loads(Path(__file__).with_name("stage.json").read_text()))
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"


def call(x86, arm, *arguments):
    """A system call by its numbers; OSError where it is refused."""
    result = libc.syscall(x86 if X86 else arm, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {x86}")
    return result


def escaped_in_network():
    """Says so, unless this program is alone in a network namespace."""
    if os.readlink("/proc/self/ns/net") == at.network:
        print("ESCAPED")
