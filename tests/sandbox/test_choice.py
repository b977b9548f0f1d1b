"""Choice of the sandbox backend, and the message if there is none."""

from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.sandbox import choice
from coder.sandbox.bubblewrap import Bubblewrap
from coder.sandbox.choice import UNSAFE_FLAG, BackendChoice, probe_backend, require_backend, suggest_remedy
from tests.builders import write


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
    monkeypatch.setattr(choice, "choose_backend", lambda _image: nothing)
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
