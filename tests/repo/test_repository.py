from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.core.values import Patch
from coder.repo.delivery import INTENT_FILE
from coder.repo.repository import open_repository
from tests.builders import git, repo, write
from tests.repo.opened import fingerprint, open_candidate, open_session_repository

LINES = "".join(f"line {number}\n" for number in range(1, 31))
FIXED = LINES.replace("line 15\n", "line 15, fixed\n")
FILES = {"a.py": LINES, "b.py": "b\n", "tests/test_b.py": "t\n", ".gitignore": "_version.py\n__pycache__/\n"}


def files(tree: Path) -> dict[str, str]:
    return {
        str(path.relative_to(tree)): path.read_text(encoding="utf-8")
        for path in sorted(tree.rglob("*"))
        if path.is_file() and path.name != ".git"
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repo(tmp_path / "r", FILES)


def test_whole_session_touches_nothing_of_user(root: Path, tmp_path: Path) -> None:
    write(root, {"b.py": "dirty\n", "untracked.py": "u\n", "_version.py": "1\n"})
    before = fingerprint(root)
    with open_session_repository(root, within="tests") as repository:
        assert (repository.root, repository.head, repository.dirty) == (
            root,
            git(root, "rev-parse", "main"),
            True,
        )
        assert git(root, "rev-parse", "refs/coder/20260101-abc123/snapshot") == repository.base
        candidate = repository.create_candidate("c1")
        assert files(candidate.worktree) == FILES | {
            "b.py": "dirty\n",
            "untracked.py": "u\n",
            "_version.py": "1\n",
        }
        assert repository.candidate_patch(candidate) == Patch(
            diff="", tree=git(root, "rev-parse", f"{repository.base}^{{tree}}")
        )
        write(
            candidate.worktree,
            {"a.py": FIXED, "tests/test_a.py": "t\n", "_version.py": "2\n", "__pycache__/a.pyc": "x"},
        )
        patch = repository.candidate_patch(candidate)
        assert patch.paths == repository.changed_paths(patch.tree) == ("a.py", "tests/test_a.py")
        assert "-line 15\n+line 15, fixed\n" in patch.diff
        with repository.checkout(patch.tree) as tree:
            assert files(tree) == FILES | {
                "a.py": FIXED,
                "tests/test_a.py": "t\n",
                "b.py": "dirty\n",
                "untracked.py": "u\n",
                "_version.py": "1\n",
            }
        on_head = repository.rebase_on_head(patch)
        assert on_head is not None
        with repository.on_head().checkout(on_head.tree) as tree:
            assert files(tree) == FILES | {"a.py": FIXED, "tests/test_a.py": "t\n", "_version.py": "1\n"}
        assert repository.on_head().changed_paths(on_head.tree) == ("a.py", "tests/test_a.py")
        assert (
            repository.deliver(on_head, message="fix", evidence="seen", slug="x").branch == "coder/x-abc123"
        )
        assert git(root, "diff", "--name-only", "main", "coder/x-abc123").split() == [
            "a.py",
            "tests/test_a.py",
        ]
        assert repository.recent_subjects(5) == ("start",)
    git(root, "update-ref", "-d", "refs/notes/coder")
    git(root, "branch", "-qD", "coder/x-abc123")
    assert fingerprint(root) == before
    assert git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert not (root / ".git" / "worktrees").exists()
    assert list((tmp_path / "sessions" / "20260101-abc123").iterdir()) == [
        tmp_path / "sessions" / "20260101-abc123" / INTENT_FILE
    ]


def test_rolls_back_to_a_checkpoint_and_to_the_base(root: Path) -> None:
    write(root, {"_version.py": "1\n"})
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"a.py": FIXED, "new/file.py": "n\n"})
        first = repository.candidate_patch(candidate)
        checkpoint = repository.checkpoint(candidate, "first")
        write(candidate.worktree, {"a.py": "broken", "junk/deep/j.py": "j\n"})
        (candidate.worktree / "b.py").unlink()
        write(candidate.worktree, {"b.py/inner": "a directory\n"})
        repository.candidate_patch(candidate)
        repo(candidate.worktree / "planted", {"p.py": "p\n"})
        write(candidate.worktree, {"never_seen.py": "x\n"})
        repository.rollback(candidate, checkpoint)
        assert repository.candidate_patch(candidate) == first
        assert files(candidate.worktree) == FILES | {
            "a.py": FIXED,
            "new/file.py": "n\n",
            "_version.py": "1\n",
        }
        assert git(root, "log", "-1", "--format=%s", "refs/coder/20260101-abc123/heads/c1") == "first"
        repository.rollback(candidate, candidate.base)
        assert files(candidate.worktree) == FILES | {"_version.py": "1\n"}
        assert git(root, "rev-parse", "refs/coder/20260101-abc123/heads/c1") == repository.base


def test_nothing_outside_private_refs_moves_before_delivery(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(root, "remote", "add", "origin", str(tmp_path / "remote.git"))
    write(root, {"b.py": "uncommitted\n"})
    before = git(root, "for-each-ref")
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"a.py": FIXED})
        repository.checkpoint(candidate, "first")
        assert [
            line for line in git(root, "for-each-ref").splitlines() if "refs/coder/" not in line
        ] == before.splitlines()
        git(root, "push", "-q", "--all", "origin")
        assert git(tmp_path / "remote.git", "for-each-ref", "--format=%(refname)").splitlines() == [
            "refs/heads/main"
        ]


def test_excludes_files_written_by_tests(root: Path) -> None:
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"a.py": FIXED, "new.py": "n\n"})
        repo(candidate.worktree / "nested", {"p.py": "p\n"})
        patch = repository.candidate_patch(candidate)
        with pytest.raises(KeyError), repository.restore_on_exit(candidate):
            write(
                candidate.worktree,
                {"b.py": "stamped\n", "new.py": "other\n", "out/result.txt": "r\n", "_version.py": "2\n"},
            )
            (candidate.worktree / "tests/test_b.py").unlink()
            raise KeyError
        assert repository.candidate_patch(candidate) == patch
        assert (candidate.worktree / "nested/p.py").exists()
        assert (candidate.worktree / "_version.py").read_text() == "2\n"
        assert not (candidate.worktree / "out/result.txt").exists()


def test_starts_from_a_revision_without_the_uncommitted_work(root: Path) -> None:
    write(root, {"a.py": "later\n"})
    git(root, "commit", "-qam", "later")
    write(root, {"b.py": "dirty\n"})
    with open_session_repository(root, "HEAD~1") as repository:
        assert (repository.head, repository.base, repository.dirty) == (
            git(root, "rev-parse", "HEAD~1"),
        ) * 2 + (False,)
        candidate = repository.create_candidate("c1")
        assert files(candidate.worktree) == FILES
        write(candidate.worktree, {"b.py": "fixed\n"})
        delivery = repository.deliver(
            repository.candidate_patch(candidate), message="fix", evidence="", slug="x"
        )
        assert git(root, "rev-parse", f"{delivery.commit}^") == repository.head
    git(root, "checkout", "-q", "b.py")
    with open_session_repository(root) as repository:
        assert repository.merge(delivery).id == git(root, "rev-parse", "HEAD")
    assert git(root, "log", "--format=%s").splitlines() == ["fix", "later", "start"]


def test_unknown_revision_is_refused_without_trace(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no revision 'v9'"):
        open_repository(root, session="s", state=tmp_path / "s", base="v9")
    assert not (tmp_path / "s").exists()


def test_delivers_fix_of_uncommitted_work_as_diff(root: Path) -> None:
    write(root, {"new.py": LINES})
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"new.py": FIXED})
        (candidate.worktree / "image").write_bytes(bytes(range(256)))
        patch = repository.candidate_patch(candidate)
        assert repository.rebase_on_head(patch) is None
        delivery = repository.deliver(patch, message="fix", evidence="seen", slug="x")
    assert (delivery.branch, delivery.commit, delivery.needs_uncommitted_work) == ("", "", True)
    assert "GIT binary patch" in delivery.diff
    assert git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_a_binary_change_survives_delivery(root: Path) -> None:
    with open_candidate(root) as (repository, candidate):
        (candidate.worktree / "image").write_bytes(bytes(range(256)))
        (candidate.worktree / "b.py").chmod(0o755)
        patch = repository.candidate_patch(candidate)
        repository.merge(repository.deliver(patch, message="fix", evidence="", slug="x"))
    assert (root / "image").read_bytes() == bytes(range(256))
    assert (root / "b.py").stat().st_mode & 0o111


def test_works_in_linked_worktree_with_own_configuration(root: Path, tmp_path: Path) -> None:
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    write(tmp_path / "linked", {"b.py": "dirty here\n"})
    before = fingerprint(root)
    with open_candidate(tmp_path / "linked") as (repository, candidate):
        assert files(candidate.worktree)["b.py"] == "dirty here\n"
        write(candidate.worktree, {"a.py": FIXED})
        repository.merge(
            repository.deliver(repository.candidate_patch(candidate), message="fix", evidence="", slug="x")
        )
    assert (tmp_path / "linked" / "a.py").read_text(encoding="utf-8") == FIXED
    git(root, "branch", "-qD", "coder/x-abc123")
    assert fingerprint(root) == before
    assert git(root, "worktree", "list").count("\n") == 1


def test_includes_submodule_files_but_not_in_patch(root: Path, tmp_path: Path) -> None:
    library = repo(tmp_path / "library", {"lib.py": "lib\n"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor")
    git(root, "commit", "-qm", "submodule")
    write(root, {"vendor/lib.py": "dirty in the submodule\n"})
    before = fingerprint(root)
    with open_session_repository(root) as repository:
        assert not repository.dirty
        candidate = repository.create_candidate("c1")
        assert files(candidate.worktree)["vendor/lib.py"] == "dirty in the submodule\n"
        assert repository.candidate_patch(candidate).paths == ()
        write(candidate.worktree, {"a.py": FIXED})
        patch = repository.candidate_patch(candidate)
        assert patch.paths == ("a.py",)
        with repository.checkout(patch.tree) as tree:
            assert "vendor/lib.py" in files(tree)
        repository.rollback(candidate, candidate.base)
        assert "vendor/lib.py" in files(candidate.worktree)
    assert fingerprint(root) == before


def test_a_sparse_checkout_stays_sparse(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", FILES | {"in/a.py": "a\n", "out/b.py": "b\n"})
    git(root, "sparse-checkout", "set", "in")
    with open_session_repository(root) as repository:
        assert not repository.dirty
        candidate = repository.create_candidate("c1")
        write(candidate.worktree, {"in/a.py": "fixed\n"})
        patch = repository.candidate_patch(candidate)
        assert patch.paths == ("in/a.py",)
        with repository.checkout(patch.tree) as tree:
            assert files(tree)["in/a.py"] == "fixed\n"
        assert repository.deliver(patch, message="fix", evidence="", slug="x").commit
    assert not (root / "out").exists()


def test_excludes_nested_repository_and_runs_nothing(root: Path, tmp_path: Path) -> None:
    with open_candidate(root) as (repository, candidate):
        nested = repo(candidate.worktree / "nested", {"n.py": "n\n"})
        git(nested, "config", "core.fsmonitor", f"touch {tmp_path}/ran")
        git(candidate.worktree / "tests", "init", "-q")
        write(candidate.worktree, {"tests/test_b.py": "seen\n", "tests/test_new.py": "seen\n"})
        (candidate.worktree / ".git").unlink()
        git(candidate.worktree, "init", "-q")
        git(candidate.worktree, "config", "core.fsmonitor", f"touch {tmp_path}/ran")
        assert repository.candidate_patch(candidate).paths == ("tests/test_b.py", "tests/test_new.py")
        assert repository.exclusions == ("nested/ (untracked, a git repository of its own)",)
    assert not (tmp_path / "ran").exists()


def test_attributes_from_model_run_no_filter(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", FILES | {".gitattributes": "*.up filter=upper\n", "a.up": "A\n"})
    git(root, "config", "filter.evil.clean", f"touch {tmp_path}/ran; cat")
    git(root, "config", "filter.evil.smudge", f"touch {tmp_path}/ran; cat")
    git(root, "config", "filter.upper.clean", "tr a-z A-Z")
    with open_candidate(root) as (repository, candidate):
        write(
            candidate.worktree,
            {".gitattributes": "*.py filter=evil\n*.up filter=upper\n", "a.py": FIXED, "a.up": "b\n"},
        )
        patch = repository.candidate_patch(candidate)
        with repository.checkout(patch.tree) as tree:
            assert files(tree)["a.py"] == FIXED
            assert files(tree)["a.up"] == "b\n"
    assert not (tmp_path / "ran").exists()


def test_concurrent_sessions_do_not_interfere(root: Path) -> None:
    write(root, {"b.py": "dirty\n"})
    before = fingerprint(root)

    def session(number: int) -> str:
        with open_candidate(root, session=f"20260101-aaaa{number:02}") as (repository, candidate):
            write(candidate.worktree, {"a.py": FIXED, f"new{number}.py": "n\n"})
            patch = repository.candidate_patch(candidate)
            with repository.checkout(patch.tree) as tree:
                assert f"new{number}.py" in files(tree)
            return repository.deliver(patch, message=f"fix {number}", evidence="seen", slug="same").branch

    with ThreadPoolExecutor(4) as pool:
        branches = list(pool.map(session, range(4)))
    assert git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads/coder").split() == sorted(
        branches
    )
    assert len(git(root, "notes", "--ref=coder", "list").splitlines()) == 4
    for branch in branches:
        git(root, "branch", "-qD", branch)
    git(root, "update-ref", "-d", "refs/notes/coder")
    assert fingerprint(root) == before
