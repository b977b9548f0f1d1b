"""Advice on how to get full isolation on this system, by cause and Linux distribution."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from coder.linux_distribution import distribution_ids, install_command

PACKAGES = {"": "bubblewrap", "gentoo": "sys-apps/bubblewrap"}
"""The name of bubblewrap's package by distribution."""
NIXOS = "add pkgs.bubblewrap to environment.systemPackages"
APPARMOR = (
    "AppArmor keeps programs without a profile from making user namespaces: sudo apt install "
    "bubblewrap apparmor-profiles && "
    "sudo install -m 644 /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && "
    "sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
)


def suggest_remedy(faults: Sequence[str], root: Path = Path("/")) -> str:
    """Return one sentence for each cause found, and how to install bubblewrap.

    `root` is the directory that contains /proc and /etc.
    """
    if sys.platform == "darwin":
        return "Inside another sandbox Seatbelt cannot start: run coder in a plain terminal."
    if sys.platform != "linux":
        return "The sandboxes that coder knows need Linux or macOS; a Linux container has them."
    causes = [*_find_causes(root)]
    if not causes and any("not installed" in fault for fault in faults):
        causes.append(f"Install bubblewrap: {_install_hint(root)}")
    return " ".join(f"{cause}." for cause in causes)


def _find_causes(root: Path) -> Iterator[str]:
    """Yield the reasons why user namespaces are not available."""
    settings = root / "proc" / "sys"
    if _read_text(settings / "kernel" / "apparmor_restrict_unprivileged_userns") == "1":
        yield APPARMOR
    if _read_text(settings / "kernel" / "unprivileged_userns_clone") == "0":
        yield "User namespaces are turned off: sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if _read_text(settings / "user" / "max_user_namespaces") == "0":
        yield "User namespaces are turned off: sudo sysctl -w user.max_user_namespaces=15000"
    if any((root / name).exists() for name in (".dockerenv", "run/.containerenv")):
        yield (
            "This is a container, which lets nothing make user namespaces: start it with "
            "--security-opt seccomp=unconfined "
            "--security-opt systempaths=unconfined, or take the container for the sandbox"
        )


def _install_hint(root: Path) -> str:
    if "nixos" in distribution_ids(root):
        return NIXOS
    return install_command(PACKAGES, root) or "your distribution has a package of that name"


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
