"""File system view of a command: the plan, and its execution."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from coder.core.values import READ_ONLY, Policy
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.confinement import landlock_abi
from coder.sandbox.landlock import SCOPED_ABI, visible_paths
from coder.sandbox.process import ProcessSandbox
from coder.sandbox.view import repository_contains, toolchain_directories
from tests.builders import git, repo, write


def shell(sandbox: ProcessSandbox, tree: Path, command: str, policy: Policy | None = None) -> str:
    return sandbox.run(["sh", "-c", f"{command} 2>&1"], cwd=tree, policy=policy).output


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """Return a linked worktree whose repository has a URL with a password."""
    root = repo(tmp_path / "project", {"x.py": "1\n", ".gitignore": "ignored\n"})
    git(root, "config", "remote.origin.url", "https://me:hunter2@example.org/x.git")
    git(root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "worktree"))
    return (tmp_path / "worktree").resolve()


def test_writes_only_to_worktree_and_scratch(isolated_sandbox: ProcessSandbox, tree: Path) -> None:
    output = shell(
        isolated_sandbox, tree, f"echo 1 > a; echo 1 > $TMPDIR/b; echo 1 > ../c; echo 1 > {sys.prefix}/d; ls"
    )
    assert output.splitlines()[-1] == "a"
    assert (isolated_sandbox.scratch / "b").exists()
    assert not (tree.parent / "c").exists()
    assert not Path(sys.prefix, "d").exists()


def test_read_only_covers_working_directory(isolated_sandbox: ProcessSandbox, tree: Path) -> None:
    (tree / "kept").write_text("1")
    assert shell(isolated_sandbox, tree, "cat kept; echo 2 > kept", READ_ONLY).startswith("1")
    assert (tree / "kept").read_text() == "1"


def test_hides_home_except_tools(
    tmp_path: Path, walls: SandboxBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, tree = tmp_path / "home", tmp_path / "tree"
    write(home, {".ssh/id": "secret", ".local/bin/tool": "#!/bin/sh\necho found\n"})
    (home / ".local/bin/tool").chmod(0o755)
    tree.mkdir()
    monkeypatch.setenv("HOME", str(home))
    with ProcessSandbox({"PATH": f"{home}/.local/bin:/usr/bin:/bin"}, backend=walls) as sandbox:
        output = shell(sandbox, tree, f"tool; cat {home}/.ssh/id; ls -A {home}/.ssh")
    assert output.startswith("found\n")
    assert "secret" not in output


def test_git_is_read_only_and_hides_remote_urls(isolated_sandbox: ProcessSandbox, worktree: Path) -> None:
    (worktree / "x.py").write_text("2\n")
    output = shell(
        isolated_sandbox,
        worktree,
        "git status --short; git log --format=%s; git remote -v; git commit -qam x; echo $?; cat .git",
    )
    assert "hunter2" not in output
    assert git(worktree, "log", "--format=%s") == "start"
    # Landlock cannot show a repository that has keys in its configuration.
    if isolated_sandbox.backend is not None and isolated_sandbox.backend.name != "Landlock":
        assert output.startswith(" M x.py\nstart\n")
        assert "Read-only file system" in output


def test_uses_gitdir_pointer_from_before_first_command(
    walls: SandboxBackend, worktree: Path, tmp_path: Path
) -> None:
    other = repo(tmp_path / "other", {"secret.py": "1"})
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        shell(sandbox, worktree, "true")
        (worktree / ".git").write_text(f"gitdir: {other}/.git\n")
        assert "secret.py" not in shell(sandbox, worktree, "git ls-tree --name-only HEAD")


def test_private_file_cannot_be_read_from_repository(walls: SandboxBackend, tmp_path: Path) -> None:
    root = repo(tmp_path / "project", {"x.py": "1\n", "deploy/.env": "sesame\n"})
    git(root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "worktree"))
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        for place in (root, tmp_path / "worktree") if walls.name != "Landlock" else (tmp_path / "worktree",):
            output = shell(sandbox, place, "git show HEAD:deploy/.env; git log -p; cat x.py")
            assert "sesame" not in output
            assert output.endswith("1\n")


def test_private_file_beside_repository_hides_nothing(
    isolated_sandbox: ProcessSandbox, tmp_path: Path
) -> None:
    root = repo(tmp_path / "project", {"x.py": "1\n", ".gitignore": ".env\n"})
    (root / ".env").write_text("sesame\n")
    assert shell(isolated_sandbox, root, "git log --format=%s") == "start\n"
    assert (
        repository_contains(root, [root / "x.py"]),
        repository_contains(root, [root / ".env"]),
        repository_contains(root, []),
    ) == (
        True,
        False,
        False,
    )


@pytest.mark.skipif(os.getuid() == 0, reason="to root no directory is closed")
def test_skips_inaccessible_path(walls: SandboxBackend, tree: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "bin").mkdir(parents=True)
    closed.chmod(0)
    try:
        with ProcessSandbox({"PATH": f"{closed}/bin:/usr/bin:/bin"}, backend=walls) as sandbox:
            assert shell(sandbox, tree, "echo ran") == "ran\n"
    finally:
        closed.chmod(0o700)


def test_environment_exposes_interpreter_and_linked_projects(tmp_path: Path) -> None:
    venv, project, secrets = tmp_path / "venv", tmp_path / "project", tmp_path / "home" / "secrets"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    write(project, {"pyproject.toml": "", "src/x.py": ""})
    secrets.mkdir(parents=True)
    site = next(venv.glob("lib/python*/site-packages"))
    write(
        site,
        {
            "a.pth": f"{project}/src\n{secrets}\nimport os\n",
            "__editable___b_finder.py": f"MAPPING = {{'b': '{project}'}}\n",
        },
    )
    paths = {*toolchain_directories(str(venv / "bin" / "python"), {}, ())}
    assert {venv, project, project / "src", Path(sys.base_prefix)} <= paths
    assert secrets not in paths


def test_shows_everything_except_hidden_paths(tmp_path: Path) -> None:
    paths = [*visible_paths((tmp_path, Path("/etc/shadow"), Path("/home")))]
    assert not any(path.is_relative_to(tmp_path) or tmp_path.is_relative_to(path) for path in paths)
    assert Path("/etc") not in paths
    assert Path("/usr") in paths


@pytest.mark.loopback
def test_network_reaches_host_but_not_abstract_sockets(isolated_sandbox: ProcessSandbox, tree: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0coder-test-{os.getpid()}")
        abstract.listen()
        code = f"""
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", {server.getsockname()[1]})), \
(socket.AF_UNIX, "\\0coder-test-{os.getpid()}")):
    try:
        socket.socket(family).connect(address)
        print("reached")
    except OSError:
        print("not reached")
"""
        outputs = [
            isolated_sandbox.run(
                [sys.executable, "-S", "-c", code], cwd=tree, policy=Policy(network=network)
            ).output.split("\n")[:2]
            for network in (False, True)
        ]
    assert outputs[0] == ["not reached", "not reached"]
    assert outputs[1] == [
        "reached",
        "not reached"
        if landlock_abi() >= SCOPED_ABI or "Landlock" in str(isolated_sandbox.backend)
        else "reached",
    ]
