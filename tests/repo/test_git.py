import os
import stat
import threading
from pathlib import Path

import pytest

from coder.core.errors import GitError, UserError
from coder.repo.bundles import make_bundle, unpack_bundle
from coder.repo.git import Git, find_checkout, repository_lock, session_lock
from tests.builders import git, repo, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repo(tmp_path / "r", {"a.py": "x\n"})


def test_finds_the_checkout_from_a_subdirectory(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"src/a.py": "x\n"})
    place = find_checkout(root / "src")
    assert (place.root, place.common_directory, place.head) == (
        root,
        root / ".git",
        git(root, "rev-parse", "HEAD"),
    )


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda path: path.mkdir(), "is not inside a git repository"),
        (lambda path: (path.mkdir(), git(path, "init", "-q", "--bare")), "is a bare repository"),
        (lambda path: (path.mkdir(), git(path, "init", "-q")), "has no commits yet"),
        (lambda path: None, "is not a directory"),
    ],
)
def test_reports_unusable_directory_in_one_line(tmp_path: Path, prepare: object, message: str) -> None:
    assert callable(prepare)
    prepare(tmp_path / "r")
    with pytest.raises(UserError, match=message) as error:
        find_checkout(tmp_path / "r")
    assert "\n" not in str(error.value)


def fake_git(directory: Path, script: str) -> None:
    directory.mkdir()
    (directory / "git").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (directory / "git").chmod(stat.S_IRWXU)


def test_reports_outdated_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path / "bin", "echo git version 2.17.1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with pytest.raises(UserError, match=r"git version 2\.17\.1, and coder needs at least 2\.30"):
        find_checkout(tmp_path)


def test_says_how_to_trust_a_repository_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = 'for word in "$@"; do case $word in version) echo git version 2.39.5; exit 0;; esac; done\n'
    message = "fatal: detected dubious ownership\n\tgit config --global --add safe.directory /the/top"
    fake_git(tmp_path / "bin", f'{script}echo "{message}" >&2; exit 128')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with pytest.raises(
        UserError, match=r"If you trust it: git config --global --add safe\.directory /the/top$"
    ):
        find_checkout(tmp_path)


def test_ignores_git_environment_variables(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repo(tmp_path / "other", {"o.py": "o\n"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert find_checkout(root).git.items("ls-files", "-z") == ["a.py"]


def test_waits_for_lock_about_to_be_released(root: Path, tmp_path: Path) -> None:
    lock = root / ".git" / "index.lock"
    lock.touch()
    fake_git(
        tmp_path / "bin",
        f'PATH="${{PATH#*:}}"; [ -e {tmp_path}/seen ] && rm -f {lock}; touch {tmp_path}/seen; exec git "$@"',
    )
    door = find_checkout(root).git
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
        assert door.call("update-index", "--force-remove", "a.py").status == 0


def test_error_is_line_of_git(root: Path) -> None:
    with pytest.raises(GitError, match=r"^git cat-file failed: Not a valid object name nothing$"):
        find_checkout(root).git.call("cat-file", "-p", "nothing")


def test_revision_is_never_option(root: Path) -> None:
    door = Git(directory=root, git_dir=root / ".git", work_tree=root)
    assert door.resolve_commit("--all") is None
    assert door.resolve_commit("main") == git(root, "rev-parse", "main")


def test_one_process_holds_session_lock(tmp_path: Path) -> None:
    with (
        session_lock(tmp_path / "s"),
        pytest.raises(UserError, match=f"in use by process {os.getpid()} on "),
        session_lock(tmp_path / "s"),
    ):
        pass
    with session_lock(tmp_path / "s"):
        pass


def test_waits_for_repository_lock_and_leaves_nothing(tmp_path: Path) -> None:
    order = []
    has_entered = threading.Event()

    def second() -> None:
        has_entered.set()
        with repository_lock(tmp_path):
            order.append("second")

    with repository_lock(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        has_entered.wait()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert list(tmp_path.iterdir()) == []


def test_clone_of_a_bundle_has_its_commits_and_is_made_once(tmp_path: Path) -> None:
    origin = repo(tmp_path / "origin", {"a.py": "A = 1\n", "pkg/b.py": "B = 1\n"})
    first = git(origin, "rev-parse", "HEAD")
    write(origin, {"a.py": "A = 2\n"})
    git(origin, "commit", "-qam", "second")
    second = git(origin, "rev-parse", "HEAD")
    write(origin, {".venv/pyvenv.cfg": "", "a.py": "uncommitted"})
    bundle = make_bundle(find_checkout(origin), [first, second])
    assert git(origin, "for-each-ref", "refs/coder") == ""
    reads = []

    def read() -> bytes:
        reads.append(1)
        return bundle

    for commit in (first, second):
        clone = unpack_bundle(read, tmp_path / "clones" / "x", commit=commit, origin=origin)
        assert git(clone, "show", f"{commit}:pkg/b.py") == "B = 1"
    assert (clone.name, len(reads)) == ("origin", 1)
    assert (clone / "a.py").read_text(encoding="utf-8") == "A = 1\n"
    assert git(clone, "status", "--porcelain") == "?? .venv"
    assert (clone / ".venv").resolve() == origin / ".venv"
    assert find_checkout(clone).head == first
