"""Command lines of containers, and a clear refusal if no engine answers."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from coder.core.errors import SandboxError
from coder.core.ports import Limits
from coder.core.values import READ_ONLY, Policy
from coder.sandbox.container import GUARD_SCRIPT, Container, client_environment
from coder.sandbox.process import ProcessSandbox
from coder.sandbox.view import build_environment
from tests.builders import git, repo, write


def engine(tmp_path: Path, script: str, name: str = "docker") -> Container:
    program = tmp_path / name
    program.write_text(script)
    program.chmod(0o755)
    return Container(str(program), "python:3.12")


START = (
    "/usr/bin/docker run --rm --interactive --pull never --read-only --cap-drop ALL --hostname sandbox "
    "--security-opt no-new-privileges --security-opt label=disable --network none --pids-limit 7 "
    "--memory 1000000 --memory-swap 1000000 --ulimit nofile=9:9 --ulimit fsize=11:11 --ulimit core=0:0 "
    "--ulimit nproc=28:28"
)


def container_argv(
    tree: Path, *, policy: Policy | None = None, limits: Limits | None = None, exposed: tuple[Path, ...] = ()
) -> list[str]:
    walls = Container("/usr/bin/docker", "python:3.12")
    with ProcessSandbox({"PATH": "/secret/bin", "TZ": "UTC"}, backend=walls, exposed=exposed) as sandbox:
        walled = sandbox.wrap_command(
            ("make", "test"), cwd=tree, policy=policy, limits=limits, environment={"EXTRA": "1"}
        )
        builds = str(sandbox.scratch.with_name("builds"))
        return [
            word.replace(str(sandbox.scratch), "SCRATCH").replace(builds, "BUILDS") for word in walled.argv
        ]


def test_container_gets_image_and_worktree_only(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # without package caches
    builds = Path("BUILDS/commands")
    variables = build_environment(builds, {}, tmp_path, network=False, shares_target=False)
    del variables["RUSTUP_HOME"]
    argv = container_argv(
        tree, limits=Limits(processes=7, resident_bytes=1_000_000, open_files=9, file_bytes=11, cpu_seconds=3)
    )
    assert argv == [
        *START.split(),
        *("--ulimit", "cpu=3:3", "--user", f"{os.getuid()}:{os.getgid()}"),
        *("--tmpfs", "/tmp:rw,exec,nosuid,nodev,size=1g,mode=1777"),
        *("--mount", "type=bind,src=SCRATCH,dst=SCRATCH", "--mount", f"type=bind,src={builds},dst={builds}"),
        *("--mount", f"type=bind,src={tree},dst={tree}"),
        *(
            "--workdir",
            str(tree),
            "--env",
            "HOME=SCRATCH",
            "--env",
            "TZ=UTC",
            "--env",
            "TERM=dumb",
            "--env",
            "TMPDIR=SCRATCH",
        ),
        *(word for name, value in variables.items() for word in ("--env", f"{name}={value}")),
        *(
            "--env",
            "EXTRA=1",
            "--entrypoint",
            "/bin/sh",
            "python:3.12",
            "-c",
            GUARD_SCRIPT,
            "sh",
            "make",
            "test",
        ),
    ]


def test_mounts_read_only_paths_read_only(tmp_path: Path) -> None:
    root = repo(tmp_path / "project", {"x.py": "1\n", "live/.env.example": "", "venv/pyvenv.cfg": ""})
    (root / ".env").write_text("sesame\n")
    git(root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    write(tmp_path, {"exposed/plugin.py": ""})
    (tmp_path / "tree" / ".env").write_text("sesame\n")
    argv = container_argv(tmp_path / "tree", policy=READ_ONLY, exposed=(tmp_path / "exposed",))
    place = tmp_path.resolve()
    mounts = [word for before, word in pairwise(argv) if before == "--mount"]
    assert {
        f"type=bind,src={place / name},dst={place / name},readonly"
        for name in ("tree", "exposed", "project/.git")
    } <= {*mounts}
    assert f"type=bind,src=/dev/null,dst={place}/tree/.env,readonly" in mounts
    assert [mount.rpartition("dst=")[2] for mount in mounts if "replaced-" in mount] == [
        f"{place}/project/.git/config,readonly"
    ]


def test_podman_keeps_user_id(tree: Path) -> None:
    with ProcessSandbox({}, backend=Container("/usr/bin/podman", "x")) as sandbox:
        assert ("keep-id" in sandbox.wrap_command(("true",), cwd=tree).argv) == (os.getuid() != 0)


def test_refuses_path_that_cannot_be_mounted(tmp_path: Path) -> None:
    (tmp_path / "a,b").mkdir()
    with pytest.raises(SandboxError, match="no path with a comma"):
        container_argv(tmp_path / "a,b")


def test_separates_command_exit_from_engine_failure() -> None:
    container = Container("/usr/bin/docker", "x")
    assert [container.exit_code(code, "") for code in (0, 7, 127, 137)] == [0, 7, 127, -9]
    for code, output in (
        (125, "docker: no such image.\nSee help"),
        (127, "Error: crun: executable file `/bin/sh` not found"),
    ):
        with pytest.raises(SandboxError):
            container.exit_code(code, output)


def test_client_environment_has_daemon_address_but_no_keys() -> None:
    assert client_environment({"DOCKER_HOST": "x", "HOME": "/h", "ANTHROPIC_API_KEY": "k"}) == {
        "DOCKER_HOST": "x",
        "HOME": "/h",
    }
