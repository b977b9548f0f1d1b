import shutil
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.core.values import Delivery
from coder.repo.checkout import (
    apply_commit,
    apply_diff,
    check_commit,
    undo_delivery,
)
from tests.builders import ISOLATED, git, repo, write
from tests.repo.opened import fingerprint, open_candidate

LINES = "".join(f"line {number}\n" for number in range(1, 31))
FIXED = LINES.replace("line 15\n", "line 15, fixed\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repo(tmp_path / "r", {"a.py": LINES, "b.py": LINES})


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Delivery]:
    """Return a repository with a delivery, which tests copy."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ISOLATED.items():
            patch.setenv(name, value)
        root = repo(tmp_path_factory.mktemp("delivered") / "r", {"a.py": LINES, "b.py": LINES})
        return root, deliver(root)


@pytest.fixture
def fix(delivered: tuple[Path, Delivery], root: Path) -> Delivery:
    """Put the delivery into the test's repository."""
    shutil.copytree(delivered[0] / ".git", root / ".git", dirs_exist_ok=True)
    git(root, "update-index", "-q", "--refresh")
    return delivered[1]


def deliver(root: Path) -> Delivery:
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"a.py": FIXED, "test_a.py": "t\n"})
        return repository.deliver(
            repository.candidate_patch(candidate),
            message="fix: line 15\n\nCoder-Verdict: PROVEN\nCoder-Suite: 3 passed",
            evidence="seen",
            slug="line 15",
        )


def commit(root: Path, files: dict[str, str], message: str = "theirs") -> None:
    write(root, files)
    git(root, "add", *files)
    git(root, "commit", "-qm", message)


def test_applies_by_fast_forward_and_leaves_other_work_alone(root: Path, fix: Delivery) -> None:
    write(root, {"b.py": "dirty\n", "untracked": "u\n", "staged": "s\n"})
    git(root, "add", "staged")
    assert apply_commit(root, fix.commit) == f"main is now at {fix.commit[:10]}, which holds the fix."
    assert git(root, "rev-parse", "main") == fix.commit
    assert git(root, "status", "--short").splitlines() == ["M b.py", "A  staged", "?? untracked"]
    assert (root / "a.py").read_text(encoding="utf-8") == FIXED
    assert git(root, "reflog", "-1", "--format=%gs").startswith("coder apply")


def test_marks_a_copy_on_a_newer_head_as_unverified(root: Path, fix: Delivery) -> None:
    base = git(root, "rev-parse", "--short=10", "HEAD")
    commit(root, {"a.py": LINES.replace("line 2\n", "line 2, theirs\n"), "b.py": "theirs\n"})
    assert "unverified copy" in check_commit(root, fix.commit)
    assert "UNVERIFIED" in apply_commit(root, fix.commit)
    assert (root / "a.py").read_text(encoding="utf-8") == FIXED.replace("line 2\n", "line 2, theirs\n")
    assert git(root, "log", "-1", "--format=%B") == (
        "fix: line 15\n\nCoder-Session: 20260101-abc123\n"
        f"Coder-Verdict: UNVERIFIED (proven on {base})\n(cherry picked from commit {fix.commit})"
    )
    assert git(root, "notes", "--ref=coder", "list").split()[1:] == [fix.commit]
    assert git(root, "status", "--short") == ""
    undo_delivery(root, branch=fix.branch, commit=fix.commit)
    assert (root / "a.py").read_text(encoding="utf-8") == LINES.replace("line 2\n", "line 2, theirs\n")


def test_refuses_conflicting_change(root: Path, fix: Delivery) -> None:
    commit(root, {"a.py": LINES.replace("line 15\n", "line 15, theirs\n")})
    before = fingerprint(root)
    with pytest.raises(UserError, match="no longer fits"):
        apply_commit(root, fix.commit)
    assert fingerprint(root) == before


def test_refuses_during_unfinished_merge(root: Path, fix: Delivery) -> None:
    git(root, "checkout", "-qb", "other")
    commit(root, {"b.py": "other\n"})
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "other")
    with pytest.raises(UserError, match="A merge is under way"):
        apply_commit(root, fix.commit)


def test_names_rebase_and_not_its_cherry_pick(root: Path, fix: Delivery) -> None:
    git(root, "checkout", "-qb", "other")
    commit(root, {"b.py": "other\n"})
    git(root, "checkout", "-q", "main")
    commit(root, {"b.py": "main\n"})
    with pytest.raises(AssertionError):
        git(root, "rebase", "-q", "other")
    with pytest.raises(UserError, match="A rebase is under way"):
        apply_commit(root, fix.commit)


def test_ignores_user_merge_configuration(root: Path, fix: Delivery) -> None:
    taste = {
        "merge.ff": "false",
        "merge.autoStash": "true",
        "merge.verifySignatures": "true",
        "branch.main.mergeOptions": "--squash",
    }
    for key, value in taste.items():
        git(root, "config", key, value)
    write(root, {"a.py": LINES.replace("line 2\n", "line 2, dirty\n")})
    with pytest.raises(UserError, match=r"a\.py would be overwritten"):
        apply_commit(root, fix.commit)
    git(root, "checkout", "-q", "a.py")
    apply_commit(root, fix.commit)
    assert git(root, "rev-parse", "HEAD") == fix.commit


def test_diff_cannot_write_outside_repository(root: Path, tmp_path: Path) -> None:
    diff = (
        "diff --git a/../evil b/../evil\nnew file mode 100644\n--- /dev/null\n+++ b/../evil\n"
        "@@ -0,0 +1 @@\n+x\n"
    )
    with pytest.raises(UserError, match="does not fit"):
        apply_diff(root, diff)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("encoding", "name"), [("latin-1", "a.txt"), ("koi8-r", "a.py"), ("utf-8-sig", "a.py")]
)
def test_non_utf8_diff_round_trips_byte_for_byte(root: Path, encoding: str, name: str) -> None:
    word = "привет" if encoding == "koi8-r" else "é"
    lines = [f"# -*- coding: {encoding.removesuffix('-sig')} -*-", word, "two", f"{word} three"]
    before, after = ("\n".join([*lines, end, ""]).encode(encoding) for end in (word, f"{word} {word}"))
    (root / name).write_bytes(before)
    git(root, "add", name)
    git(root, "commit", "-qm", "start")
    with open_candidate(root) as (repository, candidate):
        (candidate.worktree / name).write_bytes(after)
        diff = repository.candidate_patch(candidate).diff
    assert f"+{word} {word}\n" in diff
    assert apply_diff(root, diff, check=True) == "The change fits the working tree; nothing was written."
    assert (root / name).read_bytes() == before
    apply_diff(root, diff)
    assert (root / name).read_bytes() == after
    apply_diff(root, diff, reverse=True)
    assert (root / name).read_bytes() == before


def test_check_reports_outcome_and_changes_nothing(root: Path, fix: Delivery) -> None:
    before = fingerprint(root)
    assert check_commit(root, fix.commit) == (
        f"main would move on to the fix {fix.commit[:10]}, and a.py, test_a.py would change; "
        "nothing was written."
    )
    assert fingerprint(root) == before
    for name in ("a.py", "test_a.py"):
        write(root, {name: "mine\n"})
        with pytest.raises(UserError, match=f"{name} would be overwritten"):
            check_commit(root, fix.commit)
        git(root, "checkout", "-q", name) if name == "a.py" else (root / name).unlink()
    write(root, {"b.py": "dirty\n"})
    apply_commit(root, fix.commit)
    with pytest.raises(UserError, match="already holds"):
        check_commit(root, fix.commit)


def test_undo_deletes_the_branch_and_its_note(root: Path) -> None:
    before = fingerprint(root)
    fix = deliver(root)
    assert undo_delivery(root, branch=fix.branch, commit=fix.commit) == f"Deleted the branch {fix.branch}."
    assert fingerprint(root) == before
    assert (
        undo_delivery(root, branch=fix.branch, commit=fix.commit)
        == "There was nothing left of the fix to take back."
    )


@pytest.mark.parametrize("newer_head", [False, True])
def test_undo_reverts_applied_change_and_keeps_other_work(
    root: Path, fix: Delivery, newer_head: bool
) -> None:
    if newer_head:
        commit(root, {"b.py": "theirs\n"})
    apply_commit(root, fix.commit)
    applied = git(root, "rev-parse", "HEAD")
    commit(root, {"a.py": FIXED.replace("line 2\n", "line 2, theirs\n")})
    write(root, {"b.py": "dirty\n"})
    message = undo_delivery(root, branch=fix.branch, commit=fix.commit)
    assert message == (
        f"Reverted {applied[:10]} with {git(root, 'rev-parse', '--short=10', 'HEAD')} and deleted "
        f"the branch {fix.branch}."
    )
    assert (root / "a.py").read_text(encoding="utf-8") == LINES.replace("line 2\n", "line 2, theirs\n")
    assert git(root, "log", "-1", "--format=%B") == f'Revert "fix: line 15"\n\nThis reverts commit {applied}.'
    assert git(root, "status", "--short") == "M b.py"
    assert "coder" not in git(root, "for-each-ref", "--format=%(refname)")


def test_undo_takes_back_no_work_of_the_user_that_is_like_the_fix(root: Path, fix: Delivery) -> None:
    apply_commit(root, fix.commit)
    undo_delivery(root, branch=fix.branch, commit=fix.commit)
    commit(root, {"a.py": FIXED, "test_a.py": "def test_a(): ...\n"})
    own = git(root, "rev-parse", "HEAD")
    assert "reverted already" in undo_delivery(root, branch=fix.branch, commit=fix.commit)
    assert git(root, "rev-parse", "HEAD") == own
    git(root, "revert", "--no-edit", "HEAD")
    git(root, "revert", "--no-edit", "HEAD~2")
    assert (root / "a.py").read_text(encoding="utf-8") == FIXED  # the fix itself is in effect again
    assert "Reverted" in undo_delivery(root, branch=fix.branch, commit=fix.commit)


def test_undo_names_change_that_a_squashed_merge_brought(root: Path, fix: Delivery) -> None:
    git(root, "merge", "--quiet", "--squash", fix.commit)
    git(root, "commit", "--quiet", "--message", "Squashed")
    message = undo_delivery(root, branch=fix.branch, commit=fix.commit)
    assert message.startswith(f"Deleted the branch {fix.branch}.\nThe current branch holds its change")


def test_undo_refuses_a_branch_with_more_on_it(root: Path, fix: Delivery) -> None:
    git(root, "checkout", "-q", fix.branch)
    with pytest.raises(UserError, match=f"is checked out in {root}; switch"):
        undo_delivery(root, branch=fix.branch, commit=fix.commit)
    commit(root, {"b.py": "mine\n"})
    git(root, "checkout", "-q", "main")
    with pytest.raises(UserError, match="has later commits on top"):
        undo_delivery(root, branch=fix.branch, commit=fix.commit)
    assert git(root, "rev-parse", f"{fix.branch}^") == fix.commit


def test_undo_refuses_change_that_later_work_needs(root: Path, fix: Delivery) -> None:
    apply_commit(root, fix.commit)
    commit(root, {"a.py": FIXED.replace("fixed", "fixed better")})
    before = fingerprint(root)
    with pytest.raises(UserError, match="later commits changed the same lines"):
        undo_delivery(root, branch=fix.branch, commit=fix.commit)
    write(root, {"a.py": FIXED})
    git(root, "commit", "-qam", "back")
    write(root, {"a.py": "dirty\n"})
    with pytest.raises(UserError, match=r"a\.py would be overwritten"):
        undo_delivery(root, branch=fix.branch, commit=fix.commit)
    assert git(root, "rev-parse", fix.branch) == fix.commit
    assert before["refs"] != []


def delivery_in_steps(root: Path) -> Delivery:
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"test_a.py": "t\n"})
        repository.checkpoint(candidate, "test: line 15")
        write(candidate.worktree, {"a.py": LINES.replace("line 15\n", "line 15, wrong\n")})
        repository.checkpoint(candidate, "line 15, first attempt")
        write(candidate.worktree, {"a.py": FIXED})
        repository.checkpoint(candidate, "line 15, second attempt")
        return repository.deliver(
            repository.candidate_patch(candidate),
            message="fix: line 15\n\nCoder-Verdict: PROVEN",
            evidence="seen",
            slug="l",
            steps_of=candidate,
        )


def test_delivers_applies_and_undoes_steps_as_range(root: Path) -> None:
    before = git(root, "rev-parse", "HEAD")
    fix = delivery_in_steps(root)
    assert git(root, "log", "--format=%s", f"HEAD..{fix.branch}").splitlines() == [
        "fix: line 15",
        "line 15, first attempt",
        "test: line 15",
    ]
    assert "Coder-Verdict" not in git(root, "log", "--format=%B", f"HEAD..{fix.branch}~1")
    assert git(root, "notes", "--ref=coder", "list").split()[1:] == [fix.commit]
    assert fix.diff == git(root, "diff", before, fix.commit) + "\n"
    assert apply_commit(root, fix.commit) == f"main is now at {fix.commit[:10]}, which holds the fix."
    undo_delivery(root, branch=fix.branch, commit=fix.commit)
    assert git(root, "diff", "--stat", before, "HEAD") == ""
    assert f"the commits {before}..{fix.commit}" in git(root, "log", "-1", "--format=%B")


def test_steps_become_one_copy_on_a_newer_head(root: Path) -> None:
    fix = delivery_in_steps(root)
    commit(root, {"b.py": "theirs\n"})
    newer = git(root, "rev-parse", "HEAD")
    assert "UNVERIFIED" in apply_commit(root, fix.commit)
    assert git(root, "rev-parse", "HEAD^") == newer
    assert (root / "a.py").read_text(encoding="utf-8") == FIXED
    undo_delivery(root, branch=fix.branch, commit=fix.commit)
    assert git(root, "diff", "--stat", newer, "HEAD") == ""
