"""States of repositories in which a change hides or objects are missing: one row each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.repo.git import FAULTS, find_checkout
from coder.repo.history import resolve_change
from tests.builders import git, repo, write

FILES = {"a.py": "A = 1\n", "b.py": "B = 1\n", "data.bin": "x\n"}


def _commit(root: Path, **files: str) -> None:
    write(root, {name.replace("_", "."): text for name, text in files.items()})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "change")


def _clone(root: Path, directory: Path, *options: str) -> Path:
    git(root, "config", "uploadpack.allowFilter", "true")
    target = directory / "clone"
    git(root, "-c", "protocol.file.allow=always", "clone", "--quiet", *options, f"file://{root}", str(target))
    return target


def _grow(root: Path) -> Path:
    _commit(root, a_py="A = 2\n")
    _commit(root, a_py="A = 3\n")
    return root


SHALLOW = "git fetch --unshallow"
PARTIAL = "git fetch --refetch"


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _grow(repo(tmp_path_factory.mktemp("origin") / "r", FILES))


@pytest.mark.parametrize(
    ("depth", "revisions"), [("--depth=1", ("HEAD", "HEAD~1", "HEAD~2..HEAD")), ("--depth=2", ("HEAD~1",))]
)
def test_names_shallow_clone(origin: Path, tmp_path: Path, depth: str, revisions: tuple[str, ...]) -> None:
    clone = _clone(origin, tmp_path, depth)
    for revision in revisions:
        with pytest.raises(UserError, match=SHALLOW):
            resolve_change(clone, revision=revision, against=None)


@pytest.mark.parametrize("kind", ["--filter=blob:none", "--filter=tree:0"])
def test_missing_objects_name_the_partial_clone(origin: Path, tmp_path: Path, kind: str) -> None:
    clone = _clone(origin, tmp_path, kind)
    with pytest.raises(UserError, match=PARTIAL):
        find_checkout(clone).git.call("read-tree", "--reset", "-u", "HEAD~1")


def _damage_index(root: Path) -> None:
    (root / ".git" / "index").write_bytes(b"DIRCgarbage")


def _damage_object(root: Path) -> None:
    name = git(root, "rev-parse", "HEAD:a.py")
    file = root / ".git" / "objects" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(b"")


def _lose_object(root: Path) -> None:
    name = git(root, "rev-parse", "HEAD:a.py")
    (root / ".git" / "objects" / name[:2] / name[2:]).unlink()


@pytest.mark.parametrize(
    ("damage", "advice"),
    [
        (_damage_index, "index of this checkout is damaged"),
        (_damage_object, "git fsck"),
        (_lose_object, "git fsck"),
        (lambda root: (root / ".git" / "index.lock").touch(), "remove its lock file"),
    ],
)
def test_faults_of_a_repository_say_what_to_do(
    tmp_path: Path, damage: Callable[[Path], None], advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coder.repo.git.LOCK_SECONDS", 0.0)
    root = repo(tmp_path / "r", FILES)
    damage(root)
    (root / "a.py").unlink()
    with pytest.raises(UserError, match=advice):
        find_checkout(root).git.call("checkout-index", "--force", "--all", "--index")


@pytest.mark.parametrize(
    "message",
    [
        "index.lock' write error. Out of diskspace",
        "unable to write file a.py",
        "unable to write file a.py: No space left on device",
    ],
)
def test_full_disk_is_named(message: str) -> None:
    advice = next(advice for pattern, advice in FAULTS if pattern.search(message))
    assert "the disk is full" in advice


def _hide(*command: str) -> Callable[[Path], None]:
    def hide(root: Path) -> None:
        git(root, *command)
        write(root, {"a.py": "A = 2\n"})

    return hide


def _hide_deleted(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "a.py")
    (root / "a.py").unlink()


def _hide_by_ignoring(root: Path) -> None:
    git(root, "config", "core.ignoreStat", "true")
    git(root, "update-index", "--really-refresh")
    write(root, {".git/info/exclude": "*.py\n", "a.py": "A = 2\n"})


@pytest.mark.parametrize(
    "hide",
    [
        _hide("update-index", "--skip-worktree", "a.py"),
        _hide_by_ignoring,
        _hide_deleted,
    ],
)
def test_judges_what_git_is_told_to_overlook(tmp_path: Path, hide: Callable[[Path], None]) -> None:
    root = repo(tmp_path / "r", FILES)
    hide(root)
    change = resolve_change(root, revision=None, against=None)
    names = git(root, "diff", "--name-only", "HEAD", change.tree).split()
    assert (names, change.exclusions) == (["a.py"], ())


def _sparse(root: Path) -> None:
    git(root, "update-index", "--skip-worktree", "b.py")
    (root / "b.py").unlink()


def _submodule(root: Path, **files: str) -> Path:
    inner = repo(root.parent / "inner", {"k.py": "K = 1\n"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "vendor")
    git(root, "commit", "--quiet", "--message", "add")
    write(root / "vendor", {name.replace("_", "."): text for name, text in files.items()})
    return root / "vendor"


def _other_commit(root: Path) -> None:
    inner = _submodule(root)
    git(inner, "-c", "user.name=t", "-c", "user.email=t@e", "commit", "--quiet", "--allow-empty", "-m", "x")


def _hidden_in_submodule(root: Path) -> None:
    inner = _submodule(root)
    git(inner, "update-index", "--assume-unchanged", "k.py")
    write(inner, {"k.py": "K = 0\n"})


def _filtered(root: Path) -> None:
    git(root, "config", "filter.used.clean", "cat")
    write(root, {".git/info/attributes": "*.bin filter=used\n", "data.bin": "y\n"})


def _ignored(root: Path) -> None:
    write(root, {".git/info/exclude": "new.py\n", "new.py": "N = 1\n"})


def _conflict(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "other")
    write(root, {"a.py": "theirs\n"})
    git(root, "commit", "-qam", "theirs")
    git(root, "checkout", "-q", "main")
    write(root, {"a.py": "ours\n"})
    git(root, "commit", "-qam", "ours")
    with pytest.raises(AssertionError, match="git merge"):
        git(root, "merge", "-q", "other")


@pytest.mark.parametrize(
    ("hide", "message"),
    [
        (_conflict, r"^Merge conflicts are not resolved in a.py: resolve them, or name a commit"),
        (_sparse, "There is no uncommitted work to judge. Name"),
        (lambda root: _submodule(root, new_py="N = 1\n"), r"vendor \(edits inside a submodule"),
        (_hidden_in_submodule, r"vendor \(edits inside a submodule"),
        (_other_commit, r"vendor \(another commit of this submodule"),
        (_filtered, r"data.bin \(the git filter used is not run"),
        (_ignored, "Ignored files are not looked at: new.py"),
    ],
)
def test_names_work_that_cannot_be_judged(
    tmp_path: Path, hide: Callable[[Path], object], message: str
) -> None:
    root = repo(tmp_path / "r", FILES)
    hide(root)
    with pytest.raises(UserError, match=message):
        resolve_change(root, revision=None, against=None)
