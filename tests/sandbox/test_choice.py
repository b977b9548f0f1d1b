"""Choice of the sandbox backend, and the message if there is none."""

import re
import shlex
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from coder.core.errors import SandboxError, UserError
from coder.sandbox import choice
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.bubblewrap import Bubblewrap
from coder.sandbox.choice import (
    UNSAFE_FLAG,
    BackendChoice,
    choose_backend,
    probe_backend,
    require_backend,
    suggest_remedy,
)
from coder.sandbox.process import ProcessSandbox
from tests.builders import write
from tests.walls import walls


def test_detects_backend_that_does_not_work(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    assert (
        probe_backend(Bubblewrap(str(broken), "broken"))
        == "/bin/sh could not be started: No permissions to create new namespace"
    )


def test_rejects_backend_that_isolates_nothing(tmp_path: Path) -> None:
    leaky = tmp_path / "bwrap"
    leaky.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; exit 0\n')
    leaky.chmod(0o755)
    assert "without a word" in probe_backend(Bubblewrap(str(leaky), "leaky"))


def test_without_sandbox_runs_nothing_and_names_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = BackendChoice(
        backend=None,
        faults=("bubblewrap: not installed",),
        remedy="Install bubblewrap: sudo apt install bubblewrap.",
    )
    monkeypatch.setattr(choice, "choose_backend", lambda *_: nothing)
    with pytest.raises(
        UserError,
        match=(
            r"nothing is run: bubblewrap: not installed\. Install bubblewrap: .* give "
            r"--unsafe-no-sandbox\."
        ),
    ):
        require_backend()
    assert require_backend(unsafe=True) is None
    assert UNSAFE_FLAG == "--unsafe-no-sandbox"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, "bwrap-userns-restrict"),
        ({"proc/sys/kernel/unprivileged_userns_clone": "0\n"}, "kernel.unprivileged_userns_clone=1"),
        ({"proc/sys/user/max_user_namespaces": "0\n"}, "user.max_user_namespaces"),
        ({"run/.containerenv": ""}, "container"),
        ({"etc/os-release": 'ID=linuxmint\nID_LIKE="ubuntu debian"\n'}, "sudo apt install bubblewrap"),
        ({"etc/os-release": "ID=fedora\n"}, "sudo dnf install bubblewrap"),
        ({}, "your distribution has a package"),
    ],
    ids=["apparmor", "debian", "rhel", "container", "mint", "fedora", "unknown"],
)
def test_remedy_names_distribution_command(tmp_path: Path, files: dict[str, str], words: str) -> None:
    write(tmp_path, files)
    assert words in suggest_remedy(["bubblewrap: not installed"], tmp_path)


PLUGIN = """
from coder.sandbox.choice import choose_backend

images = []

def make(image):
    images.append(image)
    return choose_backend().backend
"""
LEAKY = """
from coder.sandbox.bubblewrap import Bubblewrap

def make(image):
    return Bubblewrap("/bin/true", "leaky")
"""


def register(monkeypatch: pytest.MonkeyPatch, directory: Path, code: str) -> None:
    """Install a package with an entry point for a sandbox called `mine`."""
    write(directory, {"plugin_of_a_user.py": code})
    monkeypatch.syspath_prepend(str(directory))
    monkeypatch.delitem(sys.modules, "plugin_of_a_user", raising=False)
    known = EntryPoints([EntryPoint("mine", "plugin_of_a_user:make", choice.PLUGINS)])
    monkeypatch.setattr(choice, "entry_points", known.select)


@pytest.mark.skipif(walls() is None, reason="no sandbox works here")
def test_takes_the_sandbox_that_another_package_registers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, tmp_path, PLUGIN)
    chosen = choose_backend("python:3.13", "mine")
    assert (type(chosen.backend), chosen.faults) == (type(walls()), ())
    assert import_module("plugin_of_a_user").images == ["python:3.13"]


def test_says_why_a_registered_sandbox_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, tmp_path, "def make(image):\n    raise OSError('no host')\n")
    with pytest.raises(UserError, match=r"mine: it cannot be loaded: OSError: no host\. Install its package"):
        require_backend(plugin="mine")
    with pytest.raises(UserError, match=r"other: no installed package registers it in coder\.sandboxes"):
        require_backend(plugin="other")
    register(monkeypatch, tmp_path, LEAKY)
    assert choose_backend(None, "mine").backend is None  # the probe has seen it hold nothing


def test_documented_backend_runs_podman_on_another_host(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "own-sandbox.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    backend: SandboxBackend = names["RemotePodman"]("python:3.13")
    with ProcessSandbox({"PATH": "/usr/bin:/bin"}, backend=backend) as sandbox:
        wrapped = sandbox.wrap_command(["echo", "it is"], cwd=tmp_path)
    assert wrapped.argv[:3] == ("ssh", "-T", "builder.example")
    words = shlex.split(wrapped.argv[3])
    assert words[:2] == ["podman", "run"] and "python:3.13" in words and words[-2:] == ["echo", "it is"]
    with pytest.raises(SandboxError, match=r"ssh does not reach builder\.example"):
        backend.exit_code(255, "")
    assert backend.exit_code(3, "") == 3
