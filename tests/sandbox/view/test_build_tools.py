import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coder.core.ports import Execution, Limits
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.process import ProcessSandbox
from coder.sandbox.view import BuildDirectories
from tests.builders import repo, write, write_tree

CREDENTIALS = (
    *(
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".npmrc",
        ".m2/settings.xml",
        ".gradle/gradle.properties",
    ),
    *(".config/go/env", "go/pkg/mod/cache/vcs/0a/config"),
)
CACHES = (
    *(".cargo/registry/cache/a.crate", ".cargo/git/db/a/HEAD", ".rustup/toolchains/a/lib/rust"),
    *("go/pkg/mod/example.com/a@v1.0.0/a.go", "go/pkg/mod/cache/download/a.zip"),
    *(".npm/_cacache/a", ".m2/repository/a.jar", ".gradle/caches/modules-2/a", ".gradle/wrapper/dists/a"),
)
RUST = {
    "Cargo.toml": '[package]\nname = "money"\nversion = "0.1.0"\nedition = "2021"\n',
    "build.rs": """fn main() {
    println!("cargo:rerun-if-changed=rate.txt");
    println!("cargo:rustc-env=RATE={}", std::fs::read_to_string("rate.txt").unwrap());
}
""",
    "rate.txt": "1",
    "src/lib.rs": "",
    "tests/money.rs": '#[test]\nfn pays() { assert_eq!((money::pay(), env!("RATE")), (2, "2")); }\n',
}
BASE = {**RUST, "src/lib.rs": "pub fn pay() -> i32 { 1 }\n"}
CHANGE = {**RUST, "src/lib.rs": "pub fn pay() -> i32 { 2 }\n", "rate.txt": "2"}
GO_MODULE = "module example.com/money\n\ngo 1.19\n\nrequire example.com/rate v1.0.0\n"
GO_TEST = """package money

import (
    "testing"

    "example.com/rate"
)

func TestPay(t *testing.T) {
    if rate.Rate() != 2 {
        t.Fatal(rate.Rate())
    }
}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home directory with caches and credentials of build tools."""
    tools = Path.home()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CARGO_HOME", "GOPATH", "GOMODCACHE", "GRADLE_USER_HOME"):
        monkeypatch.delenv(name, raising=False)
    if (tools / ".rustup").is_dir():
        monkeypatch.setenv("RUSTUP_HOME", os.environ.get("RUSTUP_HOME", str(tools / ".rustup")))
    return write_tree(tmp_path / "home", dict.fromkeys((*CREDENTIALS, *CACHES), "content\n"))


@contextmanager
def run_directory(sandbox: ProcessSandbox) -> Iterator[Path]:
    place = sandbox.scratch / "run-0"
    place.mkdir()
    yield place
    shutil.rmtree(place)


def require(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


def run_tests(sandbox: ProcessSandbox, tree: Path, *argv: str) -> Execution:
    limits = Limits(wall_seconds=120.0, memory_bytes=None)
    with run_directory(sandbox) as place:
        return sandbox.run(argv, cwd=tree, private=place, limits=limits)


def test_shows_package_caches_without_credentials(walls: SandboxBackend, home: Path, tree: Path) -> None:
    files = " ".join(str(home / name) for name in (*CACHES, *CREDENTIALS))
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        output = sandbox.run(["sh", "-c", f"grep -sl content {files}"], cwd=tree).output
        written = sandbox.run(["sh", "-c", f"echo x > {home / CACHES[0]}"], cwd=tree)
    assert output.splitlines() == [str(home / name) for name in CACHES]
    assert written.exit_code != 0


@pytest.mark.thorough
def test_cargo_judges_no_artifact_of_another_tree(walls: SandboxBackend, home: Path, tmp_path: Path) -> None:
    require("cargo")
    # Base first: its files are older than what is built from the change.
    base, change = write_tree(tmp_path / "base", BASE), write_tree(tmp_path / "change", CHANGE)
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        runs = [run_tests(sandbox, tree, "cargo", "test") for tree in (change, base, change, base)]
    assert [run.exit_code for run in runs] == [0, 101, 0, 101], [run.output for run in runs]
    assert not (base / "target").exists()


@pytest.mark.thorough
def test_cargo_builds_downloaded_packages_once(walls: SandboxBackend, home: Path, tmp_path: Path) -> None:
    require("cargo")
    shutil.rmtree(home / ".cargo")
    rate = repo(tmp_path / "rate", {**RUST, "Cargo.toml": RUST["Cargo.toml"].replace("money", "rate")})
    manifest = f'{RUST["Cargo.toml"]}[dependencies]\nrate = {{ git = "file://{rate}" }}\n'
    fetched = write_tree(tmp_path / "fetched", {**CHANGE, "Cargo.toml": manifest})
    environment = {**os.environ, "CARGO_HOME": str(home / ".cargo"), "CARGO_NET_OFFLINE": "false"}
    subprocess.run(["cargo", "fetch", "-q"], cwd=fetched, env=environment, check=True)
    lock = (fetched / "Cargo.lock").read_text(encoding="utf-8")
    files = {**CHANGE, "Cargo.toml": manifest, "Cargo.lock": lock}
    trees = [write_tree(tmp_path / name, files) for name in ("one", "two")]
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        runs = [run_tests(sandbox, tree, "cargo", "test") for tree in trees]
    assert [run.exit_code for run in runs] == [0, 0], [run.output for run in runs]
    assert ["Compiling rate" in run.output for run in runs] == [True, False]


def test_go_builds_from_read_only_module_cache(
    walls: SandboxBackend, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("go")
    shutil.rmtree(home / "go")
    module = "module example.com/rate\n\ngo 1.19\n"
    versions = write_tree(tmp_path / "proxy" / "example.com" / "rate" / "@v", {"list": "v1.0.0\n"})
    write(versions, {"v1.0.0.info": '{"Version": "v1.0.0"}', "v1.0.0.mod": module})
    with zipfile.ZipFile(versions / "v1.0.0.zip", "w") as archive:
        archive.writestr("example.com/rate@v1.0.0/go.mod", module)
        archive.writestr("example.com/rate@v1.0.0/rate.go", "package rate\n\nfunc Rate() int { return 2 }\n")
    tree = write_tree(tmp_path / "tree", {"go.mod": GO_MODULE, "money_test.go": GO_TEST})
    environment = {
        **os.environ,
        "GOPROXY": f"file://{tmp_path}/proxy",
        "GOSUMDB": "off",
        "GOFLAGS": "-mod=mod",
    }
    subprocess.run(["go", "mod", "download", "all"], cwd=tree, env=environment, check=True)
    monkeypatch.setenv("GOFLAGS", "-v")
    with ProcessSandbox(os.environ, backend=walls) as sandbox:
        runs = [run_tests(sandbox, tree, "go", "test", "./...") for _ in range(2)]
    subprocess.run(["go", "clean", "-modcache"], cwd=tree, env=environment, check=True)  # it is read-only
    assert [run.exit_code for run in runs] == [0, 0], [run.output for run in runs]
    assert "--- PASS: TestPay" in runs[1].output
    assert "(cached)" not in runs[1].output


def test_build_directory_holds_what_was_built_from_the_same_content(tmp_path: Path) -> None:
    builds = BuildDirectories(tmp_path / "builds", {}, tmp_path / "home")
    tree = write_tree(tmp_path / "tree", {"a.rs": ""})
    found = []
    for content in ("base", "change", "change", "base", "other"):
        builds.select("run-0", content)
        marker = builds.prepare("run-0", tree) / "cargo-target" / "marker"
        found.append(marker.read_text(encoding="utf-8") if marker.exists() else "")
        write(marker.parent, {"marker": f"{found[-1]} {content}"})
        if content == "base":
            builds.share("run-0")
    assert found == ["", " base", " base change", " base", " base"]
