"""Contents of the wheel, and starts of coder inside a hostile repository without running its code."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def tracked_files() -> set[str]:
    """Return the place of each tracked source file in site-packages."""
    listing = subprocess.run(
        ["git", "ls-files", "coder", "tools", "prompts"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    places = (name if name.startswith("coder/") else f"coder/{name}" for name in listing.splitlines())
    return {place for place in places if place not in ("coder/tools", "coder/prompts")}


def build_wheel(source: Path) -> Path:
    """Return a wheel built in a clone from an sdist of the tracked files, as an index would get it."""
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(source)], check=True)
    for change in subprocess.run(
        ["git", "diff", "--name-only", "--no-renames", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split():
        target = source / change
        target.unlink(missing_ok=True)
        if (ROOT / change).is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / change).read_bytes())
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(source / "dist"), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return next((source / "dist").glob("*.whl"))


def install(wheel: Path, place: Path) -> None:
    """Install the wheel without its dependencies."""
    command = (sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--no-deps", "--no-index")
    subprocess.run([*command, "--target", str(place), str(wheel)], check=True, capture_output=True)


def hostile_repository(directory: Path, *names: str) -> Path:
    """Create a repository whose modules leave a mark when they are run."""
    marker_code = 'from pathlib import Path\n\nPath(__file__).parent.joinpath("RAN").touch()\n'
    for name in (
        "tools/__init__.py",
        "prompts/__init__.py",
        "conftest.py",
        "sitecustomize.py",
        "typer.py",
        "rich.py",
        *names,
    ):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(marker_code, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=directory, check=True)
    for name in ("git", "python3", "python", "rg", "sh", "bwrap", "uv"):
        (directory / name).write_text("#!/bin/sh\n: > RAN\nexit 1\n", encoding="utf-8")
        (directory / name).chmod(0o755)
    return directory


def run_in(site: Path, directory: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    state = {"XDG_CONFIG_HOME": str(site), "XDG_STATE_HOME": str(site), "PYTHONPATH": str(site)}
    state["PATH"] = f".::bin:{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=directory, env={**os.environ, **state}, capture_output=True, text=True, check=False
    )


def test_wheel_holds_tracked_files_and_runs_nothing_of_hostile_repository(tmp_path: Path) -> None:
    """One test, as each worker that takes part of it would build a wheel of its own."""
    wheel = build_wheel(tmp_path / "source")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == tracked_files()
    install(wheel, site := tmp_path / "site")
    for argument in ("config", "doctor"):
        directory = hostile_repository(
            tmp_path / f"program{argument}", "coder/__init__.py", "coder/__main__.py"
        )
        result = run_in(site, directory, [str(site / "bin" / "coder"), argument])
        assert result.returncode == 0, result.stderr
    directory = hostile_repository(tmp_path / "module")
    result = run_in(site, directory, [sys.executable, "-m", "coder", "--help"])
    assert result.returncode == 0, result.stderr
    assert not list(tmp_path.rglob("RAN"))
