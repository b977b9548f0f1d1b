"""What an attacker may know of the machine, and the system calls that Python has no function for."""

import ctypes
import json
import os
import platform
import threading
import time
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


def attempt(*ways):
    """Tries each way, whatever has come of those before."""
    for way in ways:
        try:
            way()
        except (OSError, ValueError):
            continue


def encode(value):
    return value.encode() if isinstance(value, str) else value


def greeting(way, address):
    """What a server says to one who connects."""
    with way:
        way.settimeout(3)
        way.connect(address)
        return way.recv(100).decode()


def open_checkout():
    """Descriptors of files of the checkout, open for reading only, as far as these are seen."""
    found = []
    for name in (".git/HEAD", "main.py"):
        attempt(lambda: found.append(os.open(os.path.join(at.project, name), os.O_RDONLY)))
    return found


def race(swap, attack, seconds):
    """Repeats both for a time, one beside the other."""
    end = time.monotonic() + seconds

    def repeat(step):
        while time.monotonic() < end:
            attempt(step)

    thread = threading.Thread(target=repeat, args=(swap,))
    thread.start()
    repeat(attack)
    thread.join()
