import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from coder.sandbox.choice import backends
from coder.sandbox.process import ProcessSandbox
from tests.builders import git, repo, write
from tests.repo.opened import fingerprint, open_candidate, open_session_repository
from tests.sandbox.conftest import walls_or_skip

FILES = {
    ".gitignore": "node_modules/\n",
    "packages/core/package.json": '{"name": "@x/core"}',
    "packages/core/index.js": "module.exports = 'old'\n",
    "packages/app/main.js": "console.log(require('@x/core'), require('left'), require('own'))\n",
}
INSTALLED = {
    "node_modules/left/index.js": "module.exports = require('right')\n",
    "node_modules/right/index.js": "module.exports = 'right'\n",
    "node_modules/left/cli.js": "#!/usr/bin/env node\nconsole.log(require('left'))\n",
    "node_modules/.cache/state": "of the user\n",
    "packages/app/node_modules/own/index.js": "module.exports = 'own'\n",
}


def _link(root: Path, links: dict[str, str]) -> None:
    for path, target in links.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with workspaces and packages installed as npm lays them out."""
    root = repo(tmp_path / "r", FILES)
    write(root, INSTALLED)
    _link(root, {"node_modules/@x/core": "../../packages/core", "node_modules/.bin/left": "../left/cli.js"})
    (root / "node_modules" / "left" / "cli.js").chmod(0o755)
    return root


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize(
    "name", [pytest.param("none", marks=pytest.mark.thorough), *(name for name, _ in backends())]
)
def test_worktree_runs_its_own_workspaces_with_installed_packages(root: Path, name: str) -> None:
    walls = None if name == "none" else walls_or_skip(name)
    with (
        open_session_repository(root) as repository,
        ProcessSandbox(os.environ, backend=walls, exposed=repository.exposed_directories) as sandbox,
    ):
        candidate = repository.create_candidate("c1")
        write(candidate.worktree, {"packages/core/index.js": "module.exports = 'new'\n"})
        patch = repository.candidate_patch(candidate)
        for _ in range(2):  # the second worktree is the first one, reset
            with repository.checkout(patch.tree) as tree:
                main = sandbox.run(["node", "packages/app/main.js"], cwd=tree)
                binary = sandbox.run([str(tree / "node_modules" / ".bin" / "left")], cwd=tree)
            assert (main.output, binary.output) == ("new right own\n", "right\n")
        assert sandbox.run(["node", "packages/app/main.js"], cwd=candidate.worktree).output == main.output


def _add_npm_packages(root: Path) -> None:
    """Add a package that imports a workspace, and one that imports that package from inside of another."""
    peer = {
        "package.json": '{"peerDependencies": {"@x/core": "*"}}',
        "index.js": "exports.core = require('@x/core')\n",
    }
    user = {
        "package.json": '{"dependencies": {"peer": "*"}}',
        "index.js": "module.exports = require('peer')\n",
    }
    write(root / "node_modules" / "peer", peer)
    write(root / "node_modules" / "outer" / "node_modules" / "user", user)
    write(root / "node_modules" / "outer", {"index.js": "module.exports = require('user')\n"})


def _add_pnpm_packages(root: Path) -> None:
    """Add the same packages as pnpm lays them out."""
    _add_npm_packages(root)
    modules = root / "node_modules"
    for name in ("peer", "outer"):
        store = modules / ".pnpm" / f"{name}@1" / "node_modules"
        store.mkdir(parents=True)
        (modules / name).rename(store / name)
        (modules / name).symlink_to(f".pnpm/{name}@1/node_modules/{name}")
    links = {
        "node_modules/.pnpm/peer@1/node_modules/@x/core": "../../../../../packages/core",
        "node_modules/.pnpm/outer@1/node_modules/peer": "../../peer@1/node_modules/peer",
    }
    _link(root, links)


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize(
    "add_packages", [pytest.param(_add_npm_packages, marks=pytest.mark.thorough), _add_pnpm_packages]
)
def test_installed_packages_import_workspaces_of_worktree(
    root: Path, add_packages: Callable[[Path], None]
) -> None:
    add_packages(root)
    with open_session_repository(root) as repository, ProcessSandbox(os.environ) as sandbox:
        worktree = repository.create_candidate("c1").worktree
        write(worktree, {"packages/core/index.js": "module.exports = 'new'\n"})
        script = "console.log(require('outer').core, require('outer') === require('peer'))"
        assert sandbox.run(["node", "-e", script], cwd=worktree).output == "new true\n"
        assert (worktree / "node_modules" / "left").is_symlink()


@pytest.mark.parametrize("is_ignored", [True, False])
def test_installed_packages_are_part_of_no_change(root: Path, is_ignored: bool) -> None:
    if not is_ignored:
        git(root, "rm", "-q", ".gitignore")
        git(root, "commit", "-qm", "ignore nothing")
    before = fingerprint(root)
    with open_candidate(root) as (repository, candidate):
        modules = candidate.worktree / "node_modules"
        assert (modules / "left" / "index.js").is_file()
        write(candidate.worktree, {"node_modules/.cache/state": "of the worktree\n"})
        assert repository.candidate_patch(candidate).paths == ()
        assert not is_ignored or git(candidate.worktree, "status", "--porcelain") == ""
        repository.rollback(candidate, candidate.base)
        assert (modules / "left" / "index.js").is_file()
    assert fingerprint(root) == before


def test_links_nothing_into_tracked_files_or_through_links(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "home", {"secret/key": "k\n"})
    write(
        root,
        {
            ".gitignore": "node_modules\n",
            "node_modules/tracked/index.js": "1\n",
            "packages/other/index.js": "1\n",
        },
    )
    git(root, "add", "--force", "node_modules/tracked", "packages/other", ".gitignore")
    git(root, "commit", "-qm", "track a package")
    (root / "packages" / "other" / "node_modules").symlink_to(tmp_path / "home")
    with open_session_repository(root) as repository:
        assert tmp_path / "home" not in [path.resolve() for path in repository.exposed_directories]
        worktree = repository.create_candidate("c1").worktree
        modules = worktree / "node_modules"
        assert (modules / "left").is_symlink() and not (modules / "tracked").is_symlink()
        assert not (worktree / "packages" / "other" / "node_modules").exists()
        subprocess.run(["git", "-C", str(worktree), "diff", "--exit-code"], check=True)
